package cli

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"stint/internal/inspect"
	"stint/internal/screen"
	"stint/internal/wire"
)

type statusOptions struct {
	last     int // below 0: as many as there is room for
	watch    bool
	interval time.Duration
	host     string
}

const (
	// lastShown are the runs of a pipe, and the runs and fires of an object.
	lastShown = 5
	// mostShown are the runs of a terminal, however high.
	mostShown = 20
)

func newStatus(a *app) *cobra.Command {
	o := statusOptions{last: -1, interval: 2 * time.Second}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the fleet on one screen",
		Long: `Show the fleet on one screen: when the timer fires next and what the last fire did,
what runs and for how long, the claims that people hold, what keeps sessions from
starting, tasks that wait for a person, the outcomes and grades of the last 24 hours, what
today's sessions used, and the last runs. Empty sections are omitted. Today's sums are
those of the budgets: a session that did not report its use counts with the mean of those
before; "stint report" leaves it out.

On a terminal lines are cut to the width, and the list of runs to the height unless --last
says how many to show. In a pipe nothing is cut.`,
		Example: `  stint status --watch
  stint status --json --last 1`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !o.watch && cmd.Flags().Changed("interval") {
				return usage(fmt.Errorf("--interval is for --watch"))
			}
			return a.runStatus(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.Var(numberFlag(&o.last, 0), "last", "show the last `N` runs; with --json, fires, too (default: as there is room for; 5 in a pipe)")
	f.StringVar(&o.host, "host", "", "of the runs, those on one `HOST`, see stint host list")
	f.BoolVar(&o.watch, "watch", false, "look again and again, until interrupted")
	f.Var(intervalFlag(&o.interval), "interval", "with --watch: the time between looks")
	return cmd
}

func (a *app) runStatus(ctx context.Context, o statusOptions) error {
	if o.watch {
		return unlessInterrupted(ctx, a.watchStatus(ctx, o))
	}
	return a.lookAt(ctx, o, func(e *inspect.Explainer, s inspect.Status) {
		switch {
		case a.json:
			printJSON(a.Stdout, wire.NewStatus(e.Config.Fleet, s))
		default:
			a.print(a.statusScreen(e, s, o.last, a.rows()))
		}
	})
}

func (a *app) watchStatus(ctx context.Context, o statusOptions) error {
	if a.json {
		return a.watchEvery(ctx, o, func(_ bool) error {
			return a.lookAt(ctx, o, func(e *inspect.Explainer, s inspect.Status) { printLine(a.Stdout, wire.NewStatus(e.Config.Fleet, s)) })
		})
	}
	_, inPlace := terminal(a.Stdout)
	inPlace = inPlace && a.Getenv("TERM") != "dumb"
	return a.watchEvery(ctx, o, func(first bool) error {
		return a.lookAt(ctx, o, func(e *inspect.Explainer, s inspect.Status) {
			switch {
			case inPlace:
				fmt.Fprint(a.Stdout, clearScreen)
			case !first:
				fmt.Fprintln(a.Stdout)
			}
			a.print(a.statusScreen(e, s, o.last, a.rows()))
		})
	})
}

// clearScreen has a terminal write from its first line on; "stint top" is the live screen.
const clearScreen = "\x1b[H\x1b[J"

// lookAt reads the fleet's status once, with a store that is opened for that: the next
// look finds what another command made.
func (a *app) lookAt(ctx context.Context, o statusOptions, show func(*inspect.Explainer, inspect.Status)) error {
	return a.explain(ctx, func(e *inspect.Explainer) error {
		last := o.last
		if last < 0 {
			last = lastShown
		}
		runs := last
		if !a.json {
			runs = max(last, mostShown) // some of them have not ended
		}
		// The last fire shows which gates are closed, even where no fires are shown.
		host, err := hostID(ctx, e, o.host)
		if err != nil {
			return err
		}
		s, err := e.Status(ctx, inspect.StatusOptions{Fires: max(last, 1), Runs: runs, Host: host})
		if err != nil {
			return err
		}
		s.Missing = a.missingPlaces(ctx, e.Config)
		at, err := a.places(e.Config).Tracking(ctx)
		if err != nil {
			e.Log.DebugContext(ctx, "what is not pushed is not known", slog.Any("err", err))
		}
		s.Ahead, s.Pull = at.Text, at.Fix
		if a.json {
			s.Fires = s.Fires[:min(last, len(s.Fires))]
		}
		show(e, s)
		return nil
	})
}

// statusScreen lays a status out. Rows are those of the terminal; 0: there is none.
func (a *app) statusScreen(e *inspect.Explainer, s inspect.Status, last, rows int) []string {
	if rows == 0 && last < 0 {
		last = lastShown
	}
	return a.glyphs(screen.Status(screen.StatusView{Status: s, Fleet: e.Config.Fleet, Rows: rows, Last: last}, a.style()))
}

// rows is how many lines a screen may have: one stays for the shell's next prompt.
func (a *app) rows() int {
	f, ok := terminal(a.Stdout)
	if !ok {
		return 0
	}
	_, rows, err := term.GetSize(f.Fd())
	if err != nil || rows < 2 {
		return 0
	}
	return rows - 1
}

// glyphs are lines as the terminal can show them: by its locale, it may know ASCII alone.
func (a *app) glyphs(lines []string) []string {
	if _, ok := terminal(a.Stdout); ok && !utf8Locale(a.Getenv) {
		return screen.ASCII(lines)
	}
	return lines
}

// watchEvery shows one status after the other.
func (a *app) watchEvery(ctx context.Context, o statusOptions, show func(first bool) error) error {
	tick := time.NewTicker(o.interval)
	defer tick.Stop()
	for first := true; ; first = false {
		if err := show(first); err != nil {
			return err
		}
		if a.outputFailed() {
			return nil // the end of the command reports it
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// outputFailed reports whether what goes to standard output is lost.
func (a *app) outputFailed() bool {
	out, ok := a.Stdout.(*output)
	return ok && out.err != nil
}
