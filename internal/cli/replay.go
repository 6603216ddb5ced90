package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"stint/internal/fleet"
	"stint/internal/inspect"
	"stint/internal/plain"
	"stint/internal/replay"
	"stint/internal/wire"
)

type replayOptions struct {
	fire    string // empty: a stretch of time
	since   spanValue
	changes setValue
}

func newReplay(a *app) *cobra.Command {
	var o replayOptions
	cmd := &cobra.Command{
		Use:   "replay FIRE | --since DURATION [--set KEY=VALUE]…",
		Short: "Rank recorded fires again, as they were or under other settings",
		Long: `With FIRE, rank and decide a recorded fire again from the inputs that were stored
with it, and compare: "identical", or every difference and status 1. A fire that
followed another selector's payload is decided by that payload; what stint would
have ranked is shown beside it.

With --since, rank the fires since then again under other settings, with the same
seeds, and say what would have changed: how often each category would have been picked, and the
mean grade of a session. The keys of --set are

  fanout.workers, fanout.slots, selector.v, selector.floor, selector.cap,
  selector.half_life, selector.slow_half_life, category.NAME.share

Beliefs, loads, the sessions in flight and the available categories stay as they were
recorded. Debts are carried on from the first of these fires as the other settings and
picks would have had them. A half-life acts on how the stored sums fade from a
category's last grade to the fire; sums that had faded before stay faded. selector.alarm
cannot be changed, because the stored sums depend on it.

The estimate weighs every graded session by how much likelier the other settings would
have started it (self-normalised importance weights, clipped at the square root of
their number). It says nothing of sessions that the fires had no chance to start, and
little where the effective number of sessions is small.

Nothing is written.`,
		Example: `  stint replay 12
  stint replay --since 7d --set fanout.workers=6
  stint replay --since 30d --set selector.floor=0.3 --set category.code.share=0.4`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.fire = strings.Join(args, "")
			return a.runReplay(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.Var(&o.since, "since", "rank the fires of the last `DURATION` again, such as 90m, 24h or 7d; 0: all of the record")
	f.Var(&o.changes, "set", "rank under this setting; may be repeated")
	return cmd
}

func (a *app) runReplay(ctx context.Context, o replayOptions) error {
	switch {
	case o.fire == "" && !o.since.given:
		return usage(errors.New("want the number of a fire, or --since"))
	case o.fire != "" && o.since.given:
		return usage(errors.New("want the number of a fire or --since, not both"))
	case o.fire == "":
		return a.replaySince(ctx, o)
	case len(o.changes.Texts) > 0:
		return usage(errors.New("--set goes with --since: a single fire is replayed as it was"))
	}
	id, err := strconv.ParseInt(o.fire, 10, 64)
	if err != nil || id < 1 {
		return usage(fmt.Errorf("fire %q: want a number of 1 or more", o.fire))
	}
	return a.replayFire(ctx, fleet.FireID(id))
}

func (a *app) replayFire(ctx context.Context, id fleet.FireID) error {
	return a.explain(ctx, func(e *inspect.Explainer) error {
		r, err := e.Replay(ctx, id)
		if errors.Is(err, fleet.ErrNotFound) {
			return fleet.WithHint(err, "stint status lists the last fires")
		}
		if err != nil {
			return err
		}
		if a.json {
			printJSON(a.Stdout, wire.NewReplay(r))
		} else {
			a.printReplay(r)
		}
		if n := len(r.Differences); n > 0 {
			return fmt.Errorf("replay fire %d: differences from the record: %d", id, n)
		}
		return nil
	})
}

func (a *app) printReplay(r replay.Result) {
	fmt.Fprintf(a.Stdout, "fire %d at %s, seed %d\n", r.Fire.ID, stamp(r.Fire.At), r.Fire.Seed)
	rows := [][]string{strings.Fields("- RANK SCORE ODDS CATEGORY STARTED REASON")}
	rows[0][0] = ""
	for _, c := range r.Choices {
		rows = append(rows, replayRow(c, r.Fire.Choice(c.Category)))
	}
	a.table(rows)
	if !r.Followed {
		fmt.Fprintf(a.Stdout, "it followed another selector's payload; stint would have ranked:\n")
		a.printRanking(r.Selection)
	}
	for _, d := range r.Differences {
		fmt.Fprintln(a.Stdout, plain.Text(fmt.Sprintf("differs: %s: recorded %s, replayed %s", d.Field, d.Recorded, d.Replayed)))
	}
	if len(r.Differences) == 0 {
		fmt.Fprintln(a.Stdout, "identical")
	}
}

// replayRow is a category's line: as decided again, and what the record says was started.
func replayRow(c, recorded fleet.Choice) []string {
	rank, score, odds, started := "-", "-", "-", "-"
	if c.Rank > 0 {
		rank = strconv.Itoa(c.Rank)
	}
	if c.Odds != nil {
		score, odds = fmt.Sprintf("%.3f", c.Score), fmt.Sprintf("%.2f", *c.Odds)
	}
	switch recorded.Decision {
	case fleet.Spawn:
		started = string(recorded.Run)
	case fleet.StartFailed:
		started = "failed"
	case fleet.Skip:
	}
	return []string{mark(c.Decision == fleet.Spawn), rank, score, odds, string(c.Category), started, c.Reason}
}

func (a *app) replaySince(ctx context.Context, o replayOptions) error {
	return a.withPast(ctx, func(e *inspect.Explainer) error {
		if err := a.noteEdge(ctx, e, o.since); err != nil {
			return err
		}
		w, err := e.ReplaySince(ctx, o.since.before(a.Now()), o.changes.Changes)
		if err != nil || a.asObject(wire.NewReplaySince(w, o.changes.Texts)) {
			return err
		}
		a.printWindow(w)
		return nil
	})
}

// mostChanges is how many fires are listed for a person.
const mostChanges = 20

func (a *app) printWindow(w replay.Window) {
	fmt.Fprintf(a.Stdout, "fires=%d changed=%d foreign=%d unreadable=%d\n", w.Fires, len(w.Changed), w.Foreign, w.Unreadable)
	rows := [][]string{strings.Fields("CATEGORY THEN NOW CHANGE")}
	for _, p := range w.Categories {
		rows = append(rows, []string{string(p.Category), strconv.Itoa(p.Then), strconv.Itoa(p.Now), fmt.Sprintf("%+d", p.Now-p.Then)})
	}
	a.table(rows)
	for _, c := range w.Changed[:min(mostChanges, len(w.Changed))] {
		fmt.Fprintf(a.Stdout, "fire %d:%s%s\n", c.Fire, each(" +", c.Start), each(" -", c.Leave))
	}
	if more := len(w.Changed) - mostChanges; more > 0 {
		fmt.Fprintf(a.Stdout, "and %d fires more: --json lists them all\n", more)
	}
	fmt.Fprintf(a.Stdout, "grade of a session: logged %s, estimated %s (± half of the 95 %% interval; %d graded sessions, %.1f effective)\n",
		plusMinus(w.Mean, w.MeanSE), plusMinus(w.Other, w.OtherSE), w.Sessions, w.Effective)
	for _, text := range w.Warnings() {
		fmt.Fprintf(leveled(a.Stderr, levelWarning), "stint: warning: %s\n", text)
	}
}

func each(sign string, list []fleet.Category) string {
	text := ""
	for _, c := range list {
		text += sign + string(c)
	}
	return text
}

// plusMinus shows a mean and half of its 95 % confidence interval, as simulate does.
func plusMinus(mean, se float64) string {
	switch {
	case math.IsNaN(mean):
		return "unknown"
	case math.IsNaN(se):
		return fmt.Sprintf("%.3f", mean)
	default:
		return fmt.Sprintf("%.3f ± %.3f", mean, replay.Half95*se)
	}
}
