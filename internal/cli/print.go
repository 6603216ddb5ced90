package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// printJSON writes one object, for a program to read and a person to look at.
func printJSON(w io.Writer, v any) { encode(w, v, "  ") }

func encode(w io.Writer, v any, indent string) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		panic(err) // every object printed here is made of plain fields
	}
	_, _ = w.Write(text.Bytes()) // an output that fails says so at the end
}

// output is standard output that remembers its first failure: what was not told must
// not pass for done.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if o.err == nil && err != nil {
		o.err = fmt.Errorf("write to standard output: %w", err)
	}
	return n, err
}

// table prints rows in aligned columns.
func table(w io.Writer, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = strings.ReplaceAll(plain(cell), "\n", " ")
		}
		fmt.Fprintln(t, strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	_ = t.Flush()
}

// plain makes text safe to show on a terminal: what comes from files, agents and
// other people's holders may hold control characters and marks that reorder text.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r) && r != '\u200d':
			return '\ufffd'
		}
		return r
	}, s)
}

// stamp is how a time is shown.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// orNull gives JSON a null for the zero time.
func orNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := stamp(t)
	return &s
}

// printLine writes one object on a line of its own, as a log does.
func printLine(w io.Writer, v any) { encode(w, v, "") }

// newLog writes to standard error, with JSON as JSON, so that all of it can be parsed.
// The journal stamps lines itself.
func newLog(s Surroundings, asJSON bool) *slog.Logger {
	journal := s.Getenv("JOURNAL_STREAM") != ""
	options := &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey && journal {
				return slog.Attr{}
			}
			return a
		},
	}
	if asJSON {
		return slog.New(slog.NewJSONHandler(s.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(s.Stderr, options))
}

// version is the module's version as the toolchain recorded it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

// fields splits a header into its columns.
func fields(header string) []string { return strings.Fields(header) }

// indented moves a row of a table to the right.
func indented(row []string) []string {
	row[0] = "  " + row[0]
	return row
}
