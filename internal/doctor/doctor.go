// Package doctor checks whether a fleet can work. Each check looks at one thing, judges it, and names or does the
// repair. A part that cannot be looked at is a finding of its own: if several parts are broken, the checks of the others
// go on.
package doctor

import (
	"context"
	"fmt"
	"os"
	"time"

	"stint/internal/config"
	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/store/postgres"
	"stint/internal/store/sqlite"
	"stint/internal/systemd"
	"stint/internal/task"
	"stint/internal/workspace"
)

// State is the result of a check.
type State string

const (
	// OK is in order.
	OK State = "ok"
	// Warning does not stop the fleet today.
	Warning State = "warning"
	// Problem stops the fleet, or a part of it, or loses its work.
	Problem State = "problem"
	// Unknown could not be looked at.
	Unknown State = "unknown"
)

// Repair names a repair that needs no person.
type Repair string

const (
	repairLinger Repair = "linger"       // keep the user's manager alive after the last logout
	repairMode   Repair = "state_folder" // keep others out of the state folder
	repairRuns   Repair = "runs"         // close the runs whose session is gone
	repairTimers Repair = "timer"        // bring unit files up to date, and start the timers that are enabled
)

// Finding holds a check's result for one thing.
type Finding struct {
	Check  string // the check's name, which does not change
	State  State
	What   string
	Why    string // why it matters; only for a warning or a problem
	Fix    string // a command that fixes it, or at worst advice; empty: nothing known
	Repair Repair // empty: it takes a person
}

// Repaired reports the repair of one thing.
type Repaired struct {
	Repair Repair
	Done   []string
	Err    error
}

// Doctor looks at one fleet once.
type Doctor struct {
	Config *config.Config // nil: it cannot be used, see Fault, and only the machine is looked at
	Fault  error
	Now    func() time.Time
	Getenv func(string) string
	// Environment is that of the fleet's units; nil if the service manager cannot be asked. Examine sets it.
	Environment []string

	Clone   workspace.Clone
	Tasks   task.Sources
	File    sqlite.Options
	Server  postgres.Options
	WeakTLS string       // an sslmode that lets another host pose as the server; empty: none
	Gone    func() error // returns an error if the store has gone
	Self    func() fleet.Host
	Engine  func(ctx context.Context, write bool, fn func(*engine.Engine) error) error

	timers   []timer
	faulty   bool          // the store cannot be used
	unread   bool          // the record could not be read
	live     int           // sessions under way, by the record
	lastFire time.Time     // by the record
	latest   time.Time     // the latest time on record
	ahead    time.Duration // by which a file store's own clock leads this machine's
}

// Environment returns the environment of the service manager's units, or nil if it cannot be asked.
func Environment(ctx context.Context) (environment []string) {
	_ = systemd.Ask(ctx, func(_ context.Context, m *systemd.Manager) (err error) {
		environment, err = m.Environment()
		return err
	})
	return environment
}

// Examine looks at everything: first the things that others depend on.
func (d *Doctor) Examine(ctx context.Context) []Finding {
	var timers, controllers, store, record, rests []Finding
	if d.Config != nil { // the record shows the effect of the timers
		store = d.Store(ctx)
		record, rests = d.examineRecord(ctx)
	}
	asked := systemd.Ask(ctx, func(ctx context.Context, m *systemd.Manager) error {
		if d.Config != nil {
			d.Environment, _ = m.Environment() // without it, agents are looked for in this process's own environment
			timers, controllers = d.examineTimers(ctx, m), d.examineControllers(m)
		}
		return nil
	})
	on, err := systemd.Linger()
	list := append(d.examineConfig(), examineBus(os.Getuid(), asked, d.Getenv), examineLinger(on, err))
	if d.Config == nil {
		return append(list, d.examineClock())
	}
	if asked != nil {
		timers, controllers = d.withoutManager()
	}
	for _, part := range [][]Finding{
		timers, controllers, examineFolder(d.Config.State), store, record, d.examineAgents(ctx), d.examineCommands(), d.examineBoxes(ctx), rests,
		d.examineWorkspace(ctx), d.examineTasks(ctx),
		{d.examineClock(), examineDisk("state folder", d.Config.State), examineDisk("workspace", d.Config.Workspace)},
	} {
		list = append(list, part...)
	}
	return list
}

// Repair repairs what needs no person, each thing once. If one repair fails, the others go on. If we die between two,
// running it again does the rest.
func (d *Doctor) Repair(ctx context.Context, list []Finding, dryRun bool) (done []Repaired) {
	seen := map[Repair]bool{"": true}
	for _, f := range list {
		if seen[f.Repair] {
			continue
		}
		seen[f.Repair] = true
		r := Repaired{Repair: f.Repair}
		r.Done, r.Err = map[Repair]func(context.Context, bool) ([]string, error){
			repairLinger: enableLinger, repairMode: d.closeFolder, repairRuns: d.reap, repairTimers: d.installTimers,
		}[f.Repair](ctx, dryRun)
		if r.Err != nil {
			r.Done = nil // the findings show the part that was done
		}
		done = append(done, r)
	}
	return done
}

// Count counts the findings with a result.
func Count(list []Finding, s State) int {
	return len(plain.Kept(list, func(f Finding) bool { return f.State == s }))
}

// Summary counts the findings in one line.
func Summary(list []Finding) string {
	return fmt.Sprintf("%d ok, %s, %s, %d unknown", Count(list, OK), plain.Plural(Count(list, Warning), "warning"),
		plain.Plural(Count(list, Problem), "problem"), Count(list, Unknown))
}

func ok(check, format string, args ...any) Finding {
	return Finding{Check: check, State: OK, What: fmt.Sprintf(format, args...)}
}

func unknown(check, why string) Finding {
	return Finding{Check: check, State: Unknown, What: why}
}
