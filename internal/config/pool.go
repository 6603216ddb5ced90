package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"stint/internal/fleet"
	"stint/internal/tomlfile"
)

// DefaultPool is the pool of what names none. It is there whether the file has it or not.
const DefaultPool = "autonomous"

// Pool is a set of categories that are fired together, by a timer of their own, so that
// they neither wait for the others' sessions nor take their slots.
type Pool struct {
	Workers int // sessions that one of its fires starts at most
	Slots   int // of its sessions that run at once at most, within those of the fleet
}

// PoolNames are the names of the pools: [DefaultPool], then the others, sorted.
func (c *Config) PoolNames() []string {
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(c.Pools)), func(name string) bool { return name == DefaultPool })
	return append([]string{DefaultPool}, others...)
}

// Pool finds a pool. One that is not there is a [fleet.ErrUsage] with a hint.
func (c *Config) Pool(name string) (Pool, error) {
	p, ok := c.Pools[name]
	if !ok {
		return Pool{}, tomlfile.Usagef("the pools are "+strings.Join(c.PoolNames(), ", "), "there is no pool %q in %s", name, c.Path)
	}
	return p, nil
}

// pools start from little, but the default one from what holds for the whole fleet.
func (c *Config) pools() tomlfile.Each[Pool] {
	return tomlfile.Each[Pool]{
		Name: poolName(),
		Keys: func(name string, p *Pool) []tomlfile.Key {
			d := Pool{
				Workers: 1, // it is there for a few sessions that must not wait, not for more of them
				Slots:   2, // one may outlast the time to the next fire
			}
			if name == DefaultPool {
				d = Pool{Workers: c.Fanout.Workers, Slots: c.Fanout.Slots}
			}
			return []tomlfile.Key{
				tomlfile.Of("workers", &p.Workers, d.Workers, tomlfile.Whole(1, tomlfile.NoLimit),
					`How many sessions one fire of the pool starts at most. In the pool autonomous, the default is that of [fanout].`),
				tomlfile.Of("slots", &p.Slots, d.Slots, tomlfile.Whole(1, tomlfile.NoLimit),
					`How many sessions of the pool run at once at most, within fanout.slots. In the pool autonomous, the
					default is that of [fanout].`),
			}
		},
	}
}

// addDefaultPool adds the pool that is there whether the file has it or not. The workers
// of a host are its.
func (c *Config) addDefaultPool() {
	p, ok := c.Pools[DefaultPool]
	if !ok {
		p.Slots = c.Fanout.Slots
	}
	if !ok || c.file.Has(tomlfile.Dotted("host", c.Host.Name, "workers")) {
		p.Workers = c.Fanout.Workers
	}
	c.Pools = merged(c.Pools, map[string]Pool{DefaultPool: p})
}

func poolName() tomlfile.Rule[string] {
	r := categoryWord()
	r.Parse = func(value any) (string, error) {
		name, _ := value.(string)
		if _, err := fleet.ParseCategory(name); err != nil {
			return "", fleet.WithHint(errors.New("a pool's name is 1 to 32 of a-z, 0-9, _ and -, not starting with _ or -"),
				"rename it, as in [pool.monitoring]")
		}
		return name, nil
	}
	return r
}

// checkPools looks at which of the pools the categories name.
func (c *Config) checkPools() {
	for name, category := range c.Categories {
		if _, ok := c.Pools[category.Pool]; !ok {
			c.file.Report(tomlfile.Dotted("category", string(name), "pool"),
				fmt.Errorf("there is no pool %s", tomlfile.Describe(category.Pool)), tomlfile.Meant(category.Pool, c.PoolNames()))
		}
	}
}

func (c *Config) warnPools(w warnings) {
	members := map[string]int{}
	for _, category := range c.Categories {
		members[category.Pool]++
	}
	for _, name := range c.PoolNames() {
		p, workers, slots := c.Pools[name], tomlfile.Dotted("pool", name, "workers"), tomlfile.Dotted("pool", name, "slots")
		given := c.file.Has(workers) || c.file.Has(slots) // what it has from the fleet is looked at there
		switch {
		case members[name] == 0:
			w.add("no category is of it: its fires start nothing", tomlfile.Dotted("pool", name))
		case given && p.Workers > p.Slots:
			w.add(fmt.Sprintf("workers (%d) is above slots (%d): a fire starts no more than there are slots", p.Workers, p.Slots),
				workers, slots)
		case given && p.Slots > c.Fanout.Slots:
			w.add(fmt.Sprintf("slots (%d) is above those of the fleet (%d), which bound it", p.Slots, c.Fanout.Slots), slots, workers)
		}
	}
}
