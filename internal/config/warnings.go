package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"stint/internal/fleet"
)

// Warnings are points in a valid file that a person should look at, in the order of the
// file.
func (c *Config) Warnings() []Problem {
	w := warnings{c.file.Unread()}
	c.warnFanout(w)
	c.warnPools(w)
	c.warnNotice(w)
	c.warnSecrets(w)
	c.warnBoxes(w)
	c.warnShares(w)
	for _, name := range c.CategoryNames() {
		c.warnCategory(w, name)
	}
	return w.Problems()
}

// PromptFault is an error of a category's prompt file, at the place that names it.
func (c *Config) PromptFault(name fleet.Category, err error) error {
	at := c.file.Position(dotted("category", string(name), "prompt"))
	hint := cmp.Or(fleet.Hint(err), "write the file, or leave prompt out")
	return usagef(hint, "%s: prompt of category %s: %w", at, name, err)
}

// warnSecrets looks for secrets in the file, which is often in a repository, and which sessions read.
func (c *Config) warnSecrets(w warnings) {
	for _, name := range c.AgentNames() {
		for _, variable := range slices.Sorted(maps.Keys(c.Agents[name].Environment)) {
			if SecretName(variable) {
				w.add("a secret in this file can be read by every session: move it to a file of your own, chmod 600, and name that: environment_file",
					dotted("agent", name, "environment", variable), dotted("agent", name, "environment"))
			}
		}
	}
}

// warnBoxes looks for agents with neither a box nor a sandbox, and for a sandbox that the box refuses. A
// command of the file stays as it is when box changes.
func (c *Config) warnBoxes(w warnings) {
	for _, name := range c.AgentNames() {
		a := c.Agents[name]
		switch {
		case a.Box == fleet.BoxOpen && a.asks(a.CLI.Sandbox.Off):
			w.add("nothing holds this agent, neither a box nor its own sandbox, which its command turns off: leave command out, or change it",
				dotted("agent", name, "box"))
		case a.Box != fleet.BoxOpen && a.Sandboxed():
			w.add("in its box the agent cannot make the sandbox that its command asks for: leave command out",
				dotted("agent", name, "command"))
		}
	}
}

func (c *Config) warnFanout(w warnings) {
	if f := c.Fanout; f.Workers > f.Slots {
		w.add(fmt.Sprintf("workers (%d) is above slots (%d): a fire starts no more than there are slots", f.Workers, f.Slots),
			dotted("host", c.Host.Name, "workers"), dotted("host", c.Host.Name, "slots"), "fanout.workers", "fanout.slots")
	}
	if len(c.Fanout.Allow) == 0 {
		w.add("no category is allowed: a fire starts nothing", "fanout.allow")
	}
}

// warnShares looks at the shares that the file gives: the categories without one divide
// what those leave. It warns at the last of them in the file, where the sum is reached.
func (c *Config) warnShares(w warnings) {
	const rounding = 1e-9 // decimal fractions such as 0.7 + 0.2 + 0.1 are not 1 to the last bit
	sum, last, without := 0.0, "", 0
	for _, name := range c.CategoryNames() {
		key := dotted("category", string(name), "share")
		if !w.Has(key) {
			without++
			continue
		}
		if sum += c.Categories[name].Share; last == "" || w.Offset(key) > w.Offset(last) {
			last = key
		}
	}
	rest := ""
	if without > 0 {
		rest = fmt.Sprintf(": nothing is left for the categories without one (%d)", without)
	}
	switch {
	case sum > 1+rounding:
		w.add(fmt.Sprintf("the shares that are given sum to %.4g, which is more than 1", sum)+rest, last)
	case sum >= 1-rounding && without > 0:
		w.add("the shares that are given sum to 1"+rest, last)
	}
}

func (c *Config) warnCategory(w warnings, name fleet.Category) {
	c.warnLabels(w, name)
	key, category := dotted("category", string(name)), c.Categories[name]
	if category.SelfDirected && category.Prompt == "" {
		w.add("without a prompt its sessions have nothing to go by", key+".self_directed")
	}
	if c.Store.Shared() && category.TTL <= category.Timeout {
		w.add("ttl is not longer than timeout: the task of a session that loses its supervisor is given to another machine while it works",
			key+".ttl", key+".timeout")
	}
	if limit := dotted("category", string(name), "wip", "limit"); len(category.WIP.Command) == 0 && w.Has(limit) {
		w.add("without a command nothing counts the results that wait, and there is no limit", limit)
	}
}

// warnings are faults of the file that are none.
type warnings struct{ *file }

// add warns at the first of the keys that is in the file, or else at its beginning.
func (w warnings) add(text string, keys ...string) {
	w.Report(keys[max(0, slices.IndexFunc(keys, w.Has))], errors.New(text), "")
}
