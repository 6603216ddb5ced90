package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"stint/internal/config"
	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/review"
	"stint/internal/screen"
	"stint/internal/survey"
	"stint/internal/view"
)

func newReview(a *app) *cobra.Command {
	var (
		all, landed bool
		since       time.Time
		limit       int
	)
	cmd := &cobra.Command{
		Use:   "review",
		Short: "List the work of sessions that waits for review",
		Long: `List the work of sessions that the target does not have, the most useful first: small and old
items, and those that share files with others. Items that conflict with the target come later. The
target is [review] target, or the branch that the workspace has checked out. The list is read from
git at each call. --landed lists the work that has landed, from the record, the latest first.

Last come the tasks in ready_for_review whose sessions have no branch: their work is in the
workspace itself. "stint task done" accepts it. To have it done again, write "state: todo" into
the task's file.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case landed:
				return a.runLanded(cmd.Context(), since, cmp.Or(limit, usualLimit))
			case limit > 0 || !since.IsZero():
				return usage(errors.New("--since and --limit are for --landed"))
			}
			return a.runReview(cmd.Context(), all)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&all, "all", false, "list branches, too, that the target has")
	f.BoolVar(&landed, "landed", false, "list what the target got")
	f.Var(pastFlag(&since, a.Now), "since", "with --landed: "+sinceUsage)
	f.VarP(countFlag(&limit), "limit", "n", "with --landed: list the last `N` (default 20)")
	cmd.MarkFlagsMutuallyExclusive("all", "landed")
	cmd.AddCommand(
		newReviewShow(a), newReviewDiff(a), newReviewCheckout(a), newReviewLand(a), newReviewReject(a), newReviewPublish(a),
		newReviewAway(a),
	)
	return cmd
}

func newReviewShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show RUN|CATEGORY",
		Short: "Print what a reviewer needs to know of a session's work",
		Long: `Print what a reviewer needs to know. Of the work: its state and the reason, branch and folder,
changes, conflicts, and the result of its check. Of the session: its end, the terms of its grade, its
use, its open questions and the end of its log. A category stands for its last session.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.reviewedItem(cmd.Context(), args[0], func(e opened, t review.Target, i review.Item) error {
				v := screen.ReviewView{Item: i, Target: t, At: a.Now()}
				var detail *inspect.RunDetail
				if i.Session.Category != "" {
					d, err := a.runDetail(cmd.Context(), e, i.Session.ID)
					if err != nil {
						return err
					}
					detail, v.Detail = &d, new(newRunView(d, a, e.Config.Agents[d.Agent].CLI))
					v.Questions = review.Questions(v.Detail.Log)
				}
				a.say(view.ReviewDetail(t, detail, v.Questions, v.At).JSON(i), func(s screen.Style) []string { return screen.Review(v, s) })
				return nil
			})
		},
	}
}

func newReviewDiff(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "diff RUN|CATEGORY",
		Short: "Show what a session changed",
		Long: `Show what a session changed since its branch left the target. A category stands for its last
session. Control characters are replaced, no program that the repository names is run, and at
most 16 MiB are shown. A terminal gets it through the pager that git has by $GIT_PAGER, by your
own core.pager or by $PAGER, or else through less, if there is one.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.reviewedItem(cmd.Context(), args[0], func(e opened, t review.Target, i review.Item) error {
				return a.reviewDiff(cmd.Context(), e.Config, t, i)
			})
		},
	}
}

// reviewedItem hands on the work of the session that a person means.
func (a *app) reviewedItem(ctx context.Context, name string, fn func(opened, review.Target, review.Item) error) error {
	return a.reviewed(ctx, func(e opened, t review.Target, items []review.Item) error {
		i, err := workOf(ctx, e.Reader, items, name)
		if err != nil {
			return err
		}
		return fn(e, t, i)
	})
}

// workOf is the work of the session that a person means, among items or in the target.
func workOf(ctx context.Context, f *survey.Reader, items []review.Item, name string) (review.Item, error) {
	run, at, err := itemOf(ctx, f, items, name)
	switch {
	case err != nil:
		return review.Item{}, err
	case at >= 0:
		return items[at], nil
	}
	i, landed, err := f.LandedItem(ctx, run)
	if err == nil && !landed {
		err = noBranch(ctx, f, run, "")
	}
	return i, err
}

// itemOf is the run that a person means, or that it went on with, and where its work is among items; below 0: nowhere.
func itemOf(ctx context.Context, f *survey.Reader, items []review.Item, name string) (run fleet.RunID, at int, err error) {
	ids := plain.Each(items, func(i review.Item) fleet.RunID { return i.Run })
	r, err := resolveRun(ctx, f, name, "", ids...)
	return r.Home(), slices.Index(ids, r.Home()), err
}

// maxDiff is more than anybody reads.
const maxDiff = 16 << 20

// reviewDiff prints what a session changed. The text is the session's: none of it may act on a
// terminal, and no program that the repository names may run.
func (a *app) reviewDiff(ctx context.Context, c *config.Config, t review.Target, i review.Item) error {
	text, cut, err := a.workDiff(ctx, c, t, i, maxDiff)
	if err != nil {
		return err
	}
	if a.json {
		printJSON(a.Stdout, view.ReviewDiff(t, text, cut).JSON(i))
		return nil
	}
	if err := a.page(ctx, c, plain.Text(text)); err != nil {
		return err
	}
	if cut {
		fmt.Fprintf(a.Stderr, "stint: the diff is cut after %s\n", plain.Bytes(int64(maxDiff)))
	}
	return nil
}

// workDiff returns a session's changes: since its branch left the target, or if that has the work, commit by commit as it
// got there. If that is not known, they are the session's own commits, which git may have removed.
func (a *app) workDiff(ctx context.Context, c *config.Config, t review.Target, i review.Item, limit int) (text string, cut bool, err error) {
	places, as := a.places(c), i.LandedAs()
	if as == "" {
		return places.Since(ctx, t.Tip, i.Tip, limit)
	}
	sources := [][]string{i.Session.Commits, {as}}
	if i.Decision.Base != "" {
		sources = [][]string{{i.Decision.Base + ".." + i.Decision.Commit}}
	}
	for _, revisions := range sources {
		if text, cut, err = places.Diff(ctx, revisions, limit); err != nil || text != "" {
			break
		}
	}
	if !a.json {
		text = fmt.Sprintf("%s is on %s as %s\n\n%s", i.Tip, t.Name, as, text)
	}
	return text, cut, err
}

// page prints a text, on a terminal through the operator's pager.
func (a *app) page(ctx context.Context, c *config.Config, text string) error {
	out, shown := terminal(a.Stdout)
	if !shown {
		fmt.Fprint(a.Stdout, text)
		return nil
	}
	pager, err := a.places(c).Pager(ctx)
	if err != nil {
		return err
	}
	pager = cmp.Or(a.Getenv("GIT_PAGER"), pager, a.Getenv("PAGER"), "if type less >/dev/null; then less; else cat; fi")
	cmd := exec.CommandContext(ctx, "sh", "-c", pager)
	cmd.Env = append([]string{"LESS=FRX"}, os.Environ()...) // a setting of the operator's own follows, and counts
	// The pager gets the terminal itself, which it asks for its size, and so a text without secrets.
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(a.secrets.masked([]byte(text))), out, a.Stderr
	if err := cmd.Run(); err != nil && !errors.Is(err, syscall.EPIPE) { // one that was left early does not read all of it
		return fmt.Errorf("page the diff: %w", err)
	}
	return nil
}

// reviewed hands on the work of sessions, in order.
func (a *app) reviewed(ctx context.Context, fn func(opened, review.Target, []review.Item) error) error {
	return a.with(ctx, reading|repository, func(f opened) error {
		t, items, err := f.Review(ctx)
		if err != nil {
			return err
		}
		return fn(f, t, items)
	})
}

// runLanded lists the work that the target got.
func (a *app) runLanded(ctx context.Context, since time.Time, limit int) error {
	return a.with(ctx, reading|record, func(f opened) error {
		list, err := f.Landed(ctx, limit)
		list = sinceOf(since, list, func(l review.Landed) time.Time { return l.At })
		return show(a, view.LandedList().JSON(list), view.Landed(), list, err, "nothing landed")
	})
}

func (a *app) runReview(ctx context.Context, all bool) error {
	return a.reviewed(ctx, func(e opened, t review.Target, items []review.Item) error {
		tasks, err := e.TasksInReview(ctx, items)
		left, lost := e.LeftBeside(ctx, items)
		err = errors.Join(err, lost)
		if err != nil {
			return err
		}
		if !all {
			items = slices.DeleteFunc(items, func(i review.Item) bool { return !i.Open() })
		}
		rows := append(slices.Clone(items), view.Beside(tasks)...)
		a.say(view.Review(t, tasks, left, a.Now()).JSON(items), func(s screen.Style) []string {
			s.Tall = true
			return view.Item().Table(rows, a.Now(), s)
		})
		if a.json {
			return nil
		}
		for _, run := range slices.Backward(slices.Sorted(maps.Keys(left))) {
			fmt.Fprintf(a.Stderr, "stint: run %s, without an item: %s\n", run, plain.Text(left[run]))
		}
		elsewhere, err := e.ReviewElsewhere(ctx)
		at, unasked := a.places(e.Config).Tracking(ctx)
		if err = errors.Join(err, unasked); at.Text != "" {
			fmt.Fprintf(a.Stderr, "stint: %s: %s\n", plain.Text(at.Text), plain.Text(at.Fix))
		}
		switch {
		case len(elsewhere) > 0:
			fmt.Fprintln(a.Stderr, "stint: in review on other hosts: "+strings.Join(elsewhere, ", "))
		case len(rows) == 0:
			fmt.Fprintln(a.Stderr, "stint: nothing waits for review")
		}
		return err
	})
}
