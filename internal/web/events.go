package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"stint/internal/agent/transcript"
	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/screen"
)

const (
	// beat is the interval at which a stream says something, so that both ends know that the other is
	// there.
	beat = 15 * time.Second
	// sendWithin bounds the time in which a reader takes an event.
	sendWithin = 10 * time.Second
	// retryAfter is when a browser comes again, in milliseconds.
	retryAfter = 2000
	// followEvery is the interval of looks at a log that somebody follows.
	followEvery = 400 * time.Millisecond
	// piece bounds the part of a log in one event, in bytes.
	piece = 32 << 10
)

// stream is a connection on which events are sent.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	now     func() time.Time
}

// begin starts a stream. A request for its header alone gets that alone.
func (s *site) begin(w http.ResponseWriter, r *http.Request) (*stream, error) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy must not collect what is to be seen at once
	st := &stream{w, http.NewResponseController(w), s.o.Now}
	if r.Method == http.MethodHead {
		return st, errors.New("no stream")
	}
	return st, st.write(fmt.Sprintf("retry: %d\n\n", retryAfter))
}

// send sends an event. Its data goes as JSON, which has no line ends.
func (s *stream) send(event, id string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	text := "event: " + event + "\n"
	if id != "" {
		text += "id: " + id + "\n"
	}
	return s.write(text + "data: " + string(data) + "\n\n")
}

func (s *stream) keepAlive() error { return s.write(":\n\n") }

func (s *stream) write(text string) error {
	// Where there is no deadline to set there is none to miss.
	_ = s.control.SetWriteDeadline(s.now().Add(sendWithin))
	if _, err := io.WriteString(s.w, text); err != nil {
		return err
	}
	return s.control.Flush()
}

// change is the event that the pages are out of date.
type change struct {
	Version string `json:"version"`
}

// join makes the request one of those who wait for changes.
func (s *site) join(w http.ResponseWriter, r *http.Request) (versions <-chan string, leave func(), ok bool) {
	if versions, leave, ok = s.changes.wait(r.Context()); !ok {
		w.Header().Set("Retry-After", "30")
		s.fail(w, r, failure{
			Status: http.StatusServiceUnavailable, Title: "Too many",
			Text: fmt.Sprintf("%d pages are open that wait for changes", maxWaiting), Hint: "close some",
		})
	}
	return versions, leave, ok
}

// events reports changes until the reader goes.
func (s *site) events(w http.ResponseWriter, r *http.Request) {
	versions, leave, ok := s.join(w, r)
	if !ok {
		return
	}
	defer leave()
	st, err := s.begin(w, r)
	beats := time.NewTicker(beat)
	defer beats.Stop()
	for err == nil {
		select {
		case v := <-versions:
			err = st.send("change", "", change{v})
		case <-beats.C:
			err = st.keepAlive()
		case <-r.Context().Done():
			return
		}
	}
}

// runEvents follows the log of a run, and reports changes, until the run has ended.
func (s *site) runEvents(w http.ResponseWriter, r *http.Request) {
	d, format, ok := s.asked(w, r)
	if !ok {
		return
	}
	from, err := offsetOf(r)
	if err != nil {
		s.failed(w, r, err, true)
		return
	}
	versions, leave, ok := s.join(w, r)
	if !ok {
		return
	}
	defer leave()
	st, err := s.begin(w, r)
	if err != nil {
		return
	}
	f := follower{open: s.openLog, path: d.Files.Log, at: from, whole: from, stream: st}
	f.lines = screen.NewPrinted(&f.text)
	f.readable = transcript.NewReadable(format, f.lines)
	s.follow(r.Context(), d.ID, &f, versions)
}

// offsetOf returns the number of bytes of the log that the reader has: by its first word, or by the last event
// that it got.
func offsetOf(r *http.Request) (int64, error) {
	text := cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("from"))
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("from %q: want a number of bytes: %w", plain.Line(text), fleet.ErrUsage)
	}
	return n, nil
}

// follow sends the log so far, and then each addition. It asks whether the run has ended when
// something has changed, and sends all of the log before it reports the end.
func (s *site) follow(ctx context.Context, id fleet.RunID, f *follower, versions <-chan string) {
	looks, beats := time.NewTicker(followEvery), time.NewTicker(beat)
	defer looks.Stop()
	defer beats.Stop()
	ended := s.ended(ctx, id)
	err := f.drain(ended)
	for err == nil && !ended {
		select {
		case v := <-versions:
			ended = s.ended(ctx, id)
			if err = f.drain(ended); err == nil {
				err = f.stream.send("change", "", change{v})
			}
		case <-looks.C:
			err = f.drain(false)
		case <-beats.C:
			err = f.stream.keepAlive()
		case <-ctx.Done():
			return
		}
	}
	if err == nil {
		_ = f.stream.send("end", "", struct{}{}) // the reader has gone away: nobody is left to get the error
	}
}

func (s *site) ended(ctx context.Context, id fleet.RunID) (ended bool) {
	_ = s.with(ctx, func(e *inspect.Explainer) error { // who cannot say yet says later
		run, err := e.Run(ctx, id)
		ended = err == nil && !run.EndedAt.IsZero()
		return err
	})
	return ended
}

// follower sends a log as it grows.
type follower struct {
	open   func(path string) (*os.File, os.FileInfo, error)
	path   string
	at     int64 // what was read of it
	whole  int64 // what was read of it in whole lines: from there a reader goes on who lost us
	stream *stream
	text   bytes.Buffer

	readable *transcript.Readable // into lines
	lines    *screen.Printed      // into text
}

// drain sends what was added. A log that was cut down since gives the event "reset": the
// reader loads the page anew. Text without a line end waits for it, unless it is the last.
func (f *follower) drain(last bool) error {
	file, info, err := f.open(f.path)
	if err != nil {
		return nil // there may be one later; the page says that there is none
	}
	defer file.Close()
	if info.Size() < f.at {
		f.at, f.whole = info.Size(), info.Size()
		return f.stream.send("reset", "", struct{}{})
	}
	data := make([]byte, piece)
	for f.at < info.Size() {
		n, err := file.ReadAt(data[:min(piece, info.Size()-f.at)], f.at)
		if n == 0 {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if end := bytes.LastIndexByte(data[:n], '\n'); end >= 0 {
			f.whole = f.at + int64(end) + 1
		}
		f.at += int64(n)
		_, _ = f.readable.Write(data[:n]) // a buffer takes everything
		if err := f.send(); err != nil {
			return err
		}
	}
	if last {
		_ = f.readable.Close()
		_ = f.lines.Close()
	}
	return f.send()
}

// send sends the lines that are whole.
func (f *follower) send() error {
	if f.text.Len() == 0 {
		return nil
	}
	text := f.text.String()
	f.text.Reset()
	return f.stream.send("log", strconv.FormatInt(f.whole, 10), text)
}
