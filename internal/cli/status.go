package cli

import (
	"context"
	"log/slog"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"stint/internal/explain/inspect"
	"stint/internal/screen"
	"stint/internal/view"
)

const (
	// lastShown are the runs of a pipe, and the runs and fires of an object.
	lastShown = 5
	// maxShown are the runs of a terminal, however high.
	maxShown = 20
)

func newStatus(a *app) *cobra.Command {
	asked := -1 // below 0: as many as there is room for
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the fleet on one screen",
		Long: `Show the fleet on one screen: the next and the last fire, what runs, what keeps sessions from
starting, tasks that wait for a person, the grades of the last 24 hours, what today's sessions
used, the last runs, and last the command by which you free the most categories. Empty
sections are omitted. A session that did not report its use
counts with the mean of those before; "stint report" leaves it out.

On a terminal lines are cut to the width, and the list of runs to the height. In a pipe
nothing is cut.`,
		Example: `  watch -c stint status
  stint status --json --last 1`,
		RunE: a.open(reading, func(ctx context.Context, f opened, _ []string) error {
			last := asked
			if last < 0 {
				last = lastShown
			}
			runs := last
			if !a.json {
				runs = max(last, maxShown) // some of them have not ended
			}
			// The last fire shows which gates are closed, even where no fires are shown.
			s, err := f.Status(ctx, inspect.StatusOptions{Fires: max(last, 1), Runs: runs})
			if err != nil {
				return err
			}
			s.Missing = a.missingPlaces(ctx, f.Config)
			at, err := a.places(f.Config).Tracking(ctx)
			if err != nil {
				f.Log.DebugContext(ctx, "what is not pushed is not known", slog.Any("err", err))
			}
			s.Ahead, s.Pull = at.Text, at.Fix
			if a.json {
				s.Fires = s.Fires[:min(last, len(s.Fires))]
			}
			a.say(view.Status(f.Config.Fleet).JSON(s), func(style screen.Style) []string {
				v := screen.StatusView{Status: s, Fleet: f.Config.Fleet, Rows: a.rows(), Last: asked}
				if v.Rows == 0 {
					v.Last = last
				}
				v.HostTable = func(style screen.Style) []string { return view.Host().Table(s.Hosts, s.At, style) }
				return screen.Status(v, style)
			})
			return nil
		}),
	}
	cmd.Flags().Var(numberFlag(&asked, 0), "last", "show the last `N` runs, and with --json also fires (default: as many as fit; 5 in a pipe)")
	return cmd
}

// rows returns the number of lines for a screen: one stays for the shell's next prompt.
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

// outputFailed reports whether what goes to standard output is lost.
func (a *app) outputFailed() bool {
	out, ok := a.Stdout.(*output)
	return ok && out.err != nil
}
