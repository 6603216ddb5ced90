package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/store"
)

const (
	// completionTime bounds a person's wait for names: a busy store is done without.
	completionTime = time.Second
	// latestOffered bounds the runs and fires that are offered.
	latestOffered = 50
	// offering has a shell offer names in the order given, the latest first, and no files.
	offering = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
)

func newCompletion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Print the completion script for a shell",
		Long: `Print the script that completes commands, flags, and the names of open tasks, categories,
runs, fires, agents and pools. "make install" and the packages install the scripts.
That of bash needs the package bash-completion. To try one in a running shell:

  source <(stint completion bash)
  source <(stint completion zsh)      # after compinit
  stint completion fish | source`,
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

// addCompletion gives a command, and those below it, the names that their usage asks for: by the word that stands there
// for the first argument, such as TASK or RUN|CATEGORY, and by the word for a flag's value.
func (a *app) addCompletion(c *cobra.Command) {
	if words := strings.Fields(c.Use); len(words) > 1 && len(c.ValidArgs) == 0 {
		names := a.complete(strings.Split(strings.Trim(words[1], "[]()…"), "|")...)
		c.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 && !strings.Contains(c.Use, "…") {
				return nil, offering
			}
			return names(cmd, args, typed)
		}
	}
	c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		kind, _ := pflag.UnquoteUsage(f)
		_ = c.RegisterFlagCompletionFunc(f.Name, a.complete(kind)) // it fails for an unknown flag alone
	})
	for _, sub := range c.Commands() {
		a.addCompletion(sub)
	}
}

// complete offers names of some kinds. Without a configuration there are none: a person who presses a key sees no errors.
func (a *app) complete(kinds ...string) cobra.CompletionFunc {
	switch kinds[0] {
	case "DIR":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	case "FILE":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	}
	return func(cmd *cobra.Command, _ []string, typed string) (offered []cobra.Completion, _ cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
		defer cancel()
		c, err := a.loadConfig()
		if err != nil {
			return nil, offering
		}
		for _, kind := range kinds {
			for _, name := range a.namesOf(ctx, c, kind) {
				if word, _, _ := strings.Cut(name, "\t"); strings.HasPrefix(word, typed) && typeable(word) {
					offered = append(offered, name)
				}
			}
		}
		return offered, offering
	}
}

// namesOf are the names of a kind, some with a few words on what they name. Tasks of programs are not asked for.
func (a *app) namesOf(ctx context.Context, c *config.Config, kind string) (list []cobra.Completion) {
	switch kind {
	case "AGENT":
		return c.AgentNames()
	case "CATEGORY":
		return words(c.CategoryNames())
	case "OUTCOME":
		return words(fleet.Outcomes())
	case "POOL":
		return c.PoolNames()
	case "SCOPE":
		return plain.Each(c.AllBudgets(), func(b fleet.Budget) cobra.Completion { return string(b.Scope) })
	case "STATE":
		return words(fleet.TaskStates())
	case "TASK":
		tasks, _, _ := taskFolder(c).Folder.List(ctx) // none that cannot be listed is offered
		for _, t := range tasks {
			if !t.State.Settled() {
				list = append(list, described(string(t.ID), t.Category, t.State, t.Title))
			}
		}
	case "FIRE", "RUN":
		_ = a.withStore(ctx, c, reading, func(s store.Store) error {
			if s != nil {
				list = latest(ctx, s, kind)
			}
			return nil
		})
	}
	return list
}

// latest are the latest fires, or runs, of the record, newest first.
func latest(ctx context.Context, s store.Store, kind string) []cobra.Completion {
	if kind == "FIRE" {
		fires, _ := s.LastFires(ctx, store.FireQuery{Brief: true, Limit: latestOffered})
		return plain.Each(fires, func(f fleet.Fire) cobra.Completion {
			return described(strconv.FormatInt(int64(f.ID), 10), stamp(f.At), len(f.Started()), "spawned")
		})
	}
	runs, _ := s.LastRuns(ctx, store.RunQuery{Limit: latestOffered})
	return plain.Each(runs, func(r fleet.Run) cobra.Completion {
		return described(string(r.ID), r.Category, r.Verdict.Outcome, r.Task)
	})
}

func words[T ~string](names []T) []cobra.Completion {
	return plain.Each(names, func(name T) cobra.Completion { return string(name) })
}

// described is a name with a few words on it.
func described(name string, about ...any) cobra.Completion {
	return cobra.CompletionWithDesc(name, plain.Line(fmt.Sprintln(about...)))
}

// typeable reports whether a name says nothing to a shell as it stands. cobra's script for bash puts what several names
// have in common onto the command line unquoted, and the next press of the key has bash evaluate the line: a session
// that calls a task $(reboot) must not have it run.
func typeable(name string) bool {
	return name != "" && name[0] != '-' && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:@%+,", r)
	})
}
