package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/store"
	"stint/internal/survey"
)

// elsewhere are commands of other programs, with what stint has for each under another name.
func elsewhere() map[string]string {
	return map[string]string{
		"kill":    "stint stop ends sessions",
		"cancel":  "stint stop ends sessions",
		"start":   "stint run starts a session, stint fanout a fire, and stint resume ends a pause",
		"ls":      "stint runs lists the runs, and stint task list the tasks",
		"ps":      "stint status shows what is at work",
		"rm":      "stint task done closes a task, and stint review reject drops the work of a run",
		"task ls": "stint task list",
		"task rm": "stint task done closes a task; one that is a file may be deleted",
	}
}

// noSuchCommand refuses a word that names no command below c, and says which may have been
// meant. All of those are made: a command line that begins with none of them gets them all.
func noSuchCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	path := c.CommandPath() + " " + args[0]
	hint := cmp.Or(elsewhere()[strings.TrimPrefix(path, c.Root().Name()+" ")], c.CommandPath()+" --help")
	if near := fleet.Nearest(args[0], names(c)); near != "" {
		hint = fmt.Sprintf("did you mean %s %s?", c.CommandPath(), near)
	}
	return fleet.WithHint(fmt.Errorf("unknown command %q for %q", args[0], c.CommandPath()), hint)
}

// asksBelow reports whether help is asked for with several words, such as "help review show": they are a command
// then, although the first may be a topic.
func asksBelow(args []string) bool {
	words := slices.DeleteFunc(slices.Clone(args), func(word string) bool { return strings.HasPrefix(word, "-") })
	return len(words) > 2 && words[0] == "help"
}

// noSuchHelp refuses words that are no command, and a word that is no topic.
func noSuchHelp(root *cobra.Command, args []string) error {
	found, rest, _ := root.Find(args) // its error says less
	if found != root || len(rest) == 0 {
		return noSuchCommand(found, rest)
	}
	known := append(names(root), plain.Each(Topics(root), (*cobra.Command).Name)...)
	return fleet.WithHint(fmt.Errorf("there is no command and no help topic %q", rest[0]),
		fleet.Meant(rest[0], known, "stint --help lists both"))
}

// names are those of the commands below one.
func names(c *cobra.Command) (list []string) {
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			list = append(list, sub.Name())
		}
	}
	return list
}

// slipOf refuses to claim a word that looks like a slip of a command below "claim".
func slipOf(claim *cobra.Command, word string) error {
	uses := map[string]string{"help": "--help"}
	verbs := []string{"help"}
	for _, verb := range claim.Commands() {
		uses[verb.Name()], verbs = verb.Use, append(verbs, verb.Name())
	}
	verb := fleet.Slip(word, verbs)
	if verb == "" {
		return nil
	}
	return fleet.WithHint(usage(fmt.Errorf("no claim was taken: %q looks like a slip of %q", word, verb)),
		fmt.Sprintf("stint claim %s, or for a claim on %[2]s: stint claim take %[2]s", uses[verb], word))
}

// nearClaims is advice on a claim that is not held: the nearest that is, and where to look.
func nearClaims(ctx context.Context, s store.Store, key fleet.Key) string {
	var held []fleet.Key
	if s != nil {
		now, _ := s.List(ctx, store.Listing{}) // advice is no reason to fail
		held = plain.Each(now.Claims, func(c fleet.Claim) fleet.Key { return c.Key })
	}
	return fleet.Meant(string(key), held,
		"stint claim check "+fleet.ShellWord(string(key))+" says who holds it, and stint claim list what is claimed")
}

// knownCategory refuses a name that is no category's.
func knownCategory(c *config.Config, name string) error {
	if _, ok := c.Categories[fleet.Category(name)]; name == "" || ok {
		return nil
	}
	return fleet.WithHint(usage(fmt.Errorf("category %q is not in %s", name, c.Path)),
		fleet.Meant(name, c.CategoryNames(), "the categories are "+fleet.Listed(c.CategoryNames())))
}

// maxNear bounds the runs among which a name that was meant is looked for.
const maxNear = 50

// resolveRun is the run that a person means by its id, the beginning of one, or its category.
func resolveRun(ctx context.Context, f *survey.Reader, name, host string, also ...fleet.RunID) (fleet.Run, error) {
	r, err := f.ResolveRun(ctx, name, host, also...)
	unknown := errors.Is(err, fleet.ErrNotFound)
	if !unknown && !errors.Is(err, fleet.ErrUsage) {
		return r, err
	}
	known := plain.Each(f.Config.CategoryNames(), func(c fleet.Category) string { return string(c) })
	rest := "stint runs lists the runs; the categories are " + strings.Join(known, ", ")
	if !f.Recorded() {
		return r, fleet.WithHint(err, fleet.Meant(name, known, "nothing has run yet: stint status"))
	}
	runs, _ := f.Store.LastRuns(ctx, store.RunQuery{Limit: maxNear}) // only to suggest one
	at := slices.IndexFunc(runs, func(r fleet.Run) bool { return string(r.Task) == name })
	switch {
	case at >= 0:
		rest = fmt.Sprintf("%s is a task: the latest run at it is %s; %s", name, runs[at].ID, rest)
	case unknown:
		known = append(known, plain.Each(runs, func(r fleet.Run) string { return string(r.ID) })...)
		if agent := fleet.Nearest(name, f.Config.AgentNames()); agent != "" {
			rest = fmt.Sprintf("%s is an agent: name a run or a category; %s", agent, rest)
		}
		rest = fleet.Meant(name, known, rest)
	}
	return r, fleet.WithHint(err, rest)
}
