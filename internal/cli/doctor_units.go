package cli

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stint/internal/config"
	"stint/internal/doctor"
	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/inspect"
	"stint/internal/plain"
	"stint/internal/store"
	"stint/internal/systemd"
)

// askGit is for one look at a large repository on a slow disk.
const askGit = 30 * time.Second

// lookAtUnits asks the manager all that is asked of it.
func (s *inspection) lookAtUnits(ctx context.Context, a *app, c *config.Config, m *systemd.Manager) {
	environment, err := m.Environment()
	if err == nil {
		s.environment = environment
	}
	for _, pool := range c.FiredPools() {
		t, err := timerFacts(ctx, m, c, pool)
		if err != nil {
			t.Unseen = err.Error()
		}
		s.runtime = s.runtime || t.Runtime
		s.Timers = append(s.Timers, t)
	}
	for _, runtime := range []bool{false, true} {
		s.Former = append(s.Former, a.formerTimers(ctx, c, m, runtime)...)
	}
	s.Controllers = controllerFacts(c, m)
}

// formerTimers are those that are there of pools that the configuration does not fire any more.
func (a *app) formerTimers(ctx context.Context, c *config.Config, m *systemd.Manager, runtime bool) (list []doctor.Timer) {
	folder, err := a.unitFolder(runtime)
	if err != nil {
		return nil // nothing can have been installed there
	}
	names, err := former(folder, c)
	for _, instance := range names {
		t := doctor.Timer{Unit: "stint@" + instance + ".timer", Runtime: runtime}
		unit, err := m.Installed(ctx, t.Unit)
		t.Enabled, t.Active = unit.Enabled, unit.Active
		t.Unseen = reason(err)
		list = append(list, t)
	}
	if err != nil {
		list = append(list, doctor.Timer{Unit: folder, Unseen: err.Error()})
	}
	return list
}

// withoutManager notes what cannot be known as the manager does not answer.
func (s *inspection) withoutManager(c *config.Config, err error) {
	const reason = "the service manager cannot be asked"
	s.Manager.Unseen = err.Error()
	s.Controllers.Unseen = reason
	for _, pool := range c.FiredPools() {
		s.Timers = append(s.Timers, doctor.Timer{Pool: ownName(pool), Unit: timerUnit(c.Fleet, pool), Unseen: reason})
	}
}

// ownName is a pool's name, or "" for the one that the fleet's own timer fires.
func ownName(pool string) string {
	if pool == config.DefaultPool {
		return ""
	}
	return pool
}

func timerFacts(ctx context.Context, m *systemd.Manager, c *config.Config, pool string) (doctor.Timer, error) {
	t := doctor.Timer{Pool: ownName(pool), Unit: timerUnit(c.Fleet, pool)}
	unit, err := m.Installed(ctx, t.Unit)
	if err != nil {
		return t, err
	}
	t.Load, t.Active, t.Enabled = unit.Load, unit.Active, unit.Enabled
	t.Runtime = strings.HasPrefix(unit.Fragment, "/run/") // its file is gone when the machine goes down
	fires, err := m.Timer(ctx, t.Unit)
	if err != nil {
		return t, err
	}
	t.Again, t.Firing, t.Last, t.Next = fires.Active, fires.Firing, fires.Last, fires.Next
	t.Service, err = serviceFacts(ctx, m, c, strings.TrimSuffix(t.Unit, ".timer")+".service")
	return t, err
}

func serviceFacts(ctx context.Context, m *systemd.Manager, c *config.Config, name string) (doctor.Service, error) {
	s := doctor.Service{Unit: name}
	unit, err := m.Installed(ctx, name)
	if err != nil {
		return s, err
	}
	s.Load, s.Active, s.Result, s.Stale = unit.Load, unit.Active, unit.Result, unit.Stale
	s.Config = configOf(unit.Argv, c.Path)
	s.Moved = s.Config != "" && gone(s.Config)
	if len(unit.Argv) > 0 {
		s.Binary = unit.Argv[0]
	}
	if s.Program, err = binary(); err != nil {
		return s, err
	}
	_, err = exec.LookPath(s.Binary)
	s.Found = err == nil && filepath.IsAbs(s.Binary)
	there, err := os.Stat(s.Binary)
	own, ownErr := os.Stat(s.Program)
	s.Ours = err == nil && ownErr == nil && os.SameFile(there, own)
	return s, nil
}

func controllerFacts(c *config.Config, m *systemd.Manager) (f doctor.Controllers) {
	group, err := m.ControlGroup()
	if err != nil {
		f.Unseen = err.Error()
		return f
	}
	root := os.DirFS("/")
	for _, name := range c.CategoryNames() {
		for _, why := range systemd.Undelegated(root, group, c.Categories[name].Unit) {
			f.Broken = append(f.Broken, doctor.Unlimited{Category: name, Reason: why})
		}
	}
	f.NoMemory = strings.Join(systemd.Undelegated(root, group, map[string]any{"MemoryMax": "1G"}), "; ")
	return f
}

// addLogin looks for where an agent's login is. It only asks whether a file is there.
func addLogin(f *doctor.Agent, environment []string) {
	var login config.Login
	if login, f.Known = config.PresetLogin(f.Preset); !f.Known {
		return
	}
	f.Command = login.Command
	for _, name := range login.Variables {
		f.Logins = append(f.Logins, "$"+name)
		if fleet.Variable(environment, name) != "" {
			f.Login = cmp.Or(f.Login, "$"+name)
		}
	}
	for _, file := range login.Files {
		folder := fleet.Variable(environment, file.Variable)
		if folder == "" {
			folder = filepath.Join(fleet.Variable(environment, "HOME"), file.Folder)
		}
		path := filepath.Join(folder, file.Name)
		f.Logins = append(f.Logins, path)
		if _, err := os.Stat(path); err == nil {
			f.Login = cmp.Or(f.Login, path)
		}
	}
}

// lookAtRecord reads what the store says, if it can be read.
func (a *app) lookAtRecord(ctx context.Context, s *inspection) {
	err := a.withEngine(ctx, reading, nil, func(e *engine.Engine) error {
		e.Timers = nil                        // they were asked
		e.Log = slog.New(slog.DiscardHandler) // each of its warnings is a finding here
		if !e.Recorded() {                    // nothing has run yet
			return nil
		}
		return s.readRecord(ctx, e)
	})
	if err != nil {
		s.Record = doctor.Record{Unseen: "the store cannot be read"}
		if s.Store.Fault == "" {
			s.Record.Unseen += ": " + err.Error()
		}
	}
}

func (s *inspection) readRecord(ctx context.Context, e *engine.Engine) error {
	x := &inspect.Explainer{Fleet: e.Fleet}
	status, err := x.Status(ctx, inspect.StatusOptions{Fires: 1, Runs: 1})
	if err != nil {
		return err
	}
	r := &s.Record
	r.Violations = len(status.Day.Violations)
	if r.Off, err = x.Discrepancies(ctx); err != nil {
		return err
	}
	r.Live = len(plain.Kept(status.Open, func(run fleet.RunStatus) bool { return run.State != fleet.RunCrashed }))
	r.Rests = plain.Each(status.Stopped, func(g inspect.StoppedAgent) doctor.Rest { return doctor.Rest{Agent: g.Agent, Why: g.Why, Fix: g.Fix} })
	if r.Unpriced, err = unpriced(ctx, x); err != nil {
		return err
	}
	for _, f := range status.Fires {
		r.LastFire, r.Latest = f.At, plain.Latest(r.Latest, f.At)
	}
	for _, run := range status.Runs {
		r.Latest = plain.Latest(r.Latest, run.CreatedAt, run.StartedAt, run.EndedAt)
	}
	r.Leftovers, err = leftovers(ctx, e)
	return err
}

// mostLooked is how many of an agent's latest runs are looked at for a session: the others
// found no lane or no task.
const mostLooked = 20

// unpriced are the agents whose latest session used a model that has no price.
func unpriced(ctx context.Context, e *inspect.Explainer) (list []doctor.Unpriced, err error) {
	for _, agent := range e.Config.AgentNames() {
		runs, err := e.Runs(ctx, store.RunQuery{Agent: agent, Ended: true, Limit: mostLooked})
		if err != nil {
			return nil, err
		}
		if at := slices.IndexFunc(runs, func(r fleet.RunStatus) bool { return len(r.Usage.Models) > 0 }); at >= 0 {
			r := runs[at]
			models := slices.DeleteFunc(r.Usage.Models, func(m string) bool { _, ok := e.Config.Prices.Of(m); return ok })
			if r.Usage.Cost != fleet.CostReported && len(models) > 0 && e.Config.BindsUSD(r.Category, agent) {
				list = append(list, doctor.Unpriced{Agent: agent, Models: models, Why: config.Unpriced(models)})
			}
		}
	}
	return list, nil
}

// leftovers are the runs that a reaping would close, at two looks: a run that just ends
// is between its end and what it gives back for a moment.
func leftovers(ctx context.Context, e *engine.Engine) (list []doctor.Leftover, err error) {
	first, err := e.Reap(ctx, true)
	if err != nil || len(first) == 0 {
		return nil, err
	}
	second, err := e.Reap(ctx, true)
	for _, r := range second {
		if slices.ContainsFunc(first, func(f engine.Reaped) bool { return f.Run.ID == r.Run.ID }) {
			list = append(list, doctor.Leftover{Run: r.Run.ID, Category: r.Run.Category, Ended: !r.Run.EndedAt.IsZero()})
		}
	}
	return list, err
}
