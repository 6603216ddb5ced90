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
	"stint/internal/selector"
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
			printJSON(a.Stdout, newReplayObject(r))
		} else {
			a.printReplay(r)
		}
		if n := len(r.Differences); n > 0 {
			return fmt.Errorf("replay fire %d: differences from the record: %d", id, n)
		}
		return nil
	})
}

// replayObject is stint/replay@1.
type replayObject struct {
	Schema      string             `json:"schema"`
	Fire        fleet.FireID       `json:"fire"`
	At          string             `json:"at"`
	Seed        string             `json:"seed"`
	Identical   bool               `json:"identical"`
	Followed    string             `json:"followed"` // "stint", or "other" for another selector's payload
	Differences []differenceObject `json:"differences"`
	Categories  []wire.Choice      `json:"categories"` // decided again; unit and run are the record's
	Selection   selector.Payload   `json:"selection"`  // ranked again
}

type differenceObject struct {
	Field    string `json:"field"`
	Recorded string `json:"recorded"`
	Replayed string `json:"replayed"`
}

func newReplayObject(r replay.Result) replayObject {
	o := replayObject{
		Schema: "stint/replay@1", Fire: r.Fire.ID, At: stamp(r.Fire.At), Seed: strconv.FormatUint(r.Fire.Seed, 10),
		Identical: len(r.Differences) == 0, Followed: "other", Differences: []differenceObject{},
		Categories: []wire.Choice{}, Selection: r.Selection.Payload(),
	}
	if r.Followed {
		o.Followed = "stint"
	}
	for _, d := range r.Differences {
		o.Differences = append(o.Differences, differenceObject(d))
	}
	for _, c := range r.Choices {
		recorded := recordedChoice(r.Fire, c.Category)
		c.Unit, c.Run = recorded.Unit, recorded.Run
		o.Categories = append(o.Categories, wire.Choice(c))
	}
	return o
}

// recordedChoice is what the fire recorded of a category, if anything.
func recordedChoice(f fleet.Fire, c fleet.Category) fleet.Choice {
	for _, choice := range f.Choices {
		if choice.Category == c {
			return choice
		}
	}
	return fleet.Choice{}
}

func (a *app) printReplay(r replay.Result) {
	fmt.Fprintf(a.Stdout, "fire %d at %s, seed %d\n", r.Fire.ID, stamp(r.Fire.At), r.Fire.Seed)
	rows := [][]string{fields("- RANK SCORE ODDS CATEGORY STARTED REASON")}
	rows[0][0] = ""
	for _, c := range r.Choices {
		rows = append(rows, replayRow(c, recordedChoice(r.Fire, c.Category)))
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
		w, err := e.ReplaySince(ctx, o.since.before(a.Now()), o.changes.Changes)
		if err != nil {
			return err
		}
		if a.json {
			printJSON(a.Stdout, newWindowObject(w, o.changes.Texts))
			return nil
		}
		a.printWindow(w)
		return nil
	})
}

// windowObject is stint/replay-since@1.
type windowObject struct {
	Schema     string         `json:"schema"`
	Set        []string       `json:"set"`
	Fires      int            `json:"fires"`
	Foreign    int            `json:"foreign"`    // left out: another selector's payload
	Unreadable int            `json:"unreadable"` // left out: another format
	Changed    []changeObject `json:"changed"`
	Categories []picksObject  `json:"categories"`
	Estimate   worthObject    `json:"estimate"`
}

type changeObject struct {
	Fire fleet.FireID     `json:"fire"`
	At   string           `json:"at"`
	Then []fleet.Category `json:"then"`
	Now  []fleet.Category `json:"now"`
}

type picksObject struct {
	Category fleet.Category `json:"category"`
	Then     int            `json:"then"`
	Now      int            `json:"now"`
}

// worthObject is of the mean grade of a graded session; null: not known.
type worthObject struct {
	Sessions  int      `json:"sessions"`
	Logged    *float64 `json:"logged"`
	LoggedCI  *float64 `json:"logged_ci95"` // half of the 95 % confidence interval
	Estimate  *float64 `json:"estimate"`
	CI        *float64 `json:"ci95"`
	Effective float64  `json:"effective_sessions"`
	Clip      float64  `json:"clip"`
	Clipped   int      `json:"clipped"`
	Uncovered float64  `json:"uncovered"`
	Warnings  []string `json:"warnings"`
}

func newWindowObject(w replay.Window, set []string) windowObject {
	o := windowObject{
		Schema: "stint/replay-since@1", Set: append([]string{}, set...), Fires: w.Fires, Foreign: w.Foreign,
		Unreadable: w.Unreadable, Changed: []changeObject{}, Categories: []picksObject{},
		Estimate: worthObject{
			Sessions: w.Sessions, Logged: known(w.Mean), LoggedCI: known(half95 * w.MeanSE), Estimate: known(w.Other), CI: known(half95 * w.OtherSE),
			Effective: w.Effective, Clip: w.Clip, Clipped: w.Clipped, Uncovered: w.Uncovered, Warnings: warnings(w),
		},
	}
	for _, c := range w.Changed {
		o.Changed = append(o.Changed, changeObject{c.Fire, stamp(c.At), append([]fleet.Category{}, c.Then...), append([]fleet.Category{}, c.Now...)})
	}
	for _, p := range w.Categories {
		o.Categories = append(o.Categories, picksObject(p))
	}
	return o
}

// known gives JSON a null for what is not.
func known(x float64) *float64 {
	if math.IsNaN(x) {
		return nil
	}
	return &x
}

// shownUncovered is the least part of the sessions worth a warning.
const shownUncovered = 0.01

// warnings say why not to trust an estimate.
func warnings(w replay.Window) []string {
	list := []string{}
	if w.Few() {
		list = append(list, fmt.Sprintf("the estimate rests on %.1f effective sessions: too few to go by", w.Effective))
	}
	if w.Clipped > 0 {
		list = append(list, fmt.Sprintf("%d weights were clipped at %.1f: the estimate is drawn towards the logged mean", w.Clipped, w.Clip))
	}
	if w.Uncovered >= shownUncovered {
		list = append(list, fmt.Sprintf("%.0f%% of the sessions under these settings had no chance in the record: the estimate is of the others", 100*w.Uncovered))
	}
	return list
}

// mostChanges is how many fires are listed for a person.
const mostChanges = 20

func (a *app) printWindow(w replay.Window) {
	fmt.Fprintf(a.Stdout, "fires=%d changed=%d foreign=%d unreadable=%d\n", w.Fires, len(w.Changed), w.Foreign, w.Unreadable)
	rows := [][]string{fields("CATEGORY THEN NOW CHANGE")}
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
	for _, text := range warnings(w) {
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

// half95 is how many standard errors half of a 95 % confidence interval is.
const half95 = 1.96

// plusMinus shows a mean and half of its 95 % confidence interval, as simulate does.
func plusMinus(mean, se float64) string {
	switch {
	case math.IsNaN(mean):
		return "unknown"
	case math.IsNaN(se):
		return fmt.Sprintf("%.3f", mean)
	default:
		return fmt.Sprintf("%.3f ± %.3f", mean, half95*se)
	}
}
