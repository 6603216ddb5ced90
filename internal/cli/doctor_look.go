package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"stint/internal/config"
	"stint/internal/doctor"
	"stint/internal/fleet"
	"stint/internal/machine"
	"stint/internal/plain"
	"stint/internal/rundir"
	"stint/internal/session"
	"stint/internal/store"
	"stint/internal/store/postgres"
	"stint/internal/store/sqlite"
	"stint/internal/systemd"
	"stint/internal/task"
)

// inspection is what was seen, with what repairing needs to know beside it.
type inspection struct {
	doctor.Facts
	environment []string // of the service manager; nil: it cannot be asked
	runtime     bool     // the fleet's units are installed until the machine goes down
}

// lookAtMachine looks at what can be looked at without a configuration.
func (a *app) lookAtMachine(ctx context.Context, broken error) inspection {
	s := inspection{Facts: a.machine()}
	s.Config = doctor.Config{Fault: broken.Error(), Hint: fleet.Hint(broken)}
	if err := systemd.Ask(ctx, func(context.Context, *systemd.Manager) error { return nil }); err != nil {
		s.Manager.Unseen = err.Error()
	}
	return s
}

// machine are the facts that need neither a configuration nor the service manager.
func (a *app) machine() doctor.Facts {
	f := doctor.Facts{
		Now: a.Now(), UID: os.Getuid(), Clock: clockFacts(),
		Manager: doctor.Manager{RuntimeDir: a.Getenv("XDG_RUNTIME_DIR"), BusAddress: a.Getenv("DBUS_SESSION_BUS_ADDRESS")},
	}
	on, err := systemd.Linger()
	f.Linger = doctor.Linger{On: on, Unseen: reason(err)}
	return f
}

// inspect looks at everything. A part that cannot be looked at is reported in its place.
func (a *app) inspect(ctx context.Context, c *config.Config) inspection {
	s := inspection{Facts: a.machine()}
	s.Config = configFacts(c)
	if err := systemd.Ask(ctx, func(ctx context.Context, m *systemd.Manager) error { s.lookAtUnits(ctx, a, c, m); return nil }); err != nil {
		s.withoutManager(c, err)
	}
	s.State = folderFacts(c.State)
	s.Store = a.storeFacts(ctx, c)
	s.Agents = a.agentFacts(c, s.environment)
	s.Commands = a.commandFacts(c, s.environment)
	s.Boxes = boxFacts(ctx, c)
	s.Workspace = a.workspaceFacts(ctx, c)
	s.lookAtTasks(ctx, c, taskFolder(c))
	a.lookAtRecord(ctx, &s)
	s.Disks = []doctor.Disk{diskFacts("state folder", c.State), diskFacts("workspace", c.Workspace)}
	return s
}

// reason is why something could not be looked at, or "".
func reason(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// clockFacts asks the kernel whether anybody keeps its clock in time.
func clockFacts() doctor.Clock {
	const unsynchronized = 0x40 // STA_UNSYNC of adjtimex(2)
	if _, err := os.Stat("/run/systemd/timesync/synchronized"); err == nil {
		return doctor.Clock{Synced: true}
	}
	var t syscall.Timex // its modes say to change nothing
	if _, err := syscall.Adjtimex(&t); err != nil {
		return doctor.Clock{Unseen: fmt.Sprintf("ask the kernel about its clock: %v", err)}
	}
	return doctor.Clock{Synced: t.Status&unsynchronized == 0}
}

func folderFacts(path string) doctor.Folder {
	f := doctor.Folder{Path: path, User: os.Getuid()}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Missing = true
	case err != nil:
		f.Unseen = err.Error()
		return f
	case !info.IsDir():
		f.Unseen = path + " is not a folder"
		return f
	default:
		f.Mode, f.Owner = uint32(info.Mode().Perm()), f.User
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			f.Owner = int(stat.Uid)
		}
		f.Foreign = foreign(path, f.User)
		const all = 7 // R_OK, W_OK and X_OK of access(2)
		f.Unwritable = reason(syscall.Access(path, all))
	}
	var at syscall.Statfs_t
	if err := syscall.Statfs(standing(path), &at); err == nil {
		f.Magic = int64(at.Type) & 0xffffffff //nolint:unconvert // an int32, signed, on machines of 32 bits
	}
	return f
}

// mostForeign is how many files of others are named.
const mostForeign = 10

// foreign are files in the state folder that belong to another user: stint's own, not what
// agents and git made.
func foreign(state string, user int) (list []string) {
	for _, pattern := range []string{"*", "locks/*", "runs/*", "runs/*/*", "clones/*"} {
		paths, _ := filepath.Glob(plain.GlobIn(state, pattern)) // an error is of the pattern alone
		for _, path := range paths {
			info, err := os.Lstat(path)
			if err != nil || len(list) == mostForeign {
				continue
			}
			if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != user {
				list = append(list, strings.TrimPrefix(path, state+"/"))
			}
		}
	}
	return list
}

// standing is the path, or what there is of it.
func standing(path string) string {
	for {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

func diskFacts(of, path string) doctor.Disk {
	d := doctor.Disk{Of: of, Path: standing(path)}
	var at syscall.Statfs_t
	if err := syscall.Statfs(d.Path, &at); err != nil {
		d.Unseen = fmt.Sprintf("%s: %v", d.Path, err)
		return d
	}
	d.Free, d.Size = at.Bavail*uint64(at.Frsize), at.Blocks*uint64(at.Frsize)
	return d
}

func (a *app) storeFacts(ctx context.Context, c *config.Config) doctor.Store {
	if c.Store.Shared() {
		return a.serverFacts(ctx, c)
	}
	s := doctor.Store{Path: filepath.Join(c.State, sqlite.File)}
	info, err := os.Stat(s.Path)
	if err == nil {
		s.Size = info.Size()
	}
	db, err := sqlite.OpenRead(ctx, a.storeOptions(c))
	if err == nil {
		s.Damage, err = db.Damage(ctx)
		if _, at, unread := db.Hosts(ctx); unread == nil { // else the damage says why
			s.Ahead = at.Sub(a.Now())
		}
		err = cmp.Or(errors.Join(err, db.Close()), machine.Check(c.State, thisMachine(), false))
	}
	switch {
	case errors.Is(err, fleet.ErrNotFound):
		if gone := a.storeGone(c); gone != nil {
			s.Fault, s.Hint = gone.Error(), fleet.Hint(gone)
		}
		s.Missing = s.Fault == ""
	case err != nil:
		s.Fault, s.Hint = err.Error(), fleet.Hint(err)
	}
	return s
}

func (a *app) serverFacts(ctx context.Context, c *config.Config) doctor.Store {
	s := doctor.Store{Path: c.StoreText}
	db, err := postgres.Open(a.serverOptions(c))
	if err == nil {
		began := a.Now()
		found, asked := db.Condition(ctx)
		took := a.Now().Sub(began)
		s.Server = &doctor.Server{
			Name: c.StoreText, Version: found.Version, Schema: found.Schema, Compat: found.Compat, Latest: found.Known, Standby: found.Standby, Weak: a.server(c).WeakTLS,
			Role: found.Role, Superuser: found.Superuser, Owner: found.Owner, Deletes: found.DeletesClaims, Writes: found.Writes, Connections: found.Connections, Busy: found.Busy, NoSync: found.NoSync, NoFullPages: found.NoFullPages,
			Late: found.Late, Lineage: found.Lineage, Ahead: found.Now.Sub(began), Answers: took,
		}
		if asked == nil && found.Schema == found.Known {
			asked = a.lookAtHosts(ctx, c, db, s.Server)
		}
		err = cmp.Or(errors.Join(asked, db.Close()), machine.Check(c.State, thisMachine(), false))
	}
	if err != nil {
		s.Server, s.Fault, s.Hint = nil, err.Error(), fleet.Hint(err)
	}
	return s
}

// lookAtHosts finds the machines of the fleet, and what this one has not delivered.
func (a *app) lookAtHosts(ctx context.Context, c *config.Config, db store.Store, s *doctor.Server) error {
	hosts, now, err := db.Hosts(ctx)
	if err != nil {
		return err
	}
	standing, err := db.List(ctx, store.Listing{})
	if err != nil {
		return err
	}
	own := a.ownHost(c) // as it is now, not as it was at its last fire
	for _, h := range hosts {
		if h.ID == own.ID {
			h.Version, h.Config = own.Version, own.Config
		}
		working := slices.ContainsFunc(standing.Open, func(r fleet.Run) bool { return r.Host == h.ID && !r.StartedAt.IsZero() })
		s.Hosts = append(s.Hosts, doctor.Host{Host: h, Here: h.ID == own.ID, Working: working, Unheard: now.Sub(h.HeardAt)})
	}
	folders := rundir.Folders{State: c.State}
	for _, r := range standing.Open {
		if end, err := folders.End(r.ID); err == nil && r.Host == own.ID {
			s.Unsent++
			s.UnsentFor = max(s.UnsentFor, a.Now().Sub(end.EndedAt))
		}
	}
	return nil
}

func (s *inspection) lookAtTasks(ctx context.Context, c *config.Config, tasks task.Sources) {
	list, problems, err := tasks.List(ctx)
	if err != nil && (c.WantsTasks() || !errors.Is(err, fleet.ErrNotFound)) {
		s.Tasks = doctor.Tasks{Unseen: err.Error(), Hint: fleet.Hint(err)}
		return
	}
	s.Tasks.Read = len(list)
	for _, p := range problems {
		if p.Source != "" {
			s.Tasks.Failed = append(s.Tasks.Failed, doctor.Source{
				SourceFault: fleet.SourceFault{Source: p.Source, Reason: p.Reason},
				Command:     "cd " + fleet.ShellWord(c.Workspace) + " && " + strings.Join(plain.Each(c.Tasks.Sources[p.Source].Command, fleet.ShellWord), " "),
			})
			continue
		}
		s.Tasks.Faults = append(s.Tasks.Faults, p.String())
	}
}

// boxFacts asks bubblewrap for a namespace.
func boxFacts(ctx context.Context, c *config.Config) doctor.Boxes {
	facts := doctor.Boxes{Layers: session.Layers(ctx)}
	for _, name := range c.AgentNames() {
		if !c.HasAgent(name) {
			continue
		}
		agent := c.Agents[name]
		facts.Agents = append(facts.Agents, doctor.AgentBox{
			Agent: name, Box: fleet.Box{Profile: agent.Box, Network: agent.Network},
		})
	}
	return facts
}

func (a *app) workspaceFacts(ctx context.Context, c *config.Config) doctor.Workspace {
	w := doctor.Workspace{Path: c.Workspace}
	for _, name := range c.CategoryNames() {
		if category := c.Categories[name]; category.OwnClone || category.Sync {
			w.Needed = append(w.Needed, name)
		}
	}
	if _, err := os.Stat(c.Workspace); err != nil {
		w.Missing, w.Unseen = errors.Is(err, fs.ErrNotExist), err.Error()
		return w
	}
	clone := a.places(c).Clone
	clone.Timeout = askGit
	state, err := clone.Condition(ctx)
	if err != nil {
		w.Unseen = err.Error()
		return w
	}
	w.Git, w.Midway, w.Changed, w.Untracked, w.Lock = state.Repository, state.Midway, state.Changed, state.Untracked, state.Lock
	if w.Lock != "" {
		w.LockAge = a.Now().Sub(state.LockedAt)
	}
	if err := clone.Ready(ctx); err != nil && w.Git && len(w.Needed) > 0 {
		w.Unready, w.Remedy = err.Error(), fleet.Hint(err)
	}
	at, err := clone.Tracking(ctx)
	if w.Left, w.Pull = at.Text, at.Fix; err != nil {
		w.Unseen = err.Error()
	}
	return w
}

// configOf is the configuration that a fire's command line names; one and the same file
// by another path is ours.
func configOf(argv []string, ours string) string {
	for i, word := range argv {
		if word != "--config" || i+1 == len(argv) {
			continue
		}
		there, err := os.Stat(argv[i+1])
		own, ownErr := os.Stat(ours)
		if err == nil && ownErr == nil && os.SameFile(there, own) {
			return ours
		}
		return argv[i+1]
	}
	return ""
}
