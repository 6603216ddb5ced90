package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"stint/internal/config"
	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/lane"
	"stint/internal/lease"
	"stint/internal/session"
	"stint/internal/store"
	"stint/internal/store/sqlite"
	"stint/internal/systemd"
	"stint/internal/task"
	"stint/internal/workspace"
)

// access is how a command means to use the store.
type access int

const (
	// reading never creates a store; without one the command goes on with none.
	reading access = iota
	// writing creates the store when there is none.
	writing
	// trying runs the code of writing and undoes what it wrote.
	trying
)

// accessFor is writing, or trying with --dry-run.
func accessFor(dryRun bool) access {
	if dryRun {
		return trying
	}
	return writing
}

// loadConfig finds and reads the configuration.
func (a *app) loadConfig() (*config.Config, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	path, err := config.Find(a.configPath, a.Getenv, dir)
	if err != nil {
		return nil, err
	}
	return config.Load(path, config.Options{CheckUnit: systemd.CheckProperty, Getenv: a.Getenv})
}

// openStore opens a fleet's store. When it is only read and there is none, both
// results are nil.
func (a *app) openStore(ctx context.Context, c *config.Config, how access) (store.Store, error) {
	o := a.storeOptions(c)
	if how == reading {
		db, err := sqlite.OpenRead(ctx, o)
		if errors.Is(err, fleet.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return db, nil
	}
	o.DryRun = how == trying
	db, err := sqlite.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return db, nil
}

func (a *app) storeOptions(c *config.Config) sqlite.Options {
	workspace := c.Workspace
	if resolved, err := filepath.EvalSymlinks(workspace); err == nil {
		workspace = resolved // one workspace, by whatever path it was reached
	}
	return sqlite.Options{Dir: c.State, Fleet: c.Fleet, Workspace: workspace, Now: a.Now}
}

// withStore runs fn with the fleet's store, which is nil when how is reading and
// nothing has run yet.
func (a *app) withStore(ctx context.Context, how access, fn func(*config.Config, store.Store) error) error {
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	return a.withStoreOf(ctx, c, how, fn)
}

func (a *app) withStoreOf(ctx context.Context, c *config.Config, how access, fn func(*config.Config, store.Store) error) (err error) {
	s, err := a.openStore(ctx, c, how)
	if err != nil {
		return err
	}
	if s != nil {
		defer func() { err = errors.Join(err, s.Close()) }()
	}
	return fn(c, s)
}

// withEngine runs fn with the whole of the fleet. Before a store is opened, check may
// refuse what is wrong with the command line; its engine has no store.
func (a *app) withEngine(ctx context.Context, how access, check, fn func(*engine.Engine) error) error {
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	e := &engine.Engine{
		Config:   c,
		Tasks:    taskFolder(c),
		Lanes:    lane.State(c.State),
		Sessions: a.sessions(c),
		Agents:   session.Runner{},
		Repo:     workspace.Folder(c.Workspace),
		Log:      a.log,
		Now:      a.Now,
		Random:   a.Random,
		Getenv:   a.Getenv,
	}
	if check != nil {
		if err := check(e); err != nil {
			return err
		}
	}
	return a.withStoreOf(ctx, c, how, func(_ *config.Config, s store.Store) error {
		e.Store = s
		if a.Tamper != nil {
			a.Tamper(e)
		}
		return fn(e)
	})
}

func (a *app) sessions(c *config.Config) sessions {
	return sessions{locks: lane.State(c.State), log: a.log}
}

// desk is where claims are asked for.
func (a *app) desk(c *config.Config, s store.Store) lease.Desk {
	return lease.Desk{Runs: s, Sessions: a.sessions(c), Log: a.log}
}

func taskFolder(c *config.Config) task.Folder {
	return task.Folder{Dir: c.Tasks.Dir, DefaultCategory: c.Tasks.DefaultCategory, Tags: c.Tasks.Tags}
}

// nothingYet says that the fleet has no store.
func (a *app) nothingYet() {
	fmt.Fprintln(a.Stderr, "stint: nothing has run yet")
}

// holder is who the command line acts for, and whether it was named: two scripts
// of one user that name nobody must not share a claim.
func (a *app) holder(flag string) (h fleet.Holder, named bool, err error) {
	name := flag
	if name == "" {
		name = a.Getenv("STINT_HOLDER")
	}
	if named = name != ""; !named {
		host, err := os.Hostname()
		if err != nil {
			return "", false, err
		}
		name = a.user() + "@" + host
	}
	h, err = fleet.ParseHolder(name)
	return h, named, usage(err)
}

// user is the name of whoever runs this, or the number when it has no name.
func (a *app) user() string {
	if name := a.Getenv("USER"); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}

// usage marks an error as one of the command line.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", fleet.ErrUsage, err)
}

// binary is the path of this program, as units are to name it.
func binary() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// checkUnitPaths refuses what could not be handed to systemd, before anything is
// written.
func checkUnitPaths(paths ...string) error {
	for _, p := range paths {
		if err := fleet.CheckUnitWord(p); err != nil {
			return fleet.WithHint(usage(err), "install the binary, and keep the configuration, at a plain path, or start workers without systemd: --exec")
		}
	}
	return nil
}

// oneLine joins a person's words.
func oneLine(words []string) string { return strings.Join(words, " ") }
