package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"stint/internal/agent/preset"
	"stint/internal/agent/rundir"
	"stint/internal/agent/transcript"
	"stint/internal/config"
	"stint/internal/doctor"
	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	"stint/internal/review"
	"stint/internal/top"
)

func newTop(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "top",
		Short: "Watch the fleet live, pause it, stop runs and read their logs",
		Long: `Show what "stint status" shows, live: lanes, the latest runs, the work that waits for review,
and the end of a run's log. Idle lanes share a line. Keys pause and resume categories, stop a
run, filter the runs, open one with its log, and show the changes of work, land it or reject
it. The key ? lists them. Nothing changes before you confirm it.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runTop(cmd.Context())
		},
	}
}

func (a *app) runTop(ctx context.Context) error {
	in, out, err := a.keyboard()
	if err != nil {
		return err
	}
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	work, cancel := context.WithCancel(ctx)
	defer cancel() // a look that is under way when the operator quits
	t := topScreen{a}
	err = top.Run(ctx, top.Options{
		Fleet: c.Fleet, Interval: time.Second, Colour: a.style().Colour, Now: a.Now,
		Read: func() (top.Snapshot, error) { return t.read(work) },
		Log: func(run fleet.Run) (top.Log, error) {
			l, err := readLogEnd(fleet.FilesOf(c.State, run.ID).Log, c.Agents[run.Agent].CLI)
			l.Text = string(a.secrets.masked([]byte(l.Text))) // it goes past standard output
			return l, err
		},
		Review: func() (review.Target, []review.Item, error) { return t.review(work) },
		Diff:   func(run fleet.RunID, in io.Reader, out io.Writer) error { return t.diff(work, c, run, in, out) },
		Land: func(run fleet.RunID, tip string) (string, error) {
			a, _ := t.quiet()
			return a.landSeen(work, run, tip)
		},
		Reject: func(run fleet.RunID, tip, reason string) error {
			a, _ := t.quiet()
			return a.rejectSeen(work, run, tip, reason)
		},
		Pause:  func(category fleet.Category) error { return t.pause(work, category) },
		Resume: func(category fleet.Category) error { return t.resume(work, category) },
		Stop:   func(run fleet.RunID) (fleet.Run, error) { return t.stop(work, run) },
	}, in, out)
	if ctx.Err() != nil {
		return reported{context.Cause(ctx)} // the exit status says it
	}
	return err
}

// keyboard is the terminal to draw on and to read keys from.
func (a *app) keyboard() (in, out *os.File, err error) {
	const hint = "stint status"
	if a.json {
		return nil, nil, fleet.WithHint(usage(errors.New("top prints no JSON")), hint+" --json")
	}
	out, screen := terminal(a.Stdout)
	in, isFile := a.Stdin.(*os.File)
	switch {
	case !screen, !isFile, !term.IsTerminal(in.Fd()):
		return nil, nil, fleet.WithHint(usage(errors.New("top needs a terminal to draw on, and its keyboard")), hint)
	case a.Getenv("TERM") == "", a.Getenv("TERM") == "dumb":
		return nil, nil, fleet.WithHint(usage(fmt.Errorf("top needs a terminal that can move its cursor; $TERM is %q", a.Getenv("TERM"))), hint)
	}
	return in, out, nil
}

// topScreen does what the live screen asks for. Each time, configuration and store are
// opened anew: the screen may be up for days, and they be replaced.
type topScreen struct{ *app }

// quiet is the app with what it would say on standard error, which must not be written
// over the screen, collected instead.
func (t topScreen) quiet() (*app, *said) {
	s := &said{}
	a := *t.app
	a.Stderr, a.log = s, slog.New(stderrHandler{slog.DiscardHandler, s})
	return &a, s
}

// said has what was written, each line once.
type said struct {
	mu   sync.Mutex
	list []string
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for text := range strings.Lines(string(p)) {
		text = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(text), "stint: "), "warning: ")
		if !slices.Contains(s.list, text) {
			s.list = append(s.list, text)
		}
	}
	return len(p), nil
}

func (t topScreen) read(ctx context.Context) (l top.Snapshot, err error) {
	a, said := t.quiet()
	err = a.with(ctx, reading, func(e opened) error {
		if l.Status, err = e.Status(ctx, inspect.StatusOptions{Fires: 1, Runs: latestRuns}); err != nil {
			return err
		}
		l.ReadOnly = unwritable(e.Config.State)
		return nil
	})
	l.Warnings = said.list
	return l, err
}

// review is the work that waits for review.
func (t topScreen) review(ctx context.Context) (target review.Target, open []review.Item, err error) {
	a, _ := t.quiet()
	err = a.reviewed(ctx, func(_ opened, at review.Target, items []review.Item) error {
		target, open = at, slices.DeleteFunc(items, func(i review.Item) bool { return !i.Open() })
		return nil
	})
	return target, open, err
}

// diff has this program show through the operator's pager what a run changed. A change that fits
// the screen stays there, too, until the operator has read it.
func (t topScreen) diff(ctx context.Context, c *config.Config, run fleet.RunID, in io.Reader, out io.Writer) error {
	var said strings.Builder
	cmd := exec.CommandContext(ctx, "/proc/self/exe", "--config", c.Path, "review", "diff", string(run))
	cmd.Args[0] = os.Args[0]
	cmd.Env = append([]string{"LESS=RX"}, os.Environ()...) // a setting of the operator's own follows, and counts
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, &said
	if err := cmd.Run(); err != nil {
		return errors.New(strings.TrimSpace(said.String()))
	}
	return nil
}

// latestRuns bounds the latest runs that are listed, and searched for the last one
// of a category without one in the timeline.
const latestRuns = 200

// unwritable says why nothing can be written to a state folder that may not be there yet,
// or "".
func unwritable(dir string) string {
	const writable = 2 // W_OK of access(2)
	at := doctor.ExistingPath(dir)
	if err := syscall.Access(at, writable); err != nil {
		return fmt.Sprintf("%s: %v", at, err)
	}
	return ""
}

func (t topScreen) pause(ctx context.Context, category fleet.Category) error {
	a, _ := t.quiet()
	return a.with(ctx, writing, func(f opened) error {
		return f.Store.Pause(ctx, fleet.Pause{Category: category, Reason: "by " + a.user()})
	})
}

func (t topScreen) resume(ctx context.Context, category fleet.Category) error {
	a, _ := t.quiet()
	_, _, err := a.resume(ctx, category)
	return err
}

func (t topScreen) stop(ctx context.Context, run fleet.RunID) (r fleet.Run, err error) {
	a, _ := t.quiet()
	err = a.with(ctx, writing, func(e opened) error {
		r, err = e.Stop(ctx, run)
		return err
	})
	return r, err
}

// maxOfLog bounds the end of a log that is shown, in bytes. It is read every second.
const maxOfLog = 256 << 10

// readLogEnd reads the end of a log from the first whole line on. Without a log it is empty.
func readLogEnd(path string, f preset.CLI) (l top.Log, err error) {
	if info, err := os.Lstat(path); err == nil {
		l.Size = info.Size()
	}
	l.Text, err = rundir.Last(path, maxOfLog)
	if _, rest, found := strings.Cut(l.Text, "\n"); found && l.Size > maxOfLog {
		l.Text = rest
	}
	l.Read, l.Text = int64(len(l.Text)), transcript.ReadableText(f, l.Text)
	return l, err
}
