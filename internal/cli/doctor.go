package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"stint/internal/config"
	"stint/internal/doctor"
	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/plain"
)

func newDoctor(a *app) *cobra.Command {
	fix := false
	cmd := a.dry(&cobra.Command{
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
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runDoctor(cmd.Context(), fix) },
	})
	cmd.Flags().BoolVar(&fix, "fix", false, "fix what can be fixed without a person")
	return cmd
}

func (a *app) runDoctor(ctx context.Context, fix bool) error {
	if a.dryRun && !fix {
		return fleet.WithHint(usage(errors.New("--dry-run needs --fix: looking changes nothing")), "stint doctor --fix --dry-run")
	}
	c, broken := a.loadConfig()
	if broken != nil {
		a.printFindings("", (&doctor.Doctor{Fault: broken, Now: a.Now, Getenv: a.Getenv}).Examine(ctx), nil, fix)
		return broken
	}
	d := a.doctor(c)
	list := d.Examine(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx) // what was not looked at for that is no finding
	}
	var done []doctor.Repaired
	if fix {
		done = d.Repair(ctx, list, a.dryRun)
		if len(done) > 0 && !a.dryRun {
			list = a.doctor(c).Examine(ctx)
		}
	}
	a.printFindings(c.Fleet, list, done, fix)
	if err := failures(done); err != nil {
		return err
	}
	return verdict("doctor", list)
}

// doctor looks at a fleet as its commands use it.
func (a *app) doctor(c *config.Config) *doctor.Doctor {
	d := &doctor.Doctor{
		Config: c, Now: a.Now, Getenv: a.Getenv, Clone: a.places(c).Clone, Tasks: taskFolder(c), File: a.storeOptions(c),
		Gone: func() error { return a.storeGone(c) }, Self: func() fleet.Host { return a.ownHost(c) },
		Engine: func(ctx context.Context, write bool, fn func(*engine.Engine) error) error {
			how := reading
			if write {
				how = writing
			}
			return a.with(ctx, how, func(f opened) error { return fn(f.Engine) })
		},
	}
	if c.Store.Shared() {
		d.Server, d.WeakTLS = a.serverOptions(c), a.server(c).WeakTLS
	}
	return d
}

// failures returns the error for what could not be fixed, with its first hint: status 1, whatever the
// status of the command that fixes only that.
func failures(done []doctor.Repaired) error {
	var texts []string
	hint := ""
	for _, m := range done {
		if m.Err != nil {
			texts = append(texts, fmt.Sprintf("fix %s: %v", m.Repair, m.Err))
			hint = cmp.Or(hint, fleet.Hint(m.Err))
		}
	}
	if texts == nil {
		return nil
	}
	return fleet.WithHint(errors.New(strings.Join(texts, "; ")), hint)
}

// verdict is nil when nothing keeps the fleet from working.
func verdict(of string, list []doctor.Finding) error {
	if n := doctor.Count(list, doctor.Problem); n > 0 {
		return fmt.Errorf("%s: %s", of, plain.Plural(n, "problem"))
	}
	return nil
}

func (a *app) printFindings(f fleet.Name, list []doctor.Finding, done []doctor.Repaired, fix bool) {
	if a.asObject(doctorObject(f, done, a.dryRun).JSON(list)) {
		return
	}
	for _, m := range done {
		a.printRepaired(m)
	}
	if fix && len(done) == 0 {
		fmt.Fprintln(a.Stdout, "nothing that could be fixed without a person")
	}
	a.print(doctor.Lines(list, a.style()))
}

func (a *app) printRepaired(m doctor.Repaired) {
	word := a.did("fixed", "would fix")
	for _, did := range m.Done {
		fmt.Fprintf(a.Stdout, "%s %s: %s\n", word, m.Repair, plain.Line(did))
	}
	if m.Err != nil {
		fmt.Fprintf(a.Stdout, "not fixed %s: %s\n", m.Repair, plain.Line(m.Err.Error()))
	}
}
