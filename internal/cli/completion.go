package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/store"
)

const (
	// completionTime is how long a person waits for names: a busy store is done without.
	completionTime = time.Second
	// latestOffered is how many runs and fires are offered.
	latestOffered = 50
	// mostNames is how many names a shell sorts, quotes and shows without a pause.
	mostNames = 1000
	// aboutRunes is how much a name's description says, beside the name on a line.
	aboutRunes = 60
)

func newCompletion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Print the completion script for a shell",
		Long: `Print the script that completes commands, flags, and the names of tasks, categories,
runs, fires, agents, pools and holders. "make install" and the packages install the scripts.
That of bash needs the package bash-completion. To try one in a running shell:

  source <(stint completion bash)
  source <(stint completion zsh)      # after compinit
  stint completion fish | source`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				return cmd.Root().GenBashCompletionV2(a.Stdout, true)
			case "zsh":
				return cmd.Root().GenZshCompletion(a.Stdout)
			case "fish":
				return cmd.Root().GenFishCompletion(a.Stdout, true)
			}
			return usage(fmt.Errorf("there is no completion for %q, only for bash, zsh and fish", args[0]))
		},
	}
}

// candidate is a name that a shell may offer, and what it says of it.
type candidate struct{ name, about string }

// addCompletion gives a command, and those below it, the names that their usage asks for:
// of the kind that stands there for an argument, TASK or RUN|CATEGORY, or by the flag's
// name. A command's own completions are left alone. Files are offered for FILE and DIR alone.
func (a *app) addCompletion(c *cobra.Command) {
	if c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 {
		c.ValidArgsFunction = a.completeArgument(c.Use)
	}
	c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		_, has := c.GetFlagCompletionFunc(f.Name)
		kind, _ := pflag.UnquoteUsage(f)
		if !has && kind != "FILE" {
			// It fails for an unknown flag, or one that has a function.
			_ = c.RegisterFlagCompletionFunc(f.Name, a.completeFlag(f.Name))
		}
	})
	for _, sub := range c.Commands() {
		a.addCompletion(sub)
	}
}

// completeFlag completes the value of a flag.
func (a *app) completeFlag(name string) cobra.CompletionFunc {
	switch name {
	case "category":
		return completeNames(a, (*config.Config).CategoryNames)
	case "agent":
		return completeNames(a, (*config.Config).AgentNames)
	case "pool":
		return completeNames(a, func(c *config.Config) []string { return slices.Sorted(maps.Keys(c.Pools)) })
	case "holder":
		return a.completeHolders
	case "task", "requires":
		return a.completeTasks
	case "run", "before":
		return a.completeRuns
	case "fire":
		return a.completeFires
	case "outcome":
		return among(fleet.Outcomes()...)
	case "state":
		return among(fleet.TaskStates()...)
	case "priority":
		return among(fleet.PriorityUrgent, fleet.PriorityHigh, fleet.PriorityMedium, fleet.PriorityLow)
	default:
		return cobra.NoFileCompletions
	}
}

// completeArgument completes the first argument of a command, by its usage line, and the others of one
// that takes several.
func (a *app) completeArgument(use string) cobra.CompletionFunc {
	kinds := argumentKinds(use)
	switch {
	case slices.Contains(kinds, "DIR"):
		return first(cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
	case slices.Contains(kinds, "FILE") || slices.Contains(kinds, "SCENARIO.toml"):
		return first(cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault))
	}
	known := map[string]cobra.CompletionFunc{
		"TASK": a.completeTasks, "CATEGORY": completeNames(a, (*config.Config).CategoryNames), "RUN": a.completeRuns, "FIRE": a.completeFires,
		"SCOPE": completeNames(a, budgetScopes),
	}
	var functions []cobra.CompletionFunc
	for _, kind := range kinds {
		if fn, ok := known[kind]; ok {
			functions = append(functions, fn)
		}
	}
	all := func(cmd *cobra.Command, args []string, typed string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
		directive := cobra.ShellCompDirectiveNoFileComp
		for _, fn := range functions {
			more, d := fn(cmd, args, typed)
			names, directive = append(names, more...), directive|d
		}
		return names, directive
	}
	if strings.Contains(use, "…") {
		return all
	}
	return first(all)
}

// argumentKinds are the words of a usage line that stand for the first argument. Those
// that stand for a flag's value are not.
func argumentKinds(use string) (kinds []string) {
	flag := false
	for _, word := range strings.Fields(use)[1:] {
		word = strings.Trim(word, "[]()…")
		switch {
		case strings.HasPrefix(word, "-"):
			flag = true
		case flag:
			flag = false
		case word == "|":
		default:
			kinds = append(kinds, strings.Split(word, "|")...)
		}
	}
	return kinds
}

// first completes the first argument alone, by fn.
func first(fn cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return fn(cmd, args, typed)
	}
}

// among completes one of a few words.
func among[T ~string](words ...T) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return offer(plainCandidates(words), typed)
	}
}

// completeTasks completes a task: to show, any; for a claim that somebody has to hold,
// what is claimed; else those that are not settled. Tasks of programs are not asked for.
func (a *app) completeTasks(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	switch cmd.CommandPath() {
	case "stint claim renew", "stint claim release", "stint claim verify":
		return a.completeStore(cmd, typed, claimCandidates)
	case "stint task show", "stint why":
		return a.completeConfig(cmd, typed, taskCandidates(true))
	default:
		return a.completeConfig(cmd, typed, taskCandidates(false))
	}
}

func taskCandidates(settled bool) func(context.Context, *config.Config) []candidate {
	return func(ctx context.Context, c *config.Config) (list []candidate) {
		tasks, _, err := taskFolder(c).Folder.List(ctx)
		if err != nil {
			return nil
		}
		for _, t := range tasks {
			if settled || !t.State.Settled() {
				list = append(list, candidate{string(t.ID), oneLine([]string{string(t.Category) + ",", string(t.State) + ":", t.Title})})
			}
		}
		return list
	}
}

func claimCandidates(ctx context.Context, s store.Store) (list []candidate) {
	claims, err := s.List(ctx, store.Listing{})
	if err != nil {
		return nil
	}
	for _, c := range claims.Claims {
		list = append(list, candidate{string(c.Key), "held by " + string(c.Holder)})
	}
	return list
}

// completeNames completes one of the names that the configuration has.
func completeNames[T ~string](a *app, names func(*config.Config) []T) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.completeConfig(cmd, typed, func(_ context.Context, c *config.Config) []candidate { return plainCandidates(names(c)) })
	}
}

// budgetScopes are what there may be a budget for.
func budgetScopes(c *config.Config) []fleet.Scope {
	return plain.Each(c.AllBudgets(), func(b fleet.Budget) fleet.Scope { return b.Scope })
}

// plainCandidates are names of which there is nothing to say.
func plainCandidates[T ~string](names []T) []candidate {
	return plain.Each(names, func(name T) candidate { return candidate{name: string(name)} })
}

// completeHolders completes a holder, among those of the claims that are held.
func (a *app) completeHolders(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.completeStore(cmd, typed, func(ctx context.Context, s store.Store) (list []candidate) {
		claims, err := s.List(ctx, store.Listing{})
		if err != nil {
			return nil
		}
		for _, c := range claims.Claims {
			list = append(list, candidate{string(c.Holder), "holds " + string(c.Key)})
		}
		slices.SortStableFunc(list, func(a, b candidate) int { return strings.Compare(a.name, b.name) })
		return list
	})
}

// completeRuns completes one of the latest runs, newest first: to stop one, those that are
// open.
func (a *app) completeRuns(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	names, directive := a.completeStore(cmd, typed, func(ctx context.Context, s store.Store) (list []candidate) {
		runs, err := s.LastRuns(ctx, store.RunQuery{Limit: latestOffered})
		if err != nil {
			return nil
		}
		for _, r := range runs {
			if r.EndedAt.IsZero() || cmd.CommandPath() != "stint stop" {
				list = append(list, candidate{string(r.ID), runAbout(r)})
			}
		}
		return list
	})
	return names, directive | cobra.ShellCompDirectiveKeepOrder
}

// completeItems completes runs that left commits on a branch of their own and have not landed.
func (a *app) completeItems(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	names, directive := a.completeStore(cmd, typed, func(ctx context.Context, s store.Store) (list []candidate) {
		runs, err := s.LastRuns(ctx, store.RunQuery{Ended: true, Limit: latestOffered})
		if err != nil {
			return nil
		}
		reviews, err := s.Reviews(ctx)
		if err != nil {
			return nil
		}
		for _, r := range runs {
			if r.Branch != "" && len(r.Commits) > 0 && reviews[r.ID].Decision != fleet.DecisionLanded && !slices.Contains(args, string(r.ID)) {
				list = append(list, candidate{string(r.ID), runAbout(r)})
			}
		}
		return list
	})
	return names, directive | cobra.ShellCompDirectiveKeepOrder
}

// runAbout says what a run is in a few words: its category, how it ended, its task.
func runAbout(r fleet.Run) string {
	about := []string{string(r.Category), "has not ended"}
	if r.Verdict.Outcome != "" {
		about[1] = string(r.Verdict.Outcome)
	}
	if r.Verdict.Grade != nil {
		about = append(about, fmt.Sprintf("%.2f", *r.Verdict.Grade))
	}
	return oneLine(append(about, string(r.Task)))
}

// completeFires completes one of the latest fires, newest first.
func (a *app) completeFires(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	names, directive := a.completeStore(cmd, typed, func(ctx context.Context, s store.Store) (list []candidate) {
		fires, err := s.LastFires(ctx, store.FireQuery{Brief: true, Limit: latestOffered})
		if err != nil {
			return nil
		}
		for _, f := range fires {
			list = append(list, candidate{strconv.FormatInt(int64(f.ID), 10), fmt.Sprintf("%s, %d spawned", stamp(f.At), len(f.Started()))})
		}
		return list
	})
	return names, directive | cobra.ShellCompDirectiveKeepOrder
}

// completeConfig offers names that the configuration leads to. Without one there are none:
// a person who presses a key sees no errors.
func (a *app) completeConfig(cmd *cobra.Command, typed string, list func(context.Context, *config.Config) []candidate) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	c, err := a.loadConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return offer(list(ctx, c), typed)
}

// completeStore offers names that the store has. It is only read.
func (a *app) completeStore(cmd *cobra.Command, typed string, list func(context.Context, store.Store) []candidate) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.completeConfig(cmd, typed, func(ctx context.Context, c *config.Config) []candidate {
		s, err := a.openStore(ctx, c, reading)
		if err != nil || s == nil {
			return nil
		}
		defer func() { _ = s.Close() }() // nothing was written
		return list(ctx, s)
	})
}

// offer is what of a list begins as typed and can stand on a command line as it is, each name once.
func offer(list []candidate, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []cobra.Completion
	seen := map[string]bool{}
	for _, c := range list {
		if seen[c.name] || !strings.HasPrefix(c.name, typed) || !typeable(c.name) {
			continue
		}
		seen[c.name] = true
		name := c.name
		if c.about != "" {
			name = cobra.CompletionWithDesc(c.name, shortened(c.about))
		}
		names = append(names, name)
	}
	if len(names) > mostNames {
		return beginnings(slices.Sorted(maps.Keys(seen)), len(typed)), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// typeable reports whether a name says nothing to a shell as it stands. cobra's script for bash puts what several names
// have in common onto the command line unquoted, and the next press of the key has bash evaluate the line: a session
// that calls a task $(reboot) must not have it run.
func typeable(name string) bool {
	return name != "" && name[0] != '-' && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:@%+,", r)
	})
}

// shortened is a description in one line.
func shortened(about string) string {
	runes := []rune(strings.Join(strings.Fields(plain.Text(about)), " "))
	if len(runes) > aboutRunes {
		runes = append(runes[:aboutRunes-1], '…')
	}
	return string(runes)
}

// beginnings are the letters that sorted names go on with after what they have in common:
// too many to look at, but few enough to choose from.
func beginnings(sorted []string, typed int) (list []cobra.Completion) {
	first, last := sorted[0], sorted[len(sorted)-1]
	common := typed
	for common < min(len(first), len(last)) && first[common] == last[common] {
		common++
	}
	for !utf8.RuneStart((first + "a")[common]) {
		common-- // to where a letter begins
	}
	for _, name := range sorted {
		_, next := utf8.DecodeRuneInString(name[common:])
		beginning := name[:common+next]
		// A blank at the end would be lost on the way to the shell.
		if beginning = strings.TrimRight(beginning, " "); len(list) == 0 || list[len(list)-1] != beginning {
			list = append(list, beginning)
		}
	}
	return list
}
