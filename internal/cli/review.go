package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/inspect"
	"stint/internal/plain"
	"stint/internal/review"
	"stint/internal/wire"
)

func newReview(a *app) *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use:   "review",
		Short: "List the work of sessions that waits for review",
		Long: `List the work of sessions in worktrees of their own that the target branch does not have,
in the order in which the next minutes free most: small and old items first, and those that
share files with others; an item that conflicts with the target later.

The target is [review] target, or the branch that the workspace has checked out. Work that was
merged, rebased, squashed or cherry-picked is recognized by its commits or by what they
change, and work that was reverted is listed again. The list is read from git at each call.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runReview(cmd.Context(), all) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "list branches, too, that the target has")
	cmd.AddCommand(
		newReviewDiff(a), newReviewCheckout(a), newReviewLand(a), newReviewReject(a), newReviewPublish(a),
		newReviewAway(a), newReviewBack(a),
	)
	return cmd
}

func newReviewDiff(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "diff RUN|CATEGORY",
		Short: "Show what a session changed",
		Long: `Show what a session changed since its branch left the target. A category stands for its last
session. Control characters are replaced, no program that the repository names for diffs is run,
and at most 16 MiB are shown. To read page by page, pipe it to a pager.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.reviewed(cmd.Context(), func(e *inspect.Explainer, t review.Target, items []review.Item) error {
				run := fleet.RunID(args[0])
				if _, category := e.Config.Categories[fleet.Category(args[0])]; category {
					r, err := e.ResolveRun(cmd.Context(), args[0])
					if err != nil {
						return err
					}
					run = r.ID
				}
				at := slices.IndexFunc(items, func(i review.Item) bool { return i.Run == run })
				if at < 0 {
					return fleet.WithHint(fmt.Errorf("no branch of run %q: %w", run, fleet.ErrNotFound), "stint review --all")
				}
				return a.reviewDiff(cmd.Context(), e.Config, t.Tip, items[at].Tip)
			})
		},
	}
}

// maxDiff is more than anybody reads.
const maxDiff = 16 << 20

// reviewDiff prints what a session changed. The text is the session's: none of it may act on a
// terminal, and no program that the repository names may run.
func (a *app) reviewDiff(ctx context.Context, c *config.Config, target, tip string) error {
	text, cut, err := a.places(c).Since(ctx, target, tip, maxDiff)
	if err != nil {
		return err
	}
	fmt.Fprint(a.Stdout, plain.Text(text))
	if cut {
		fmt.Fprintf(a.Stderr, "stint: the diff is cut after %s\n", plain.Bytes(int64(maxDiff)))
	}
	return nil
}

// reviewed hands on the work of sessions, in order.
func (a *app) reviewed(ctx context.Context, fn func(*inspect.Explainer, review.Target, []review.Item) error) error {
	return a.explain(ctx, func(e *inspect.Explainer) error {
		t, items, err := e.Review(ctx)
		if err != nil {
			return err
		}
		return fn(e, t, items)
	})
}

func (a *app) runReview(ctx context.Context, all bool) error {
	return a.reviewed(ctx, func(_ *inspect.Explainer, t review.Target, items []review.Item) error {
		if !all {
			items = slices.DeleteFunc(items, func(i review.Item) bool { return !i.Open() })
		}
		if a.json {
			printJSON(a.Stdout, wire.NewReview(t, items, a.Now()))
			return nil
		}
		if len(items) == 0 {
			fmt.Fprintln(a.Stderr, "stint: nothing waits for review")
			return nil
		}
		rows := [][]string{fields("RUN CATEGORY TASK GRADE AGE FILES LINES STATE WHY")}
		for _, i := range items {
			rows = append(rows, a.reviewRow(i))
		}
		a.table(rows)
		return nil
	})
}

func (a *app) reviewRow(i review.Item) []string {
	dash := func(text string) string {
		if text == "" {
			return "-"
		}
		return text
	}
	grade := "-"
	if g := i.Session.Verdict.Grade; g != nil {
		grade = fmt.Sprintf("%.2f", *g)
	}
	return []string{
		string(i.Run), dash(string(i.Session.Category)), dash(string(i.Session.Task)), grade, plain.Span(a.Now().Sub(i.Since)),
		strconv.Itoa(len(i.Files)), strconv.Itoa(i.Lines), string(i.State), dash(i.Why),
	}
}
