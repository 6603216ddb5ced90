package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/review"
	"stint/internal/survey"
	"stint/internal/view"
)

func newReviewLand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "land RUN[@COMMIT]…",
		Short: "Bring the work of sessions into the target branch",
		Long: `Bring the work of sessions into the target branch, the oldest first and each on top of the one
before: by a rebase, or a merge with [review] method = "merge". [review] check runs there. Then
the target moves, the task is closed if it waits for review, and branch and folder are removed.

Work that conflicts or whose check fails is set aside and its task opened again; the others go
on. A branch that somebody moved since its session ended lands only with the COMMIT that you
looked at. A target that diverged from its upstream is refused. After a crash the same command
goes on.`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.runReviewLand(cmd.Context(), args) },
	}
}

func newReviewReject(a *app) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "reject RUN… --reason TEXT",
		Short: "Reject the work of sessions",
		Long: `Reject the work of sessions. The task of each is opened again, and the next session at it is given
the reason. The branch is kept, and listed only with --all, until it has another commit.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.reject(cmd.Context(), args, reason, func(i review.Item) {
				a.sayLine(view.Reviewed("rejected", reason, "", "").JSON(i), string(i.Run)+" is rejected")
			})
		},
	}
	cmd.Flags().Var(textFlag(&reason), "reason", "why: a line of `TEXT` for the next session at the task")
	return cmd
}

// reject rejects the work of each of the runs, and reports it.
func (a *app) reject(ctx context.Context, runs []string, reason string, done func(review.Item)) error {
	if reason == "" {
		return usage(errors.New("--reason is missing: the next session at the task needs to know why"))
	}
	return a.withEachItem(ctx, runs, func(f opened, t review.Target, i review.Item) error {
		err := unlanded(t, i)
		if err == nil {
			err = f.Reject(ctx, i, reason)
		}
		if err == nil {
			done(i)
		}
		return err
	})
}

func newReviewCheckout(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "checkout RUN",
		Short: "Print a folder with the work of a session",
		Long: `Print a folder beside the workspace in which the branch of a session is checked out. From then on
the work is yours: no session goes on with it, or with its task, until the folder is gone ("git
worktree remove FOLDER").`,
		Example: `  cd "$(stint review checkout 01k9f0c7d3k2m4qa)"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withItem(cmd.Context(), args[0], func(e opened, _ review.Target, i review.Item) error {
				if i.AtWork != "" {
					return fmt.Errorf("run %s goes on with the work of run %s: %w", i.AtWork, i.Run, fleet.ErrHeld)
				}
				dir, err := a.places(e.Config).CheckOut(cmd.Context(), i.Run, i.Name)
				return a.sayDone(err, view.Reviewed("checked out", "", dir, "").JSON(i), dir)
			})
		},
	}
}

func newReviewPublish(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "publish RUN",
		Short: "Push the work of a session and open a request",
		Long: `Push the branch of a session to the remote of the target, and run [review] publish, which opens
a request and prints its address. That happens once: later commits are only pushed. After a crash
or a failure the command runs again, and must then print the address of the existing request.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withItem(cmd.Context(), args[0], func(e opened, t review.Target, i review.Item) error {
				if err := unlanded(t, i); err != nil {
					return err
				}
				r, remote, err := e.Publish(cmd.Context(), t, i)
				line := r.URL
				switch {
				case line == "" && remote == "":
					line = i.Name + " is published already, and no address of a request is known"
				case line == "":
					line = i.Name + " is pushed to " + remote
				}
				return a.sayDone(err, view.Reviewed("published", "", "", r.URL).JSON(i), line)
			})
		},
	}
}

// unlanded refuses what is decided already.
func unlanded(t review.Target, i review.Item) error {
	if i.Landing == review.Waiting || i.Landing == review.Reverted {
		return nil
	}
	return fleet.WithHint(fmt.Errorf("%s has the work of run %s: %w", t.Name, i.Run, fleet.ErrNothing), "stint review land "+string(i.Run)+" removes its branch")
}

// withItem runs fn with one item of review.
func (a *app) withItem(ctx context.Context, run string, fn func(opened, review.Target, review.Item) error) error {
	return a.withEachItem(ctx, []string{run}, fn)
}

// withEachItem runs fn with each of the items that are named, and goes on after one that fails.
func (a *app) withEachItem(ctx context.Context, runs []string, fn func(opened, review.Target, review.Item) error) error {
	return a.withItems(ctx, runs, func(e opened, t review.Target, items []review.Item, done []fleet.Landed) error {
		for _, l := range done {
			items = append(items, review.Item{Branch: review.Branch{Run: l.Run}})
		}
		return each(items, func(i review.Item) error {
			if i.Name == "" {
				return fleet.WithHint(fmt.Errorf("run %s has landed: %w", i.Run, fleet.ErrNothing), "stint review --landed")
			}
			return fn(e, t, i)
		})
	})
}

// withItems runs fn with items of review, and with those of the runs that have landed before
// and left no branch. What else is named is reported in the end.
func (a *app) withItems(ctx context.Context, args []string, fn func(opened, review.Target, []review.Item, []fleet.Landed) error) error {
	if a.Getenv("STINT_RUN_ID") != "" {
		return fleet.WithHint(fmt.Errorf("a session decides about no work: %w", fleet.ErrHeld), "run it as a person")
	}
	return a.with(ctx, writing|repository, func(e opened) error {
		t, all, err := e.Review(ctx)
		if err != nil {
			return err
		}
		if t.Name == "" {
			return fleet.WithHint(errors.New("the workspace has no branch checked out"), "name one in [review] target")
		}
		reviews, err := e.Store.Reviews(ctx)
		if err != nil {
			return err
		}
		var (
			items []review.Item
			done  []fleet.Landed
			wrong []error
			seen  = map[fleet.RunID]bool{}
		)
		for _, arg := range args {
			if _, category := e.Config.Categories[fleet.Category(arg)]; category { // its latest run may be another than the one that was looked at
				err := usage(fmt.Errorf("%s is a category: name the run that is meant", arg))
				wrong = append(wrong, fleet.WithHint(err, "stint review lists the runs"))
				continue
			}
			if strings.HasSuffix(arg, "@") { // as of a variable that is not set
				wrong = append(wrong, usage(fmt.Errorf("%s: a commit is missing after the @", arg)))
				continue
			}
			name, tip, _ := strings.Cut(arg, "@")
			run, at, err := itemOf(ctx, e.Reader, all, name)
			switch {
			case err != nil:
				wrong = append(wrong, err)
			case seen[run]:
			case at >= 0 && !strings.HasPrefix(all[at].Tip, tip):
				err := fmt.Errorf("commit %s: the branch of run %s is at %.12s: %w", tip, run, all[at].Tip, fleet.ErrNotFound)
				wrong = append(wrong, fleet.WithHint(err, "stint review diff "+string(run)))
			case at >= 0:
				all[at].Seen = tip
				items = append(items, all[at])
			case reviews[run].Decision == fleet.DecisionLanded:
				done = append(done, fleet.Landed{Run: run, End: fleet.LandingLanded, Reason: "it landed before"})
			default:
				wrong = append(wrong, noBranch(ctx, e.Reader, run, " that has ended"))
			}
			seen[run] = true
		}
		if len(items)+len(done) == 0 {
			return errors.Join(wrong...)
		}
		return partly(errors.Join(wrong...), fn(e, t, items, done))
	})
}

// noBranch says that there is no branch of a run here, or which machine's clone has it.
func noBranch(ctx context.Context, f *survey.Reader, id fleet.RunID, which string) error {
	if f.Store != nil {
		r, err := f.Store.Run(ctx, id)
		if err == nil && r.Branch != "" && f.KeptElsewhere(ctx, r.Host) {
			return fleet.WithHint(fmt.Errorf("the branch of run %s is on host %s: %w", id, f.Describe(ctx, r, nil).Machine, fleet.ErrNotFound), "there: stint review")
		}
	}
	return fleet.WithHint(fmt.Errorf("no branch of run %s%s: %w", id, which, fleet.ErrNotFound), "stint review --all")
}

func (a *app) runReviewLand(ctx context.Context, args []string) error {
	return a.land(ctx, args, func(t review.Target, l fleet.Landed) {
		if !a.json {
			fmt.Fprintln(a.Stdout, plain.Text(landedLine(t, l)))
		}
	}, func(t review.Target, list []fleet.Landed) { a.asObject(view.Landings(t).JSON(list)) })
}

// land brings the work of runs into the target. It reports what becomes of each when that is known, and of all in the end.
func (a *app) land(ctx context.Context, args []string, each func(review.Target, fleet.Landed), all func(review.Target, []fleet.Landed)) error {
	return a.withItems(ctx, args, func(e opened, t review.Target, items []review.Item, list []fleet.Landed) error {
		for _, l := range list {
			each(t, l)
		}
		more, failed := e.Land(ctx, t, items, func(l fleet.Landed) { each(t, l) })
		list = append(list, more...)
		all(t, list)
		landed, short := 0, 0
		for _, l := range list {
			if l.End == fleet.LandingLanded {
				landed++
			}
			if l.End != fleet.LandingLanded || l.Left != "" {
				short++
			}
		}
		if failed == nil && short > 0 {
			failed = fmt.Errorf("%d of %d did not land, or not to the end", short, len(list))
		}
		if failed != nil && landed > 0 {
			return fmt.Errorf("%w: %w", failed, fleet.ErrPartly)
		}
		return failed
	})
}

// landSeen lands the work of a run, if it is still as somebody looked at it, and says what became of it.
func (a *app) landSeen(ctx context.Context, run fleet.RunID, tip string) (said string, err error) {
	each := func(t review.Target, l fleet.Landed) { said = landedLine(t, l) }
	err = a.land(ctx, []string{seen(run, tip)}, each, func(review.Target, []fleet.Landed) {})
	if err != nil && said != "" {
		err = fmt.Errorf("%s: %w", said, err)
	}
	return said, err
}

// rejectSeen rejects it.
func (a *app) rejectSeen(ctx context.Context, run fleet.RunID, tip, reason string) error {
	reason, err := fleet.ParseText("reason", reason)
	if err != nil {
		return err
	}
	return a.reject(ctx, []string{seen(run, tip)}, reason, func(review.Item) {})
}

// seen names the work of a run as it was at a commit; without one, as it is.
func seen(run fleet.RunID, tip string) string { return strings.TrimSuffix(string(run)+"@"+tip, "@") }

func landedLine(t review.Target, l fleet.Landed) string {
	line := fmt.Sprintf("%s %s", l.Run, l.End)
	if l.Commit != "" {
		line += fmt.Sprintf(" on %s as %.12s", t.Name, l.Commit)
	}
	if l.Reason != "" {
		line += ": " + l.Reason
	}
	if l.Left != "" {
		line += "; " + l.Left
	}
	return line
}
