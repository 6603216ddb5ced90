package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"stint/internal/config"
	"stint/internal/doctor"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/screen"
	"stint/internal/wire"
)

type doctorOptions struct {
	fix    bool
	dryRun bool
}

func newDoctor(a *app) *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the fleet for problems, and print a fix for each",
		Long: `Check everything a fleet depends on: the configuration, the service manager, timers and
unit files, the state folder, the store and what is recorded in it, agents and their logins,
the programs of other commands, the workspace, tasks, the clock, disk space. Each finding says
what is wrong, why it matters, and the command that fixes it. A problem is status 1, a warning
is not.

--fix fixes what needs no person, and then checks again: lingering, the mode of the state
folder, runs whose session is gone, unit files, and timers that are enabled and do not run.`,
		Example: `  stint doctor
  stint doctor --fix --dry-run    # what --fix would do`,
		Args: cobra.NoArgs,
		RunE: with(a.runDoctor, &o),
	}
	cmd.Flags().BoolVar(&o.fix, "fix", false, "fix what can be fixed without a person")
	addDryRun(cmd, &o.dryRun)
	return cmd
}

func (a *app) runDoctor(ctx context.Context, o doctorOptions) error {
	if o.dryRun && !o.fix {
		return fleet.WithHint(usage(errors.New("--dry-run needs --fix: looking changes nothing")), "stint doctor --fix --dry-run")
	}
	c, broken := a.loadConfig()
	if broken != nil {
		list := doctor.Examine(a.lookAtMachine(ctx, broken).Facts)
		a.printFindings("", list, nil, o)
		return broken
	}
	seen := a.inspect(ctx, c)
	if ctx.Err() != nil {
		return context.Cause(ctx) // what was not looked at for that is no finding
	}
	list := doctor.Examine(seen.Facts)
	var done []doctor.Repaired
	if o.fix {
		done = a.repair(ctx, c, seen, doctor.Repairs(list), o.dryRun)
		if len(done) > 0 && !o.dryRun {
			list = doctor.Examine(a.inspect(ctx, c).Facts)
		}
	}
	a.printFindings(c.Fleet, list, done, o)
	if err := failures(done); err != nil {
		return err
	}
	return verdict("doctor", list)
}

// verdict is nil when nothing keeps the fleet from working.
func verdict(of string, list []doctor.Finding) error {
	if n := doctor.Count(list, doctor.Problem); n > 0 {
		return fmt.Errorf("%s: %s", of, plain.Plural(n, "problem"))
	}
	return nil
}

func (a *app) printFindings(f fleet.Name, list []doctor.Finding, done []doctor.Repaired, o doctorOptions) {
	if a.asObject(wire.NewDoctor(f, list, done, o.dryRun)) {
		return
	}
	for _, m := range done {
		a.printRepaired(m, o.dryRun)
	}
	if o.fix && len(done) == 0 {
		fmt.Fprintln(a.Stdout, "nothing that could be fixed without a person")
	}
	a.print(screen.Findings(list, a.style()))
}

func (a *app) printRepaired(m doctor.Repaired, dryRun bool) {
	word := "fixed"
	if dryRun {
		word = "would fix"
	}
	for _, did := range m.Done {
		fmt.Fprintf(a.Stdout, "%s %s: %s\n", word, m.Repair, plain.Line(did))
	}
	if m.Err != nil {
		fmt.Fprintf(a.Stdout, "not fixed %s: %s\n", m.Repair, plain.Line(m.Err.Error()))
	}
}

// configFacts are what "stint config check" prints about a configuration that can be used.
func configFacts(c *config.Config) doctor.Config {
	facts := doctor.Config{Path: c.Path, Held: c.Untrusted(), Broken: c.Trust.Broken}
	facts.Warnings = plain.Each(c.Warnings(), func(w config.Problem) string { return w.Pos + ": " + w.Text })
	return facts
}
