package door

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"stint/internal/fleet"
)

const (
	// maxAnswer bounds an answer, in bytes: a task's file may be long.
	maxAnswer = 16 << 20
	// askTime is for a question and its answer, together.
	askTime = readTime + answerTime + writeTime
)

// ErrClosed means that nobody serves the socket: there is none, or its server died.
var ErrClosed = errors.New("the session's socket is closed")

// Ask asks at the door of a session. The error of an answer is one of those that the server's had
// been; [ErrClosed] where nobody answers.
func Ask(ctx context.Context, path string, q Request) (Answer, error) {
	a, err := ask(ctx, path, q)
	if err != nil {
		err = fmt.Errorf("ask at %s: %w", path, err)
		if errors.Is(err, os.ErrPermission) {
			err = fleet.WithHint(err, "the agent's own sandbox refuses sockets: allow Unix sockets in the agent's command")
		}
		return a, err
	}
	if f := a.Fault; f != nil {
		return a, fleet.WithHint(faultError{*f}, f.Hint)
	}
	return a, nil
}

func ask(ctx context.Context, path string, q Request) (a Answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	conn, err := dial(ctx, path)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ENOTDIR) {
		return a, ErrClosed
	}
	if err != nil {
		return a, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	q.Version = version
	text, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	if len(text) > maxRequest {
		return a, fmt.Errorf("%s: %d bytes, want at most %d: %w", q.Verb, len(text), maxRequest, fleet.ErrUsage)
	}
	_, _ = conn.Write(text) // one that is refused before it is read has an answer, too
	if err := json.NewDecoder(io.LimitReader(conn, maxAnswer)).Decode(&a); err != nil {
		return a, errors.Join(context.Cause(ctx), fmt.Errorf("no answer: %w", err))
	}
	if a.Version != version {
		return a, fmt.Errorf("answer of version %d: want %d", a.Version, version)
	}
	return a, nil
}

// dial connects to a socket whose path may be longer than the 107 bytes that an address holds: it
// is then reached by way of its folder's descriptor.
func dial(ctx context.Context, path string) (net.Conn, error) {
	const most = 107
	if len(path) > most {
		fd, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		folder := os.NewFile(uintptr(fd), path)
		defer folder.Close()
		path = fmt.Sprintf("/proc/self/fd/%d/%s", fd, filepath.Base(path))
	}
	return (&net.Dialer{Timeout: readTime + time.Second}).DialContext(ctx, "unix", path)
}
