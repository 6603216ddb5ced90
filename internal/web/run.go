package web

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/inspect"
	"stint/internal/screen"
	"stint/internal/transcript"
	"stint/internal/wire"
)

// runBody is one run.
type runBody struct {
	inspect.RunDetail
	Sign  fleet.Sign
	Terms []fleet.Part // that the grade is the sum of
	Facts []fleet.Part // what else is known
	Log   logView
}

// logView is the end of a log.
type logView struct {
	Text     string // made safe to show
	From, To int64  // which bytes of the log it is
	Missing  string // why there is nothing to show
}

// logShown is how much of a log a page shows: its end.
const logShown = 64 << 10

func (s *site) run(r *http.Request, e *inspect.Explainer) (view, error) {
	d, err := s.detail(r, e)
	if err != nil {
		return view{}, err
	}
	v := view{Title: "Run " + string(d.ID), Object: wire.NewRunDetail(d)}
	if v.Live = d.EndedAt.IsZero(); v.Live {
		v.Events = "/runs/" + string(d.ID) + "/events"
	}
	if wantsJSON(r) {
		return v, nil
	}
	terms, facts := d.Verdict.Terms()
	v.Body = runBody{
		RunDetail: d, Sign: d.RunStatus.Sign(), Terms: terms, Facts: facts, Log: s.logOf(d, v.Live, e.Config.Agents[d.Agent].Transcript),
	}
	return v, nil
}

// logOf is the end of a run's log, or why there is none.
func (s *site) logOf(d inspect.RunDetail, grows bool, f transcript.Format) logView {
	if d.Swept != "" {
		return logView{Missing: d.Swept}
	}
	return s.tail(d.Files.Log, grows, f)
}

// detail reads the run that a request names. Its id is checked before it becomes part of
// any path.
func (s *site) detail(r *http.Request, e *inspect.Explainer) (inspect.RunDetail, error) {
	id, err := fleet.ParseRunID(part(r, "run"))
	if err != nil {
		return inspect.RunDetail{}, errors.Join(err, fleet.ErrUsage)
	}
	return e.RunDetail(r.Context(), id)
}

// openLog opens a log, of which an agent may have made something else: nobody is to read by
// this page what is not a log, or to wait for a pipe.
func (s *site) openLog(path string) (*os.File, os.FileInfo, error) {
	f, err := s.o.Open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// tail reads the end of a log: from where the first whole line begins, if the beginning of
// the log is not shown, and, while the log grows, to where the last whole one ends.
func (s *site) tail(path string, grows bool, f transcript.Format) (b logView) {
	file, info, err := s.openLog(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return logView{Missing: "there is none"}
	case err != nil:
		return logView{Missing: err.Error()}
	}
	defer file.Close()
	b.From = max(0, info.Size()-logShown)
	data := make([]byte, info.Size()-b.From)
	n, err := file.ReadAt(data, b.From)
	if err != nil && !errors.Is(err, io.EOF) {
		return logView{Missing: err.Error()}
	}
	data = data[:n]
	if first := bytes.IndexByte(data, '\n'); b.From > 0 && first >= 0 {
		data, b.From = data[first+1:], b.From+int64(first)+1
	}
	if last := bytes.LastIndexByte(data, '\n'); grows && last >= 0 {
		data = data[:last+1]
	}
	b.To = b.From + int64(len(data))
	if len(data) > 0 {
		b.Text = strings.Join(screen.PrintedLines(transcript.ReadableText(f, string(data))), "\n") + "\n"
	}
	return b
}

// log serves the whole log as it is: as text, which a browser makes nothing else of.
func (s *site) log(w http.ResponseWriter, r *http.Request) {
	var d inspect.RunDetail
	var wrong error
	err := s.with(r.Context(), func(e *inspect.Explainer) error {
		d, wrong = s.detail(r, e)
		return nil
	})
	if err = errors.Join(err, wrong); err != nil {
		s.failed(w, r, err, wrong != nil)
		return
	}
	f, info, err := s.openLog(d.Files.Log)
	if err != nil {
		s.fail(w, r, failure{Status: http.StatusNotFound, Title: "No log", Text: "run " + string(d.ID) + " has no log"})
		return
	}
	defer f.Close()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	http.ServeContent(&patient{w, http.NewResponseController(w), s.o.Now}, r, "", info.ModTime(), f)
}

// patient gives each piece its own time to be taken: a log has up to 64 MiB, and a phone
// may be far away, but a client that takes nothing is not waited for.
type patient struct {
	http.ResponseWriter
	control *http.ResponseController
	now     func() time.Time
}

func (p *patient) Write(piece []byte) (int, error) {
	// Where there is no deadline to set there is none to miss.
	_ = p.control.SetWriteDeadline(p.now().Add(sendWithin))
	return p.ResponseWriter.Write(piece)
}
