package web

import (
	"net/http"

	"stint/internal/explain/inspect"
	"stint/internal/metrics"
)

// metrics serves the fleet's state to Prometheus.
func (s *site) metrics(w http.ResponseWriter, r *http.Request) {
	var text []byte
	ctx := r.Context()
	err := s.with(ctx, func(e *inspect.Explainer) error {
		c, err := e.Counters(ctx)
		text = metrics.Text(metrics.About{Fleet: e.Config.Fleet, Version: s.o.Version}, c)
		return err
	})
	if err != nil {
		s.failed(w, r, err, false)
		return
	}
	answer(w, http.StatusOK, "text/plain; version=0.0.4; charset=utf-8", text)
}

// healthz tells only whether the fleet can be read: the request needs no token.
func (s *site) healthz(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	err := s.with(ctx, func(e *inspect.Explainer) error { return e.Readable(ctx) })
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, "unavailable")
		return
	}
	answer(w, http.StatusOK, "text/plain; charset=utf-8", "ok\n")
}
