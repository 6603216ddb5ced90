package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/store"
)

type pauseOptions struct {
	length ttlValue
	reason textValue
	dryRun bool
}

func newPause(a *app) *cobra.Command {
	var o pauseOptions
	cmd := &cobra.Command{
		Use:   "pause [CATEGORY]",
		Short: "Keep fires from starting a category, or anything at all",
		Long: `Keep fires from starting sessions of a category, or of any without one. Sessions that
run are left alone, and a session by hand still runs. Pausing again replaces the pause.`,
		Example: `  stint pause triage --for 8h --reason "the tracker is down"
  stint pause`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runPause(cmd.Context(), args, o)
		},
	}
	cmd.Flags().Var(&o.length, "for", "end the pause after this `duration` (default: when it is resumed)")
	cmd.Flags().Var(&o.reason, "reason", "why, for those who ask (`text`)")
	addDryRun(cmd, &o.dryRun)
	return cmd
}

func newResume(a *app) *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "resume [CATEGORY]",
		Short: "End a pause, and the back-off of a category that found nothing to do",
		Long: `End the pause of a category, or of the whole fleet without one; pauses of single
categories then stay. With it ends the back-off of the category, or of all, after
sessions that did nothing.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runResume(cmd.Context(), args, dryRun)
		},
	}
	addDryRun(cmd, &dryRun)
	return cmd
}

// pauseObject is stint/pause@1.
type pauseObject struct {
	Schema   string         `json:"schema"`
	DryRun   bool           `json:"dry_run"`
	Category fleet.Category `json:"category"` // empty: the whole fleet
	Paused   bool           `json:"paused"`
	Changed  bool           `json:"changed"`
	Until    *string        `json:"until"` // null: until it is resumed
	Reason   string         `json:"reason"`
}

func (a *app) runPause(ctx context.Context, args []string, o pauseOptions) error {
	return a.onCategory(ctx, args, o.dryRun, func(s store.Store, c fleet.Category) error {
		p := fleet.Pause{Category: c, Reason: string(o.reason)}
		if p.Reason == "" {
			p.Reason = "by " + a.user()
		}
		if o.length > 0 {
			p.Until = a.Now().Add(time.Duration(o.length))
		}
		if err := s.Pause(ctx, p); err != nil {
			return err
		}
		until := "it is resumed"
		if !p.Until.IsZero() {
			until = stamp(p.Until)
		}
		a.printPause(pauseObject{
			DryRun: o.dryRun, Category: c, Paused: true, Changed: true, Until: orNull(p.Until), Reason: p.Reason,
		}, fmt.Sprintf("%s %s until %s: %s", did(o.dryRun, "paused", "would pause"), whole(c), until, p.Reason))
		return nil
	})
}

func (a *app) runResume(ctx context.Context, args []string, dryRun bool) error {
	return a.onCategory(ctx, args, dryRun, func(s store.Store, c fleet.Category) error {
		changed, err := s.Resume(ctx, c)
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%s %s", did(dryRun, "resumed", "would resume"), whole(c))
		if !changed {
			line = whole(c) + " was not paused"
		}
		a.printPause(pauseObject{DryRun: dryRun, Category: c, Changed: changed}, line)
		return nil
	})
}

// onCategory runs fn with the store and the category that the arguments name, or none.
func (a *app) onCategory(ctx context.Context, args []string, dryRun bool, fn func(store.Store, fleet.Category) error) error {
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	var category fleet.Category
	if len(args) > 0 {
		category = fleet.Category(args[0])
		if _, ok := c.Categories[category]; !ok {
			return fleet.WithHint(usage(fmt.Errorf("category %q is not in %s", category, c.Path)),
				fmt.Sprintf("the categories are %v", c.CategoryNames()))
		}
	}
	return a.withStoreOf(ctx, c, accessFor(dryRun), func(_ *config.Config, s store.Store) error {
		return fn(s, category)
	})
}

func (a *app) printPause(o pauseObject, line string) {
	if o.Schema = "stint/pause@1"; a.json {
		printJSON(a.Stdout, o)
		return
	}
	fmt.Fprintln(a.Stdout, plain(line))
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
