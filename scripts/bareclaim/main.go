// Command bareclaim takes a claim in a store as a program does that knows nothing else: cobra, the SQLite driver, the
// statements of "stint claim". A Go program cannot do with less; bench measures stint beside it.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	_ "github.com/mattn/go-sqlite3"
	"github.com/spf13/cobra"
)

const (
	look = `select key, holder, epoch, acquired_at, expires_at, renewals, note, released_at, ending, reason
		from claims where key = :key`
	grant = `insert into claims (key, holder, epoch, acquired_at, expires_at, note)
		values (:key, :holder, 1, :now, :expires, '')
		on conflict (key) do update set holder = excluded.holder, epoch = epoch + 1, acquired_at = :now, renewals = 0,
			note = '', expires_at = :expires, released_at = null, ending = '', reason = ''
		where released_at is not null or expires_at <= :now
		returning key, holder, epoch, acquired_at, expires_at, renewals, note, released_at, ending, reason`
	denied = 4
)

// claim is a row of the table.
type claim struct {
	key, holder              string
	epoch, acquired, expires int64
	renewals                 int
	note, ending, reason     string
	released                 sql.NullInt64
}

func (c *claim) scan(row *sql.Row) error {
	return row.Scan(&c.key, &c.holder, &c.epoch, &c.acquired, &c.expires, &c.renewals, &c.note, &c.released, &c.ending, &c.reason)
}

var errDenied = errors.New("denied")

func main() {
	var holder string
	root := &cobra.Command{Use: "bareclaim", SilenceErrors: true, SilenceUsage: true}
	command := &cobra.Command{
		Use:  "claim STORE KEY",
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error { return take(c.Context(), args[0], args[1], holder) },
	}
	command.Flags().StringVar(&holder, "holder", "", "who takes it")
	root.AddCommand(command)
	switch err := root.ExecuteContext(context.Background()); {
	case errors.Is(err, errDenied):
		os.Exit(denied)
	case err != nil:
		fmt.Fprintln(os.Stderr, "bareclaim:", err)
		os.Exit(1)
	}
}

func take(ctx context.Context, store, key, holder string) (err error) {
	db, err := sql.Open("sqlite3", "file:"+store+"?mode=rw&_txlock=immediate&_busy_timeout=15000&_foreign_keys=1&_synchronous=FULL")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	var version int
	if err := db.QueryRowContext(ctx, "pragma user_version").Scan(&version); err != nil {
		return err
	}
	var fleet, workspace string
	if err := db.QueryRowContext(ctx, "select name, workspace from fleet").Scan(&fleet, &workspace); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	now := time.Now()
	var c claim
	err = c.scan(tx.QueryRowContext(ctx, look, sql.Named("key", key)))
	switch {
	case err == nil && !c.released.Valid && c.expires > now.UnixMilli():
		fmt.Printf("denied %s held by %s epoch %d until %s\n", c.key, c.holder, c.epoch, time.UnixMilli(c.expires).UTC().Format(time.RFC3339))
		return errors.Join(errDenied, tx.Rollback())
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return errors.Join(err, tx.Rollback())
	}
	err = c.scan(tx.QueryRowContext(ctx, grant, sql.Named("key", key), sql.Named("holder", holder),
		sql.Named("now", now.UnixMilli()), sql.Named("expires", now.Add(time.Hour).UnixMilli())))
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	fmt.Printf("claimed %s epoch %d until %s\n", c.key, c.epoch, time.UnixMilli(c.expires).UTC().Format(time.RFC3339))
	return nil
}
