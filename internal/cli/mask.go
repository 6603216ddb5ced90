package cli

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	"stint/internal/config"
)

// mask keeps secrets out of what is shown, wherever they got into it: an error, a reason, a
// command line. It knows none before a configuration is read.
type mask struct {
	atomic.Pointer[strings.Replacer]
}

// hide has configurations' secrets be shown as asterisks.
func (m *mask) hide(getenv func(string) string, cs ...*config.Config) {
	var all []string
	for _, c := range cs {
		all = append(all, c.Secrets(getenv)...)
	}
	m.Store(config.Masker(all))
}

func (m *mask) masked(p []byte) []byte {
	if r := m.Load(); r != nil {
		return []byte(r.Replace(string(p)))
	}
	return p
}

// redactor is a writer whose text is masked, call by call.
type redactor struct {
	io.Writer
	*mask
}

func (v redactor) Write(p []byte) (int, error) { return v.Writer.Write(v.masked(p)) }

// handler masks what a handler answers.
func (m *mask) handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(veiledResponse{w, m}, r) })
}

type veiledResponse struct {
	http.ResponseWriter
	*mask
}

func (v veiledResponse) Write(p []byte) (int, error) { return v.ResponseWriter.Write(v.masked(p)) }

// Unwrap lets a stream be flushed.
func (v veiledResponse) Unwrap() http.ResponseWriter { return v.ResponseWriter }
