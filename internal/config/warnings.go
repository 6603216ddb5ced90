package config

import (
	"fmt"
	"slices"

	"stint/internal/fleet"
)

// Warnings are what a person should look at in a file that is in order, in the
// order of the file.
func (c *Config) Warnings() []Problem {
	w := &warnings{source: c.source}
	c.warnFanout(w)
	if c.Lessons.Withhold == 0 {
		w.add("no lesson is ever withheld: nothing tells what the lessons are worth", "lessons.withhold")
	}
	for _, name := range c.CategoryNames() {
		c.warnCategory(w, name)
	}
	return w.problems()
}

func (c *Config) warnFanout(w *warnings) {
	if f := c.Fanout; f.Workers > f.Slots {
		w.add(fmt.Sprintf("workers (%d) is above slots (%d): a fire starts no more than there are slots", f.Workers, f.Slots),
			"fanout.workers", "fanout.slots")
	}
	if len(c.Fanout.Allow) == 0 {
		w.add("no category is allowed: a fire starts nothing", "fanout.allow")
	}
}

func (c *Config) warnCategory(w *warnings, name fleet.Category) {
	key, category := dotted("category", string(name)), c.Categories[name]
	if category.SelfDirected && category.Prompt == "" {
		w.add("without a prompt its sessions have nothing to go by", under(key, "self_directed"))
	}
}

type warnings struct {
	source source
	faults []fault
}

// add warns at the first of the keys that is in the file.
func (w *warnings) add(text string, keys ...string) {
	at := max(0, slices.IndexFunc(keys, w.source.has))
	w.faults = append(w.faults, fault{w.source.at[keys[at]], fmt.Errorf("%s: %s", keys[at], text)})
}

func (w *warnings) problems() []Problem {
	sortFaults(w.faults)
	return mapped(w.faults, func(f fault) Problem {
		return Problem{w.source.position(f.offset), f.err.Error()}
	})
}
