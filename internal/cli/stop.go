package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stint/internal/claim"
	"stint/internal/engine"
	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	"stint/internal/plain"
)

func newStop(a *app) *cobra.Command {
	all := false
	cmd := a.dry(&cobra.Command{
		Use:   "stop (RUN|CATEGORY | --all)",
		Short: "End sessions in order, and wait until they have ended",
		Long: `End a run, all runs of a category, or all there are, and wait until they have ended: those
at work, those about to begin, and those that wait to follow another. An agent
gets SIGTERM and ten seconds; its run is recorded as cancelled, and claim and lane are
released. Unfinished work stays where it is. A session on another host is asked to end, and
hears it at its next heartbeat: stint does not wait for it.

Fires go on: "stint pause" keeps them from starting more.`,
		Example: `  stint stop code
  stint stop 01jd8wz4v0k3m7qa
  stint pause && stint stop --all`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return usage(errors.New("want a run, a category, or --all"))
			}
			return a.with(cmd.Context(), existing, func(f opened) error { return a.runStop(cmd.Context(), f, oneLine(args)) })
		},
	})
	cmd.Flags().BoolVar(&all, "all", false, "end every run of the fleet")
	return cmd
}

func (a *app) runStop(ctx context.Context, f opened, name string) error {
	if err := notMovedAway(ctx, f.Config); err != nil { // else what is at work is on no record
		return err
	}
	var run fleet.Run
	if _, category := f.Config.Categories[fleet.Category(name)]; name != "" && !category {
		r, err := resolveRun(ctx, f.Reader, name, "")
		if err != nil {
			return err
		}
		run, name = r, string(r.ID)
	}
	list, err := a.stopped(ctx, f, name)
	switch {
	case err != nil:
		return err
	case len(list) > 0:
		s, err := f.Store.Snapshot(ctx)
		paused := slices.ContainsFunc(inspect.PausesAt(s.Pauses, s.At), func(p fleet.Pause) bool {
			return p.Category == "" || p.Category == fleet.Category(name)
		})
		return cmp.Or(a.printStopped(list, name, paused), err)
	case run.ID != "":
		return fmt.Errorf("stop run %s: %w: it has ended as %s", run.ID, fleet.ErrNothing, run.Verdict.Outcome)
	}
	return fmt.Errorf("stop %s: %w: none of its sessions is at work or waits to begin", whole(fleet.Category(name)), fleet.ErrNothing)
}

// stopped are the runs that were ended, or with --dry-run would be.
func (a *app) stopped(ctx context.Context, f opened, name string) ([]engine.Stopped, error) {
	if !a.dryRun {
		return f.StopAll(ctx, name)
	}
	open, err := f.Open(ctx, name)
	return plain.Each(open, func(r fleet.Run) engine.Stopped { return engine.Stopped{Was: r, Run: r} }), err
}

func (a *app) printStopped(list []engine.Stopped, name string, paused bool) error {
	var (
		errs  []error
		asked int
	)
	for _, s := range list {
		switch {
		case !a.dryRun && s.Asked():
			asked++
		case s.Err != nil:
			errs = append(errs, s.Err)
		}
		if !a.json {
			fmt.Fprintln(a.Stdout, plain.Text(a.stoppedLine(s)))
		}
	}
	if !a.asObject(a.stopObject().JSON(list)) {
		fmt.Fprintf(a.Stdout, "%s=%d\n", a.did("stopped", "would_stop"), len(list)-len(errs)-asked)
	}
	if asked > 0 {
		a.hint(fmt.Sprintf("%d on other hosts end at their next heartbeat, in %s at most", asked, plain.Span(claim.MaxHeartbeat)))
	}
	if len(errs) > 0 {
		return fmt.Errorf("not ended: %d of %d; the first: %w", len(errs), len(list), errs[0])
	}
	if !paused && (name == "" || fleet.Category(name) == list[0].Was.Category) {
		a.hint(strings.TrimSpace("stint pause "+name) + " keeps fires from starting more")
	}
	return nil
}

func (a *app) stoppedLine(s engine.Stopped) string {
	was := s.Was.State(true, false, a.Now())
	subject := fmt.Sprintf("run %s (%s)", s.Was.ID, s.Was.Category)
	if s.Was.Task != "" {
		subject += fmt.Sprintf(" at %q", s.Was.Task)
	}
	switch {
	case a.dryRun:
		return fmt.Sprintf("would stop %s: %s", subject, was)
	case s.Asked():
		return fmt.Sprintf("asked %s to end, on another host", subject)
	case s.Err != nil:
		return fmt.Sprintf("not ended: %s: %s", subject, s.Err)
	case s.Was.StartedAt.IsZero():
		return fmt.Sprintf("kept %s from beginning: it was %s", subject, was)
	}
	return fmt.Sprintf("stopped %s after %s: %s", subject, plain.Span(s.Run.EndedAt.Sub(s.Run.StartedAt)), verdictText(s.Run.Verdict))
}
