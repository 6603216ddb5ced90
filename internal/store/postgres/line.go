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
	// A write is tried for so long, as SQLite's is: it must stay below the time a unit has to stop, or
	// a cancelled worker could not record its end.
	patience = 15 * time.Second
	// A connection that nobody uses is closed after this time: a server has few.
	idle = 5 * time.Second
	// The server is dead if it does not answer a dial for so long.
	dialing = 5 * time.Second
)

// line is a process's one connection, made when it is used and closed when it is not.
type line struct {
	config *pgconn.Config
	most   time.Duration       // how long a transaction is tried
	free   chan *pgconn.PgConn // has nil or the connection; a transaction takes it out
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

// writable refuses a server that takes no writes, so that the next address is tried. A server says by
// itself whether it does; a pooler has to be asked, since it says what one of its servers said once, maybe
// before that was promoted or deposed.
func writable(several bool) pgconn.ValidateConnectFunc {
	return func(ctx context.Context, c *pgconn.PgConn) error {
		if !several && c.ParameterStatus("in_hot_standby") == "off" && c.ParameterStatus("default_transaction_read_only") == "off" {
			return nil
		}
		return pgconn.ValidateConnectTargetSessionAttrsReadWrite(ctx, c)
	}
}

// use runs a transaction on the connection, and again where a second try may go better, for as long
// as patience lasts.
func (l *line) use(ctx context.Context, writes bool, transact func(context.Context, *pgconn.PgConn) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.most, silenceError{l.most})
	defer cancel()
	var last error // of the tries before
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

// awaitEnd waits until a server knows that nobody waits for its answer any more. If the process ended before that, the
// server would go on, with the fleet's row, for as long as a standby is away that it waits for.
func awaitEnd(c *pgconn.PgConn) {
	select {
	case <-c.CleanupDone():
	case <-time.After(time.Second):
	}
}

// keep is a connection that may serve once more, or nil. One that a failure left in a transaction is
// closed, by which the server undoes it.
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

// rest closes the connection if nobody uses it.
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

// close closes the connection, or has the transaction close it that is at work.
func (l *line) close() error {
	l.closed.Store(true)
	l.closes.Stop()
	l.rest()
	return nil
}
