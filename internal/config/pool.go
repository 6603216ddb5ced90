package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"stint/internal/fleet"
)

// DefaultPool is the pool of what names none. It is there whether the file has it or not.
const DefaultPool = "autonomous"

// Pool is a set of categories that are fired together, by a timer of their own, so that
// they neither wait for the others' sessions nor take their slots.
type Pool struct {
	Workers int // sessions that one of its fires starts at most
	Slots   int // of its sessions that run at once at most, within those of the fleet
}

// defaultPool is what a pool starts from that the file adds.
func defaultPool() Pool {
	return Pool{
		Workers: 1, // it is there for a few sessions that must not wait, not for more of them
		Slots:   2, // one may outlast the time to the next fire
	}
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

// pools reads the pools and looks at which of them the categories name. The default one
// starts from what holds for the whole fleet.
func (r *reader) pools(file *table, f Fanout, categories map[fleet.Category]Category) map[string]Pool {
	pools := map[string]Pool{DefaultPool: {Workers: f.Workers, Slots: f.Slots}}
	for name, t := range file.child("pool").children() {
		if !isPlainName(name) || name != strings.ToLower(name) {
			r.report(t.key, errors.New("a pool's name is 1 to 32 of a-z, 0-9, _ and -, not starting with _ or -"),
				"rename it, as in [pool.monitoring]")
		}
		d, ok := pools[name]
		if !ok {
			d = defaultPool()
		}
		pools[name] = Pool{
			Workers: get(t, "workers", d.Workers, whole(1, math.MaxInt)),
			Slots:   get(t, "slots", d.Slots, whole(1, math.MaxInt)),
		}
		t.close()
	}
	known := slices.Sorted(maps.Keys(pools))
	for name, c := range categories {
		if _, ok := pools[c.Pool]; !ok {
			r.report(dotted("category", string(name), "pool"), fmt.Errorf("there is no pool %s", describe(c.Pool)), meant(c.Pool, known))
		}
	}
	return pools
}

func (v *values) addPool(name string, p Pool) {
	v.add(p.Workers, "pool", name, "workers")
	v.add(p.Slots, "pool", name, "slots")
}

func (c *Config) warnPools(w *warnings) {
	members := map[string]int{}
	for _, category := range c.Categories {
		members[category.Pool]++
	}
	for _, name := range c.PoolNames() {
		p, workers, slots := c.Pools[name], dotted("pool", name, "workers"), dotted("pool", name, "slots")
		given := w.source.has(workers) || w.source.has(slots) // what it has from the fleet is looked at there
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
