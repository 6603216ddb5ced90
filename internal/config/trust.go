package config

import (
	"maps"
	"slices"
	"strings"

	"stint/internal/fleet"
)

// Trust has facts about the file, and about the files that it names, beside its text.
type Trust struct {
	Held   string                                // what has changed of the file and waits for a person, for whom the text before stands; empty: nothing
	Broken string                                // Held, where the changed text has faults and cannot be confirmed
	Guard  func(argv []string, dir string) error // refuses a command of which a file is not as a person confirmed it; nil: none is
}

// Check refuses a command of which a file is not as a person confirmed it, by the guard that there
// is by then: the first session begins after its commands were made.
func (t *Trust) Check(argv []string, dir string) error {
	if t.Guard == nil || len(argv) == 0 {
		return nil
	}
	return t.Guard(argv, dir)
}

// Open reports whether a session of any agent may write wherever the operator may.
func (c *Config) Open() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(c.Agents)), func(a Agent) bool { return a.Box == fleet.BoxOpen })
}

// Writable are the folders that boxed sessions may write, and in which a person's files may be.
func (c *Config) Writable() []string {
	folders := []string{c.Workspace}
	for _, a := range c.Agents {
		folders = append(folders, a.Write...)
	}
	return folders
}

// Commands are an agent's own commands; a file that is only read for it counts as one.
func (a Agent) Commands(workspace string) [][]string {
	command := slices.Clone(a.Command)
	for i := range command {
		command[i] = strings.ReplaceAll(command[i], "{workspace}", workspace)
	}
	return [][]string{command, {a.EnvironmentFile}}
}

// Commands are the category's own commands, likewise.
func (c Category) Commands() [][]string {
	return [][]string{c.Check, c.Grader, c.WIP.Command, {c.Prompt}}
}

// Commands are all commands of the file, and the files that it has read.
func (c *Config) Commands() [][]string {
	list := [][]string{c.Selector.Command, c.Notice.Command, c.Review.Check, c.Review.Publish, c.Review.Outcome, c.Review.Feedback}
	for _, name := range slices.Sorted(maps.Keys(c.Tasks.Sources)) {
		s := c.Tasks.Sources[name]
		list = append(list, s.Command, s.Start, s.Done, s.Release)
	}
	for _, name := range c.AgentNames() {
		list = append(list, c.Agents[name].Commands(c.Workspace)...)
	}
	for _, name := range c.CategoryNames() {
		list = append(list, c.Categories[name].Commands()...)
	}
	return slices.DeleteFunc(list, func(argv []string) bool { return len(argv) == 0 || argv[0] == "" })
}

// Untrusted is all that waits for a person's confirmation.
func (c *Config) Untrusted() (reasons []string) {
	if c.Trust.Held != "" {
		reasons = append(reasons, c.Trust.Held)
	}
	for _, argv := range c.Commands() {
		if err := c.Trust.Check(argv, c.Workspace); err != nil {
			reasons = append(reasons, err.Error())
		}
	}
	slices.Sort(reasons)
	return slices.Compact(reasons)
}
