package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/inspect"
	"stint/internal/plain"
	"stint/internal/view"
)

type pauseOptions struct {
	length time.Duration
	reason string
	dryRun bool
}

func newPause(a *app) *cobra.Command {
	var o pauseOptions
	cmd := &cobra.Command{
		Use:   "pause [CATEGORY]",
		Short: "Stop starting new sessions",
		Long: `Stop starting new sessions of a category, or of all without one. Sessions under way
continue and are listed; "stint stop" ends them. Sessions by hand still run. Follow-up
sessions that are waiting are held back, too. Pausing again replaces the pause.`,
		Example: `  stint pause triage --for 8h --reason "the tracker is down"
  stint pause`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runPause(cmd.Context(), args, o)
		},
	}
	cmd.Flags().Var(spanFlag(&o.length), "for", "end the pause after this `DURATION`, such as 90m, 24h or 7d (default: when it is resumed)")
	cmd.Flags().Var(textFlag(&o.reason), "reason", "why: a line of `TEXT` for other people")
	addDryRun(cmd, &o.dryRun)
	return cmd
}

func newResume(a *app) *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "resume [CATEGORY]",
		Short: "End a pause and a back-off",
		Long: `End the pause of a category, its back-off, and the rests of its tasks after sessions
that did nothing. Without a category, end the pause of the whole fleet, every back-off and
rest, and the rests of agents after a usage limit or failures in a row. Pauses of single
categories stay.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runResume(cmd.Context(), args, dryRun)
		},
	}
	addDryRun(cmd, &dryRun)
	return cmd
}

func (a *app) runPause(ctx context.Context, args []string, o pauseOptions) error {
	category := fleet.Category(oneLine(args))
	p := fleet.Pause{Category: category, Reason: cmp.Or(o.reason, "by "+a.user())}
	until := "it is resumed"
	if o.length > 0 {
		p.Until = a.Now().Add(o.length)
		until = stamp(p.Until)
	}
	running := 0
	err := a.withEngine(ctx, accessFor(o.dryRun), known(category), func(e *engine.Engine) error {
		// Counted after: a fire that decided before may have started one until then.
		if err := e.Store.Pause(ctx, p); err != nil {
			return err
		}
		open, err := e.Open(ctx, string(category))
		for _, r := range open {
			if !r.Rests(a.Now()) { // one that rests will find the pause
				running++
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	a.sayLine(view.Pause(true, true, o.dryRun, running).JSON(p), fmt.Sprintf("%s %s until %s: %s", did(o.dryRun, "paused", "would pause"), whole(category), until, p.Reason))
	if running > 0 {
		a.hint(fmt.Sprintf("what is under way goes on: %d; to end it: stint stop %s", running, cmp.Or(string(category), "--all")))
	}
	return nil
}

func (a *app) runResume(ctx context.Context, args []string, dryRun bool) error {
	category := fleet.Category(oneLine(args))
	ended, stays, err := a.resume(ctx, category, dryRun)
	if err != nil {
		return err
	}
	line := fmt.Sprintf("%s %s: %s", did(dryRun, "resumed", "would resume"), whole(category), strings.Join(ended, ", "))
	if len(ended) == 0 {
		line = whole(category) + " was not paused"
	}
	a.sayLine(view.Pause(false, len(ended) > 0, dryRun, 0).JSON(fleet.Pause{Category: category}), line)
	for _, p := range stays {
		end := strings.TrimSpace("stint resume " + string(p.Category))
		a.hint(fmt.Sprintf("%s stays paused: %s; to end it: %s", whole(p.Category), p.Reason, end))
	}
	return nil
}

// resume says what it ended, and which pauses still keep sessions of the category, or of any where
// it is the whole fleet, from starting.
func (a *app) resume(ctx context.Context, category fleet.Category, dryRun bool) (ended []string, stays []fleet.Pause, err error) {
	err = a.withEngine(ctx, existing|accessFor(dryRun), known(category), func(e *engine.Engine) error {
		if !e.Recorded() {
			a.nothingYet()
			return nil
		}
		if ended, err = e.Store.Resume(ctx, category); err != nil {
			return err
		}
		s, err := e.Store.Snapshot(ctx)
		stays = plain.Kept(inspect.PausesAt(s.Pauses, s.At), func(p fleet.Pause) bool {
			return p.Category != category && (p.Category == "" || category == "")
		})
		return err
	})
	return ended, stays, err
}

// known refuses a category that is not in the configuration.
func known(c fleet.Category) func(*engine.Engine) error {
	return func(e *engine.Engine) error { return knownCategory(e.Config, string(c)) }
}

func did(dryRun bool, done, would string) string {
	if dryRun {
		return would
	}
	return done
}

// whole names what a pause is of.
func whole(c fleet.Category) string {
	if c == "" {
		return "the whole fleet"
	}
	return string(c)
}
