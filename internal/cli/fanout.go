package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"stint/internal/agent/session"
	"stint/internal/config"
	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/install"
	"stint/internal/plain"
	"stint/internal/rank"
	"stint/internal/screen"
	"stint/internal/systemd"
	"stint/internal/view"
)

// maxPayload bounds what is read of a selector's payload.
const maxPayload = 64 << 20

func newFanout(a *app) *cobra.Command {
	var (
		o     engine.FanoutOptions
		from  string
		force []string
		soon  bool
	)
	cmd := a.dry(&cobra.Command{
		Use:   "fanout",
		Short: "Fire once: rank the work and start the best as units",
		Long: `Fire once: rank the categories, start one transient systemd unit for each of the best
N, and record the fire with the reason for every category. A fire starts categories of one
pool only, within that pool's slots.

With --selector the ranking is another program's, in this order: selected.category,
diversity_alternatives[].category, alternatives[].category, all_scores (best first, above
0). A category that cannot start is skipped, whoever ranked it. --force overrides what a
person or time decided, for one fire.`,
		Example: `  stint fanout --dry-run
  stint fanout -n 2
  stint fanout --pool monitoring
  stint fanout --force code
  my-selector | stint fanout --selector -`,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if soon {
				return a.with(cmd.Context(), reading, func(f opened) error { return f.FireSoon(cmd.Context(), o.Pool) })
			}
			if o.Payload, err = a.readPayload(from); err != nil {
				return err
			}
			o.Forced = plain.Each(force, func(name string) fleet.Category { return fleet.Category(name) })
			return a.runFanout(cmd.Context(), o)
		},
	})
	f := cmd.Flags()
	f.VarP(countFlag(&o.Workers), "workers", "n", "start at most `N` (default the pool's workers, or fanout.workers, of the config)")
	f.StringVar(&o.Pool, "pool", config.DefaultPool, "start categories of this `POOL`")
	f.StringVar(&from, "selector", "", "follow the payload in `FILE`, or on standard input with -")
	f.StringSliceVar(&force, "force", nil, "start this `CATEGORY` first, paused, resting or not; never beyond a lane, a claim, a budget or a box")
	f.Var(seedFlag(&o.Seed), "seed", "seed of the draws, an unsigned 64-bit number (default: by chance)")
	f.BoolVar(&o.Detached, "exec", false, "run the workers as detached processes, without systemd and its limits")
	f.BoolVar(&soon, "soon", false, "have the timer's service fire within seconds, at most once in 30 s")
	f.Lookup("exec").Hidden = true // for tests and containers
	f.Lookup("soon").Hidden = true // for the units of init --watch
	return cmd
}

func (a *app) runFanout(ctx context.Context, o engine.FanoutOptions) (err error) {
	if o.Binary, err = install.Binary(); err != nil {
		return err
	}
	how := writing
	if o.DryRun = a.dryRun; o.DryRun {
		how = reading // a dry run decides without a store, too
	}
	check := func(e *engine.Engine) error {
		if _, err := e.Config.Pool(o.Pool); err != nil || o.Detached {
			return err
		}
		return usage(checkUnitPaths(o.Binary, e.Config.Path))
	}
	return a.with(ctx, how|repository, func(f opened) error {
		for _, text := range a.missingFolders(ctx, f.Config) {
			a.warn(text)
		}
		if !o.DryRun {
			a.trustFirst(ctx, f.Config)
		}
		switch {
		case o.DryRun:
		case o.Detached:
			o.Units = session.Detached{State: f.Config.State}
		default:
			m, err := systemd.Connect(ctx)
			if err != nil {
				return err
			}
			defer m.Close()
			o.Units = m
		}
		o.Workers = cmp.Or(o.Workers, f.Config.Pools[o.Pool].Workers)
		o.Extra = !o.DryRun && isExtra(ctx, f.Config.Fleet, o.Pool)
		r, err := f.Fanout(ctx, o)
		if r.Choices != nil || errors.Is(err, fleet.ErrNothing) {
			a.printFire(r)
			if o.DryRun && !a.json {
				timers, _ := f.Timers(ctx, []string{o.Pool}) // none: it says that they are not known
				a.prose("timer: %s", screen.TimerText(timers, a.Now(), a.style()))
			}
		}
		return err
	}, check)
}

// isExtra reports whether a fire comes between those of its pool's timer, by hand or by another unit: the timer waits, while it
// runs during fires of its own. Where no timer is active, every fire is of the schedule.
func isExtra(ctx context.Context, f fleet.Name, pool string) bool {
	list, err := install.Timers{Fleet: f}.Timers(ctx, []string{pool})
	return err == nil && list[0].Active && !list[0].Firing
}

// readPayload reads another selector's ranking; nil means stint's own.
func (a *app) readPayload(from string) ([]byte, error) {
	in := a.Stdin
	switch from {
	case "":
		return nil, nil
	case "-":
	default:
		f, err := os.Open(from)
		if err != nil {
			return nil, usage(fmt.Errorf("--selector: %w", err))
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxPayload+1))
	switch {
	case err != nil:
		return nil, usage(fmt.Errorf("--selector %s: %w", from, err))
	case len(data) > maxPayload:
		return nil, usage(fmt.Errorf("--selector %s: more than %d bytes", from, maxPayload))
	case len(data) == 0:
		return nil, usage(fmt.Errorf("--selector %s: not JSON: it is empty", from))
	}
	// A payload that cannot be followed is refused before a store is opened for it.
	_, err = rank.ParsePayload(data)
	return data, err
}

func (a *app) printFire(r engine.FireReport) {
	var terms map[string]rank.Explain
	if r.Ranking != nil {
		terms = r.Ranking.Payload().Explain
	}
	if a.asObject(view.FireUnderWay(r.DryRun, r.Tier, terms).JSON(r.Fire)) {
		return
	}
	for _, c := range r.Choices {
		if r.Ranking != nil {
			c.Source = "" // the names of stint's own payload
		}
		a.prose("%s", choiceLine(c, r.DryRun))
	}
	counts := fmt.Sprintf("spawned=%d skipped=%d", r.Count(fleet.Spawn), r.Count(fleet.Skip))
	if failed := r.Count(fleet.StartFailed); failed > 0 {
		counts += fmt.Sprintf(" failed=%d", failed)
	}
	fmt.Fprintln(a.Stdout, counts)
}

// choiceLine is one category's line of a fire.
func choiceLine(c fleet.Choice, dryRun bool) string {
	source := ""
	if c.Source != "" {
		source = fmt.Sprintf(" [%s]", c.Source)
	}
	switch {
	case c.Decision == fleet.Spawn && dryRun:
		return fmt.Sprintf("would spawn %s: %s%s", c.Category, c.Reason, source)
	case c.Decision == fleet.Spawn && c.Unit == "":
		return fmt.Sprintf("spawned %s as run %s: %s%s", c.Category, c.Run, c.Reason, source)
	case c.Decision == fleet.Spawn:
		return fmt.Sprintf("spawned %s as %s: %s%s", c.Category, c.Unit, c.Reason, source)
	case c.Decision == fleet.StartFailed:
		return fmt.Sprintf("failed %s: %s%s", c.Category, c.Reason, source)
	default:
		return fmt.Sprintf("skipped %s: %s%s", c.Category, c.Reason, source)
	}
}
