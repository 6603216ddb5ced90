package config

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"stint/internal/fleet"
)

// Host is this machine, as its section of the file has it.
type Host struct {
	Name   string   // of its identity; empty: nobody said
	Labels []string // by which categories name it
	Pools  []string // that its fires start; none: all
	Agents []string // that it has; none: all
}

// HostTable has the settings of one of several machines, in place of the rest of the file. A value that is
// not there holds nothing.
type HostTable struct {
	Workers int      `toml:"workers" min:"1"`
	Slots   int      `toml:"slots" min:"1"`
	Labels  []string `toml:"labels" form:"label" min:"1"`
	Pools   []string `toml:"pools" known:"pool" min:"1"`
	Agents  []string `toml:"agents" known:"agent" min:"1"`
}

// findHost looks up which host this is, by the identity in the state folder, and what the file says of it.
func (c *Config) findHost(o Options) {
	name := o.host(c.State)
	h := c.Hosts[name]
	c.Fanout.Workers, c.Fanout.Slots = cmp.Or(h.Workers, c.Fanout.Workers), cmp.Or(h.Slots, c.Fanout.Slots)
	c.Host = Host{Name: name, Labels: h.Labels, Pools: h.Pools, Agents: h.Agents}
}

const labelPrefix = "label:"

// is reports whether a category that names hosts so means this one.
func (h Host) is(pattern string) bool {
	if label, is := strings.CutPrefix(pattern, labelPrefix); is {
		return slices.Contains(h.Labels, label)
	}
	matches, _ := path.Match(pattern, h.Name)
	return matches
}

// NotForHost says why no session of a category may run on this host, or "".
func (c *Config) NotForHost(name fleet.Category) string {
	category := c.Categories[name]
	if len(category.Hosts) > 0 && !slices.ContainsFunc(category.Hosts, c.Host.is) {
		return fmt.Sprintf("its hosts are %s, and this is %s", strings.Join(category.Hosts, " and "), c.Host.Name)
	}
	if !slices.ContainsFunc(category.Agents, c.HasAgent) {
		return fmt.Sprintf("%s has none of its agents: %s", c.Host.Name, strings.Join(category.Agents, ", "))
	}
	return ""
}

// FiredPools are the pools that have a timer on this host: [DefaultPool] in any case, whose timer is
// the fleet's.
func (c *Config) FiredPools() []string {
	return slices.DeleteFunc(c.PoolNames(), func(pool string) bool { return pool != DefaultPool && c.Unfired(pool) != "" })
}

// Unfired says why no fire on this host starts a pool, or "".
func (c *Config) Unfired(pool string) string {
	if len(c.Host.Pools) == 0 || slices.Contains(c.Host.Pools, pool) {
		return ""
	}
	return fmt.Sprintf("%s does not fire pool %s", c.Host.Name, pool)
}

// HasAgent reports whether this host has an agent.
func (c *Config) HasAgent(name string) bool {
	return len(c.Host.Agents) == 0 || slices.Contains(c.Host.Agents, name)
}

// leaveOutAgents leaves a category with the agents that this host has, unless it has none of them.
func (c *Config) leaveOutAgents() {
	for name, category := range c.Categories {
		if here := slices.DeleteFunc(slices.Clone(category.Agents), func(a string) bool { return !c.HasAgent(a) }); len(here) > 0 {
			category.Agents = here
			c.Categories[name] = category
		}
	}
}

// warnLabels looks for labels that no host has.
func (c *Config) warnLabels(w warnings, name fleet.Category) {
	for i, pattern := range c.Categories[name].Hosts {
		label, is := strings.CutPrefix(pattern, labelPrefix)
		has := func(h HostTable) bool { return slices.Contains(h.Labels, label) }
		if is && !slices.ContainsFunc(slices.Collect(maps.Values(c.Hosts)), has) {
			key := dotted("category", string(name), "hosts")
			w.add(fmt.Sprintf("no host has the label %s", label), element(key, i), key)
		}
	}
}
