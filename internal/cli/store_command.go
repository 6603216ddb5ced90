package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/machine"
	"stint/internal/plain"
	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/store/postgres"
	"stint/internal/store/sqlite"
)

func newStore(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "store",
		Short: "Migrate or copy the store",
		Long: `Migrate or copy the store: where claims, runs and grades are kept. By default that is a
file in the state folder; the key store of stint.toml names a PostgreSQL server instead.`,
	}
	cmd.AddCommand(newStoreMigrate(a), newStoreCopy(a), newStoreAccept(a))
	return cmd
}

func newStoreMigrate(a *app) *cobra.Command {
	return a.dry(&cobra.Command{
		Use:   "migrate [STORE]",
		Short: "Make the fleet's schema on a server, or bring it up to date",
		Long: `Make the fleet's schema on a PostgreSQL server, or bring it up to date, once for all hosts and
before any of them gets a newer stint. STORE, in the form of the key store of stint.toml, connects
as another role: the owner of the schema. The fleet's roles get their rights if an administrator has
made the roles: "stint help hosts". With --dry-run all statements are printed.`,
		Example: `  stint store migrate --dry-run
  stint store migrate postgres:service=stint_owner`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.migrateStore(cmd.Context(), args) },
	})
}

func newStoreCopy(a *app) *cobra.Command {
	return a.dry(&cobra.Command{
		Use:   "copy FROM TO",
		Short: "Copy all of the record to another, empty store",
		Long: `Copy all of the record to another store, which must be empty. FROM and TO are values of the key
store in stint.toml. No session may run meanwhile. Afterwards the first store refuses writes, and its
refusal names the other; write the other into stint.toml. Epochs, grades and all numbers go along.`,
		Example: `  stint pause --reason 'moving the store'
  stint store copy sqlite postgres:service=stint_bob`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.copyStore(cmd.Context(), args[0], args[1])
		},
	})
}

func newStoreAccept(a *app) *cobra.Command {
	restored := false
	cmd := a.dry(&cobra.Command{
		Use:   "accept",
		Short: "Accept an older server, or one restored from a backup",
		Long: `Accept a server that is older than the last one to which this host wrote. After a failover, a
host refuses the old server. If the new one is gone for good, run this command on each host that
refuses the old one. stint counts the lost writes, and grants nothing for a while. No host can see
that a server was restored from a backup: run it once with --restored, before any other write.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.acceptStore(cmd.Context(), restored) },
	})
	cmd.Flags().BoolVar(&restored, "restored", false, "the server was restored from a backup: grant nothing for a while, then higher epochs")
	return cmd
}

// acceptBackup accepts a server with the data of a backup, and tells the effect.
func (a *app) acceptBackup(ctx context.Context, c *config.Config) (did string, err error) {
	o := a.serverOptions(c)
	o.DryRun = a.dryRun
	db, err := postgres.Open(o)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	l, err := db.Restored(ctx)
	return "a restored backup: nothing is granted before " + plain.Stamp(l.GrantsFrom) + ", and epochs go on higher", err
}

// acceptOlder accepts a server that this host refuses.
func (a *app) acceptOlder(ctx context.Context, c *config.Config) (did string, err error) {
	err = a.withStore(ctx, c, reading, func(s store.Store) error {
		_, _, err := s.Hosts(ctx)
		return err
	})
	switch {
	case err == nil:
		return "", fmt.Errorf("this host does not refuse the server: %w", fleet.ErrNothing)
	case !errors.Is(err, postgres.ErrDeposed):
		return "", err
	}
	was, err := machine.Memory(c.State).Accept(a.dryRun)
	return fmt.Sprintf("a server from before timeline %d", was.Timeline), err
}

func (a *app) acceptStore(ctx context.Context, restored bool) error {
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	if !c.Store.Shared() {
		return usage(errors.New("the store is a file of this host: only a server can be accepted"))
	}
	accept := a.acceptOlder
	if restored {
		accept = a.acceptBackup
	}
	what, err := accept(ctx, c)
	return a.sayDone(err, storeObject("", a.dryRun, postgres.Migrated{}, nil).JSON(c.StoreText), a.did("accepted ", "would accept ")+what)
}

// named is the configuration with another store.
func (a *app) named(c *config.Config, text string) (*config.Config, error) {
	s, err := config.ParseStore(text, c.Fleet, a.Getenv)
	if err != nil {
		return nil, usage(err)
	}
	other := *c
	other.Store = s
	return &other, nil
}

func (a *app) migrateStore(ctx context.Context, args []string) error {
	c, err := a.loadConfig()
	if err == nil && len(args) > 0 {
		c, err = a.named(c, args[0])
	}
	if err != nil {
		return err
	}
	if !c.Store.Shared() {
		return fleet.WithHint(usage(errors.New("the store is a file, which the next command that writes brings up to date by itself")),
			`to use a server, write store = "postgres" in stint.toml`)
	}
	o := a.serverOptions(c)
	o.DryRun = a.dryRun
	m, err := postgres.Migrate(ctx, o)
	if err != nil {
		return fmt.Errorf("migrate %s: %w", c.StoreText, err)
	}
	if a.asObject(storeObject("", a.dryRun, m, nil).JSON(c.StoreText)) {
		return nil
	}
	switch worker := postgres.Role(c.Fleet); {
	case a.dryRun:
		a.printMigration(m)
	case slices.ContainsFunc(m.Lacks, func(sql string) bool { return strings.Contains(sql, `"`+worker+`"`) }):
		a.hint("the fleet has no role of its own for daily work; let an administrator make it, then run this again: " + strings.Join(m.Lacks, " "))
	}
	for _, step := range m.Steps {
		if !a.dryRun {
			fmt.Fprintf(a.Stdout, "made %s\n", step.Name)
		}
	}
	if len(m.Steps) == 0 {
		fmt.Fprintln(a.Stdout, a.did("up to date", "-- up to date"))
	}
	return nil
}

// printMigration prints what would be done, as a script for psql(1).
func (a *app) printMigration(m postgres.Migrated) {
	if len(m.Lacks) > 0 {
		fmt.Fprintln(a.Stdout, "-- An administrator makes these roles; a second migration then grants them what they need:")
		for _, sql := range m.Lacks {
			fmt.Fprintln(a.Stdout, sql)
		}
	}
	for _, step := range m.Steps {
		fmt.Fprintf(a.Stdout, "-- would make %s:\nbegin;\n%scommit;\n", step.Name, plain.Text(step.SQL))
	}
}

// copying bounds a copy, in which a store is locked.
const copying = time.Hour

func (a *app) copyStore(ctx context.Context, from, to string) (err error) {
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	source, err := a.openNamed(ctx, c, from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := a.openNamed(ctx, c, to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	list, err := book.Copy(ctx, source, target, to, a.dryRun)
	if err != nil || a.asObject(storeObject(to, a.dryRun, postgres.Migrated{}, list).JSON(from)) {
		return err
	}
	for _, t := range list {
		fmt.Fprintf(a.Stdout, "%s %-14s %s\n", a.did("copied", "would copy"), t.Table, plain.Plural(t.Rows, "row"))
	}
	if !a.dryRun && to != c.StoreText {
		a.hint(fmt.Sprintf("write store = %q in stint.toml", to))
	}
	return nil
}

// rowStore is a store whose rows can be copied.
type rowStore interface {
	book.Engine
	Close() error
}

func (a *app) openNamed(ctx context.Context, c *config.Config, text string) (rowStore, error) {
	c, err := a.named(c, text)
	if err != nil {
		return nil, err
	}
	if c.Store.Shared() {
		o := a.serverOptions(c)
		o.DryRun, o.Patience = a.dryRun, copying
		return postgres.Open(o)
	}
	o := a.storeOptions(c)
	o.DryRun = a.dryRun
	return sqlite.Open(ctx, o)
}
