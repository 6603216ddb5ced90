package config

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"stint/internal/fleet"
	"stint/internal/tomlfile"
)

// Host is this machine, as its section of the file has it.
type Host struct {
	Name   string   // of its identity; empty: nobody said
	Labels []string // by which categories name it
	Pools  []string // that its fires start; none: all
	Agents []string // that it has; none: all
}

// hostSections are the keys that may hold on one machine only. Some stand elsewhere, too.
func (c *Config) hostSections(shared ...tomlfile.Key) tomlfile.Key {
	h := &c.Host
	return tomlfile.Sections("host", &h.Name, hostWord("a host's name", "rename it, as in [host.gpu-1]"),
		`What holds on one of several machines, in place of the rest of the file: a table [host.NAME] has state, and
		workers and slots as in [fanout], and labels, pools and agents. NAME is the machine's hostname when it got
		its identity: see "stint host".`,
		append(
			shared,
			tomlfile.Of("labels", &h.Labels, nil, tomlfile.List(1, hostWord("a label", `write it like "big"`)),
				`Words by which categories name it.`),
			tomlfile.Of("pools", &h.Pools, nil, tomlfile.List(1, tomlfile.Known("pool", c.poolWords)),
				`The pools that its fires start. Left out, all.`),
			tomlfile.Of("agents", &h.Agents, nil, tomlfile.List(1, tomlfile.Known("agent", c.AgentNames)),
				`The agents that it has. Left out, all.`),
		)...)
}

func hostWord(what, hint string) tomlfile.Rule[string] {
	return tomlfile.Word[string](func(s string) error {
		const letters, marks = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", "._-"
		if s != "" && len(s) <= 64 && strings.Trim(s, letters+marks) == "" && strings.ContainsAny(s[:1], letters) {
			return nil
		}
		return fleet.WithHint(fmt.Errorf("%s is 1 to 64 of a-z, A-Z, 0-9, ., _ and -, not starting with ., _ or -", what), hint)
	}).Matching("^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
}

// poolWords are the pools of the file before they are read, as sections of hosts name them.
func (c *Config) poolWords() []string {
	words := []string{DefaultPool}
	for _, pool := range c.file.Unread().Root().Child("pool").Children() {
		words = append(words, pool.Name)
	}
	return words
}

// hostPattern is how a category names hosts.
func hostPattern() tomlfile.Rule[string] {
	label := hostWord("a label", `write it like "label:big"`)
	return tomlfile.Word[string](func(s string) error {
		if name, is := strings.CutPrefix(s, labelPrefix); is {
			_, err := label.Parse(name)
			return err
		}
		if _, err := path.Match(s, ""); err != nil || s == "" {
			return fleet.WithHint(errors.New("that is no pattern of hosts' names"), `write it like "gpu-*", or "label:big"`)
		}
		return nil
	})
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

// Misplaced says why no session of a category may run on this host, or "".
func (c *Config) Misplaced(name fleet.Category) string {
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
	hosts := w.Root().Child("host")
	for i, pattern := range c.Categories[name].Hosts {
		label, is := strings.CutPrefix(pattern, labelPrefix)
		has := func(host *tomlfile.Table) bool {
			return slices.Contains(tomlfile.Get(host, "labels", nil, tomlfile.List(0, tomlfile.Text())), label)
		}
		if is && !slices.ContainsFunc(hosts.Children(), has) {
			key := tomlfile.Dotted("category", string(name), "hosts")
			w.add(fmt.Sprintf("no host has the label %s", label), fmt.Sprintf("%s[%d]", key, i), key)
		}
	}
}
