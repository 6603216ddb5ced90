package door

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"stint/internal/agent/rundir"
	"stint/internal/fleet"
)

const (
	// maxRequest bounds a request, in bytes: the text of a task is the largest part of one.
	maxRequest = 1 << 20
	// maxAtOnce bounds the connections that are served at once; further ones wait in the kernel.
	maxAtOnce = 16
	// readTime is for a request to arrive, and writeTime for its answer to be read: both ends are
	// on this machine.
	readTime, writeTime = 2 * time.Second, 5 * time.Second
	// answerTime is for the answer: a tracker may be asked for its tasks meanwhile.
	answerTime = 40 * time.Second
)

// Server is the door of one session.
type Server struct {
	Session Session
	// Answer answers a request that was admitted. Several goroutines call it, one at a time
	// with verbs that may take long or write files.
	Answer func(ctx context.Context, q Request) (Answer, error)
	Log    *slog.Logger
}

// Serve serves a socket at the path, whose folder is there, until it is closed; then the socket
// is gone. Anything else at the path is removed first: the socket of a server that crashed stays,
// nobody answers there, and it goes with the run's folder.
//
// The path of a socket has 107 bytes at most, and a state folder may lie deeper: the socket is
// bound by way of its folder's descriptor.
func (s Server) Serve(path string) (shut func(), err error) {
	short, folder, err := rundir.Short(path)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(short); err != nil && !errors.Is(err, fs.ErrNotExist) {
		folder.Close()
		return nil, err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		folder.Close()
		return nil, err
	}
	// The session's context ends with its claim, and that it is lost can be asked all the same.
	ctx, cancel := context.WithCancel(context.Background())
	d := &desk{Server: s, long: make(chan struct{}, 1)}
	var serving sync.WaitGroup
	serving.Go(func() { d.accept(ctx, listener) })
	return func() {
		cancel()
		listener.Close() //nolint:errcheck // it removes the socket, which its folder does else
		serving.Wait()
		folder.Close()
	}, nil
}

// desk answers the connections of one door.
type desk struct {
	Server
	admit sync.Mutex
	long  chan struct{} // held by one of those that may take long or write files
}

// accept serves connections until the listener is closed, and returns once none is left.
func (d *desk) accept(ctx context.Context, l *net.UnixListener) {
	var serving sync.WaitGroup
	defer serving.Wait()
	free := make(chan struct{}, maxAtOnce)
	for {
		free <- struct{}{}
		conn, err := l.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // for want of descriptors, say
			<-free
			select {
			case <-ctx.Done():
				return
			case <-time.After(100 * time.Millisecond):
			}
			continue
		}
		serving.Go(func() {
			defer func() { <-free }()
			d.serve(ctx, conn)
		})
	}
}

// serve reads one request and answers it.
func (d *desk) serve(ctx context.Context, conn *net.UnixConn) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	slow := time.AfterFunc(readTime, func() { conn.Close() })
	q, err := d.read(conn)
	if !slow.Stop() {
		return
	}
	var a Answer
	if err == nil {
		a, err = d.answer(ctx, q)
	}
	if a.Version = version; err != nil {
		a.Fault = newFault(err)
	}
	defer time.AfterFunc(writeTime, func() { conn.Close() }).Stop()
	_ = json.NewEncoder(conn).Encode(a) // the one who asked may be gone
}

func (d *desk) read(conn *net.UnixConn) (q Request, err error) {
	if err := sameUser(conn); err != nil {
		return q, err
	}
	limited := &io.LimitedReader{R: conn, N: maxRequest}
	decoder := json.NewDecoder(limited)
	decoder.DisallowUnknownFields() // it may be a restriction that is not known here
	if err = decoder.Decode(&q); err == nil {
		d.admit.Lock()
		defer d.admit.Unlock()
		return d.Session.Admit(q)
	}
	if limited.N == 0 {
		err = fmt.Errorf("more than %d bytes", maxRequest)
	}
	return q, fmt.Errorf("request: %w: %w", err, fleet.ErrUsage)
}

// sameUser refuses a peer of another user: the run's folder keeps others out, unless somebody
// opened it to them.
func sameUser(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var peer *syscall.Ucred
	if ctl := raw.Control(func(fd uintptr) {
		peer, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); ctl != nil || err != nil {
		return errors.Join(ctl, err)
	}
	if int(peer.Uid) != os.Geteuid() {
		return fmt.Errorf("user %d: this is the socket of user %d: %w", peer.Uid, os.Geteuid(), fleet.ErrUsage)
	}
	return nil
}

// answer answers an admitted request in its time. A fault in this program ends the request and
// not the session.
func (d *desk) answer(ctx context.Context, q Request) (a Answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%s: internal error: %v", q.Verb, fault)
			d.Log.ErrorContext(ctx, "no answer at the session's socket", slog.String("run_id", string(d.Session.Run)), slog.Any("err", err))
		}
	}()
	if q.Verb == TaskAdd || q.Verb == TaskShow || q.Verb == Result {
		select {
		case d.long <- struct{}{}:
			defer func() { <-d.long }()
		case <-ctx.Done():
			return a, fmt.Errorf("%s: other requests of this session took too long: %w", q.Verb, context.Cause(ctx))
		}
	}
	return d.Answer(ctx, q)
}
