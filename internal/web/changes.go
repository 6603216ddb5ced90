package web

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"stint/internal/explain/inspect"
	"stint/internal/fleet"
)

// lookEvery is the time between two looks for a change, however many pages ask.
const lookEvery = time.Second

// unavailable is the version of a fleet that cannot be read. A page says why.
const unavailable = "unavailable"

// change is the answer to a page that a person sees: it asks every two seconds.
type change struct {
	Version string `json:"version"`         // other than the page's: load its new content
	Log     string `json:"log,omitempty"`   // for a run's page: the whole lines that its agent has printed since
	To      int64  `json:"to,omitempty"`    // the offset at which Log ends
	Reset   bool   `json:"reset,omitempty"` // the log does not continue what the page shows: load the page anew
}

// version returns the fleet's version, at most a second old.
func (s *site) version(ctx context.Context) string {
	s.looks.Lock()
	defer s.looks.Unlock()
	if s.o.Now().Sub(s.lookedAt).Abs() >= lookEvery {
		ctx = context.WithoutCancel(ctx) // other requests wait for it
		s.last = unavailable
		_ = s.with(ctx, func(e *inspect.Explainer) error {
			s.last = e.Version(ctx)
			return nil
		})
		s.lookedAt = s.o.Now()
	}
	return s.last
}

func (s *site) changed(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, r, http.StatusOK, change{Version: s.version(r.Context())})
}

// runChanged answers the page of an open run. The request says how many bytes of the log the page has.
func (s *site) runChanged(w http.ResponseWriter, r *http.Request) {
	from, err := strconv.ParseInt(r.URL.Query().Get("from"), 10, 64)
	if err != nil || from < 0 {
		s.failed(w, r, fmt.Errorf("from: want a number of bytes: %w", fleet.ErrUsage), true)
		return
	}
	log, format, ok := s.asked(w, r)
	if !ok {
		return
	}
	c := change{Version: s.version(r.Context()), To: from} // read before the log: the end of a run changes it
	if l := s.read(log, from, true, format); l.Missing == "" {
		c.Log, c.To, c.Reset = l.Text, l.To, l.Cut
	}
	writeJSON(w, r, http.StatusOK, c)
}
