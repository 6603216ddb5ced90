package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// DefaultPool is the pool of what names none. It is there whether the file has it or not.
const DefaultPool = "autonomous"

// Pool is a set of categories that are fired together, by a timer of their own, so that
// they neither wait for the others' sessions nor take their slots.
type Pool struct {
	// Sessions that one of its fires starts at most: it is there for a few that must not wait.
	Workers int `toml:"workers" default:"1" min:"1"`
	// Of its sessions that run at once at most, within those of the fleet: one may outlast the time to the next fire.
	Slots int `toml:"slots" default:"2" min:"1"`
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
		return Pool{}, usagef("the pools are "+strings.Join(c.PoolNames(), ", "), "there is no pool %q in %s", name, c.Path)
	}
	return p, nil
}

// addDefaultPool adds the pool that is there whether the file has it or not. It has what holds for the
// whole fleet, unless the file says something else of it; the workers of a host are its.
func (c *Config) addDefaultPool() {
	p := c.Pools[DefaultPool]
	if !c.file.Has(dotted("pool", DefaultPool, "slots")) {
		p.Slots = c.Fanout.Slots
	}
	if !c.file.Has(dotted("pool", DefaultPool, "workers")) || c.file.Has(dotted("host", c.Host.Name, "workers")) {
		p.Workers = c.Fanout.Workers
	}
	c.Pools = merged(c.Pools, map[string]Pool{DefaultPool: p})
}

func (c *Config) warnPools(w warnings) {
	members := map[string]int{}
	for _, category := range c.Categories {
		members[category.Pool]++
	}
	for _, name := range c.PoolNames() {
		p, workers, slots := c.Pools[name], dotted("pool", name, "workers"), dotted("pool", name, "slots")
		given := c.file.Has(workers) || c.file.Has(slots) // what it has from the fleet is looked at there
		switch {
		case members[name] == 0:
			w.add("no category is of it: its fires start nothing", dotted("pool", name))
		case given && p.Workers > p.Slots:
			w.add(fmt.Sprintf("workers (%d) is above slots (%d): a fire starts no more than there are slots", p.Workers, p.Slots),
				workers, slots)
		case given && p.Slots > c.Fanout.Slots:
			w.add(fmt.Sprintf("slots (%d) is above those of the fleet (%d), which bound it", p.Slots, c.Fanout.Slots), slots, workers)
		}
	}
}
