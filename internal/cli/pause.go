package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stint/internal/engine"
	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/view"
)

func newPause(a *app) *cobra.Command {
	var (
		p      fleet.Pause
		length time.Duration
	)
	cmd := a.dry(&cobra.Command{
		Use:   "pause [CATEGORY]",
		Short: "Stop starting new sessions",
		Long: `Stop starting new sessions of a category, or of all without one. Sessions under way
continue and are listed; "stint stop" ends them. Sessions by hand still run. Waiting
follow-up sessions are also held back. Pausing again replaces the pause.`,
		Example: `  stint pause triage --for 8h --reason "the tracker is down"
  stint pause`,
		RunE: func(cmd *cobra.Command, args []string) error {
			p.Category, p.Reason = fleet.Category(oneLine(args)), strings.TrimPrefix(p.Reason+", by "+a.user(), ", ")
			until := "it is resumed"
			if length > 0 {
				p.Until = a.Now().Add(length)
				until = stamp(p.Until)
			}
			return a.with(cmd.Context(), writing, func(f opened) error {
				// Counted after: a fire that decided before may have started one until then.
				if err := f.Store.Pause(cmd.Context(), p); err != nil {
					return err
				}
				open, err := f.Open(cmd.Context(), string(p.Category))
				if err != nil {
					return err
				}
				running := len(plain.Kept(open, func(r fleet.Run) bool { return !r.Rests(a.Now()) })) // one that rests will find the pause
				a.sayLine(view.Pause(true, true, a.dryRun, running).JSON(p),
					fmt.Sprintf("%s %s until %s: %s", a.did("paused", "would pause"), whole(p.Category), until, p.Reason))
				if running > 0 {
					a.hint(fmt.Sprintf("what is under way goes on: %d; to end it: stint stop %s", running, cmp.Or(string(p.Category), "--all")))
				}
				return nil
			}, known(p.Category))
		},
	})
	cmd.Flags().Var(spanFlag(&length), "for", "end the pause after this `DURATION`, such as 90m, 24h or 7d (default: when it is resumed)")
	cmd.Flags().Var(textFlag(&p.Reason), "reason", "why: a line of `TEXT` for other people")
	return cmd
}

func newResume(a *app) *cobra.Command {
	return a.dry(&cobra.Command{
		Use:   "resume [CATEGORY]",
		Short: "End a pause and a back-off",
		Long: `End the pause of a category, its back-off, and the rests of its tasks after sessions
that did nothing. Without a category, end the pause of the whole fleet, every back-off and
rest, and the rests of agents after a usage limit or failures in a row. Pauses of single
categories stay.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			category := fleet.Category(oneLine(args))
			ended, stays, err := a.resume(cmd.Context(), category)
			if err != nil {
				return err
			}
			line := fmt.Sprintf("%s %s: %s", a.did("resumed", "would resume"), whole(category), strings.Join(ended, ", "))
			if len(ended) == 0 {
				line = whole(category) + " was not paused"
			}
			a.sayLine(view.Pause(false, len(ended) > 0, a.dryRun, 0).JSON(fleet.Pause{Category: category}), line)
			for _, p := range stays {
				end := strings.TrimSpace("stint resume " + string(p.Category))
				a.hint(fmt.Sprintf("%s stays paused: %s; to end it: %s", whole(p.Category), p.Reason, end))
			}
			return nil
		},
	})
}

// resume says what it ended, and which pauses still keep sessions of the category, or of any where
// it is the whole fleet, from starting.
func (a *app) resume(ctx context.Context, category fleet.Category) (ended []string, stays []fleet.Pause, err error) {
	err = a.with(ctx, existing|record, func(f opened) error {
		if !f.Recorded() {
			return nil
		}
		if ended, err = f.Store.Resume(ctx, category); err != nil {
			return err
		}
		s, err := f.Store.Snapshot(ctx)
		stays = plain.Kept(inspect.PausesAt(s.Pauses, s.At), func(p fleet.Pause) bool {
			return p.Category != category && (p.Category == "" || category == "")
		})
		return err
	}, known(category))
	return ended, stays, err
}

// known refuses a category that is not in the configuration.
func known(c fleet.Category) func(*engine.Engine) error {
	return func(e *engine.Engine) error { return knownCategory(e.Config, string(c)) }
}

// whole names what a pause is of.
func whole(c fleet.Category) string {
	if c == "" {
		return "the whole fleet"
	}
	return string(c)
}
