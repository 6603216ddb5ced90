package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// The time for all tries of a write, as for SQLite: it must stay below the time a unit has to stop, or a cancelled
	// worker could not record its end.
	patience = 15 * time.Second
	// An unused connection is closed after this time: a server has few.
	idle = 5 * time.Second
	// A server that does not answer a dial for this time counts as dead.
	dialing = 5 * time.Second
)

// line is a process's one connection, opened on demand and closed when unused.
type line struct {
	config *pgconn.Config
	most   time.Duration       // time for all tries of a transaction
	free   chan *pgconn.PgConn // holds nil or the connection; a transaction takes it out
	closes *time.Timer
	closed atomic.Bool
}

func newLine(config *pgconn.Config, most time.Duration) *line {
	config.ConnectTimeout = dialing
	if config.ValidateConnect == nil {
		config.ValidateConnect = writable(len(config.Fallbacks) > 0)
	}
	l := &line{config: config, most: most, free: make(chan *pgconn.PgConn, 1)}
	l.closes = time.AfterFunc(idle, l.rest)
	l.free <- nil
	return l
}

// writable refuses a server that takes no writes, so that the next address is tried. A server tells by itself; a pooler
// must be asked, since it repeats what one of its servers told once, perhaps before a failover.
func writable(several bool) pgconn.ValidateConnectFunc {
	return func(ctx context.Context, c *pgconn.PgConn) error {
		if !several && c.ParameterStatus("in_hot_standby") == "off" && c.ParameterStatus("default_transaction_read_only") == "off" {
			return nil
		}
		return pgconn.ValidateConnectTargetSessionAttrsReadWrite(ctx, c)
	}
}

// use runs a transaction on the connection, and retries while a retry may succeed and patience lasts.
func (l *line) use(ctx context.Context, writes bool, transact func(context.Context, *pgconn.PgConn) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.most, silenceError{l.most})
	defer cancel()
	var last error // of the try before
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := l.once(ctx, transact)
		var d decidedError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &d):
			return d.error
		case ctx.Err() != nil:
			return translate(fmt.Errorf("%w: %w", context.Cause(ctx), cmp.Or(last, err)))
		case !again(err, writes):
			return translate(err)
		}
		last = err
		select {
		case <-ctx.Done():
		case <-time.After(pause/2 + rand.N(pause)): //nolint:gosec // how long to wait is no secret
		}
	}
}

func (l *line) once(ctx context.Context, transact func(context.Context, *pgconn.PgConn) error) (err error) {
	var c *pgconn.PgConn
	select {
	case <-ctx.Done():
		return ctx.Err()
	case c = <-l.free:
	}
	defer func() {
		l.free <- l.keep(c)
		if l.closes.Reset(idle); l.closed.Load() {
			_ = l.close()
		}
	}()
	if c == nil {
		if c, err = pgconn.ConnectConfig(ctx, l.config); err != nil {
			return err
		}
	}
	if err = transact(ctx, c); err != nil && c.IsClosed() {
		if ctx.Err() != nil {
			awaitEnd(c)
		}
		return passed{err}
	}
	return err
}

// awaitEnd waits until the server knows that its client has gone. If the process ended before that, the server could
// wait for an absent standby without end, and hold the fleet's row.
func awaitEnd(c *pgconn.PgConn) {
	select {
	case <-c.CleanupDone():
	case <-time.After(time.Second):
	}
}

// keep returns a connection that can be used again, or nil. It closes one that a failure left in a transaction, so that
// the server undoes it.
func (l *line) keep(c *pgconn.PgConn) *pgconn.PgConn {
	if c == nil || c.IsClosed() {
		return nil
	}
	if c.TxStatus() == 'I' {
		return c
	}
	hangUp(c)
	return nil
}

// rest closes an unused connection.
func (l *line) rest() {
	select {
	case c := <-l.free:
		if c != nil {
			hangUp(c)
		}
		l.free <- nil
	default:
	}
}

func hangUp(c *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.Close(ctx) // the server finds out
}

// close closes the connection, or lets the transaction that uses it do so.
func (l *line) close() error {
	l.closed.Store(true)
	l.closes.Stop()
	l.rest()
	return nil
}
