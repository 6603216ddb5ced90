package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"stint/internal/claim"
	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/machine"
	"stint/internal/store"
	"stint/internal/store/postgres"
	"stint/internal/store/sqlite"
	"stint/internal/systemd"
)

// access lists a command's needs of the fleet.
type access uint8

const (
	// reading never creates a store; without one the command goes on with none.
	reading access = 0
	// writing creates the store when there is none. With --dry-run, what it wrote is undone.
	writing access = 1
	// trying is writing that is undone, whatever the command line says.
	trying access = 2 | writing
	// existing is writing, or reading where nothing has run yet: no store is made only to find nothing in it.
	existing access = 4 | writing
	// record, beside one of these, says that nothing has run yet where nothing has.
	record access = 8
	// repository, beside one of these, is an error where there is no repository for what is configured.
	repository access = 16
)

// openStore opens a fleet's store. When it is only read and there is none, both
// results are nil.
func (a *app) openStore(ctx context.Context, c *config.Config, how access) (store.Store, error) {
	tries := how&trying == trying || a.dryRun
	if c.Store.Shared() {
		return a.openShared(c, how&writing != 0, tries)
	}
	if _, err := os.Lstat(filepath.Join(c.State, sqlite.File)); how&existing == existing && errors.Is(err, fs.ErrNotExist) {
		how = reading
	}
	if err := a.storeGone(c); err != nil && !a.removing {
		return nil, err
	}
	o := a.storeOptions(c)
	if how&writing == 0 {
		db, err := sqlite.OpenRead(ctx, o)
		if errors.Is(err, fleet.ErrNotFound) {
			a.storeless = c.State
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return db, nil
	}
	o.DryRun = tries
	if err := notMovedAway(ctx, c); err != nil {
		return nil, err
	}
	db, err := sqlite.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return a.known(c, db, !tries)
}

// openShared opens the store of a fleet on many machines. The server is asked for nothing yet.
func (a *app) openShared(c *config.Config, writes, tries bool) (store.Store, error) {
	o := a.serverOptions(c)
	o.DryRun = tries && writes
	db, err := postgres.Open(o)
	switch {
	case err != nil:
		return nil, err
	case !writes:
		return db, nil
	}
	return a.known(c, db, !tries)
}

func (a *app) serverOptions(c *config.Config) postgres.Options {
	o := postgres.Options{
		DSN: a.server(c).DSN, Fleet: c.Fleet, Settings: c.Selector.Settings(), Host: func() string { return a.here(c)().Host },
		Memory: machine.Memory(c.State), Self: func() fleet.Host { return a.ownHost(c) },
	}
	for _, category := range c.Categories {
		o.Pause = max(o.Pause, claim.HeartbeatWithin(category.TTL))
	}
	return o
}

// server is the fleet's server, with what follows from its section of the service file.
func (a *app) server(c *config.Config) config.Store {
	if c.Store.Service == "" {
		return c.Store
	}
	path := cmp.Or(a.Getenv("PGSERVICEFILE"), filepath.Join(a.Getenv("HOME"), ".pg_service.conf"))
	return c.Store.With(postgres.Section(path, c.Store.Service))
}

// known is a store that this machine may write to. If we die before a new state folder has its
// identity, the next command that writes gives it one.
func (a *app) known(c *config.Config, db store.Store, gives bool) (store.Store, error) {
	if i, err := a.identity(c.State); err == nil && !i.Foreign(thisMachine()) {
		return db, nil
	}
	if err := machine.Check(c.State, thisMachine(), gives); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// notMovedAway refuses to do without a store while units of the fleet are at work: theirs was
// moved away, and in an empty one all that they hold would be free. Without a service manager
// there are none.
func notMovedAway(ctx context.Context, c *config.Config) error {
	if _, err := os.Lstat(filepath.Join(c.State, sqlite.File)); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var names []string
	_ = systemd.Ask(ctx, func(ctx context.Context, m *systemd.Manager) error {
		units, err := m.List(ctx, fleet.UnitPattern(c.Fleet))
		for _, u := range units {
			if fleet.WorkerUnit(c.Fleet, u.Name) && u.Active != "inactive" && u.Active != "failed" {
				names = append(names, u.Name)
			}
		}
		return err
	})
	if len(names) == 0 {
		return nil
	}
	return fleet.WithHint(
		fmt.Errorf("there is no store in %s, but units of fleet %s are at work: %s", c.State, c.Fleet, strings.Join(names, ", ")),
		"put the state folder back where it was; to end what they do instead: systemctl --user stop "+fleet.ShellWord(fleet.UnitPattern(c.Fleet)))
}

func (a *app) storeOptions(c *config.Config) sqlite.Options {
	workspace := c.Workspace
	if resolved, err := filepath.EvalSymlinks(workspace); err == nil {
		workspace = resolved // one workspace, by whatever path it was reached
	}
	boot := thisMachine().Boot() // not within a transaction, for which others wait
	return sqlite.Options{
		Dir: c.State, Fleet: c.Fleet, Workspace: workspace, Now: a.Now, Settings: c.Selector.Settings(),
		Start: func() sqlite.Start { return sqlite.Start{ID: boot, Elapsed: a.Elapsed()} },
		Host:  func() string { return a.here(c)().Host },
	}
}

// withStore runs fn with the fleet's store, which is nil when how is reading and
// nothing has run yet.
func (a *app) withStore(ctx context.Context, c *config.Config, how access, fn func(store.Store) error) (err error) {
	s, err := a.openStore(ctx, c, how)
	if err != nil {
		return err
	}
	if s != nil {
		defer func() { err = errors.Join(err, s.Close()) }()
	}
	return fn(s)
}
