package postgres

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"stint/internal/fleet"
)

// decidedError is a rule's refusal of a write: no retry changes it.
type decidedError struct{ error }

// silenceError tells that the time for all tries is over.
type silenceError struct{ most time.Duration }

func (s silenceError) Error() string { return fmt.Sprintf("the store did not answer in %s", s.most) }

// passed is an error that a retry may overcome: the connection broke, and nobody knows whether the server wrote; or
// another process did the same at the same time.
type passed struct{ error }

func (p passed) Unwrap() error { return p.error }

// Codes of the server's errors, https://www.postgresql.org/docs/current/errcodes-appendix.html.
const (
	codeForbidden  = "42501"
	codeFull       = "53100"
	codeLate       = "57014"
	codeLocked     = "55P03"
	codeNoDatabase = "3D000"
	codeNoTable    = "42P01"
	codePassword   = "28P01"
	codeReadOnly   = "25006"
	codeUser       = "28000"
	codeBusy       = "53300"
	codeIdle       = "25P03"
	codeStarting   = "57P03"
)

// passing reports whether an error may be over in a moment: another writer, a server that restarts, or one that is not
// the primary yet or any more.
func passing(code string) bool {
	return slices.Contains([]string{"40001", "40P01", codeLocked, "57P01", "57P02", codeStarting, codeReadOnly, codeBusy}, code)
}

// again reports whether a retry may succeed. A read is not retried if no server is reached: its caller can look again.
func again(err error, writes bool) bool {
	var (
		server      *pgconn.PgError
		unreachable *pgconn.ConnectError
		over        passed
		old         deposed
	)
	switch {
	case errors.As(err, &old): // the network may not have followed the failover yet
		return writes
	case errors.As(err, &over):
		return true
	case errors.As(err, &server):
		return passing(server.Code)
	case errors.As(err, &unreachable):
		return writes
	}
	return false
}

// translate adds to errors what the operator can do.
func translate(err error) error {
	const goOn = "; sessions that are at work go on until their leases end"
	var (
		server      *pgconn.PgError
		unreachable *pgconn.ConnectError
		old         deposed
		silence     silenceError
	)
	switch {
	case errors.As(err, &old):
		return fleet.WithHint(err, "make this server a standby of the new one; if the new one is gone for good: stint store accept")
	case errors.Is(err, pgconn.ErrReadOnlyConnection):
		return fleet.WithHint(err, "no address of the store takes writes: name the primary among them, or promote one"+goOn)
	case errors.As(err, &server) && hints(server.Code) != "":
		return fleet.WithHint(err, hints(server.Code))
	case errors.As(err, &unreachable):
		return fleet.WithHint(err, "check that the server of the store runs and can be reached from here"+goOn)
	case errors.As(err, &silence):
		return fleet.WithHint(err, "look at the server's load, and for a network that loses what is sent"+goOn)
	}
	return err
}

// hints returns the remedy for a server's error; empty: none known.
func hints(code string) string {
	return map[string]string{
		codeForbidden:  "a role such as stint_FLEET_ro only reads: to write, connect as the fleet's role; one that lacks a right gets it by stint store migrate, as the owner of the schema",
		codeFull:       "the server's disk is full; nothing was written",
		codeIdle:       "this process was stopped in the middle of a transaction; try again",
		codeLate:       "the server works too long at a statement; look at its load",
		codeLocked:     "another session locks the fleet's row or a table for long; look for it in pg_stat_activity and pg_locks",
		codeNoDatabase: "make the database, or name another in the store's service",
		codeNoTable:    "make the fleet's schema: stint store migrate",
		codePassword:   "put the password into ~/.pgpass, or into the file that PGPASSFILE names",
		codeReadOnly:   "this server takes no writes; name the primary, or all of them",
		codeStarting:   "the server starts or stops; try again in a moment",
		codeUser:       "the server does not let this role in: look at its pg_hba.conf, and whether the role may log in",
		codeBusy:       "the server has no connection left; raise its max_connections, or put a pooler before it",
	}[code]
}
