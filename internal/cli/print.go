package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"stint/internal/plain"
	"stint/internal/screen"
	"stint/internal/view"
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

// asObject prints an object if --json asks for objects, and reports whether it did.
func (a *app) asObject(object any) bool {
	if a.json {
		printJSON(a.Stdout, object)
	}
	return a.json
}

// say prints an object, or with no --json lines for people.
func (a *app) say(object any, lines func(screen.Style) []string) {
	if !a.asObject(object) {
		a.print(lines(a.style()))
	}
}

// show prints a list, unless getting it failed, as an object, or with no --json as a table: where that would be empty, what there is
// none of, if nothing else was said of that.
func show[T any](a *app, object json.RawMessage, v view.View[T], list []T, err error, none string) error {
	if err != nil {
		return err
	}
	if len(list) == 0 && none != "" && !a.nothing && !a.json {
		fmt.Fprintln(a.Stderr, "stint: "+plain.Text(none))
	}
	a.say(object, func(s screen.Style) []string {
		s.Tall = true
		return v.Table(list, a.Now(), s)
	})
	return nil
}

// sayLine prints an object, or with no --json a line for people.
func (a *app) sayLine(object any, line string) {
	if !a.asObject(object) {
		fmt.Fprintln(a.Stdout, plain.Text(line))
	}
}

// sayDone is [app.sayLine] of what was done, or else its error.
func (a *app) sayDone(err error, object any, line string) error {
	if err == nil {
		a.sayLine(object, line)
	}
	return err
}

// did says what was done, or with --dry-run what would be.
func (a *app) did(done, would string) string {
	if a.dryRun {
		return would
	}
	return done
}

// output is standard output that remembers its first failure: lost output must not pass for
// printed.
type output struct {
	io.Writer
	*mask
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(o.masked(p))
	if o.err == nil && err != nil {
		o.err = fmt.Errorf("write to standard output: %w", err)
	}
	return n, err
}

// table prints rows in aligned columns, the titles first.
func (a *app) table(rows [][]string) {
	var t screen.Table
	for _, row := range rows {
		t.Columns = make([]screen.Column, max(len(t.Columns), len(row)))
		t.Rows = append(t.Rows, screen.Row(row...))
	}
	a.print(t.Lines(screen.Style{}))
}

func (a *app) print(lines []string) {
	for _, line := range lines {
		fmt.Fprintln(a.Stdout, line)
	}
}

// prose prints a sentence, between words on more than one line where the terminal is narrow.
func (a *app) prose(format string, args ...any) {
	a.print(a.style().Paragraph(screen.Normal, "", "  ", fmt.Sprintf(format, args...)))
}

// stamp shows a time.
func stamp(t time.Time) string { return screen.Stamp(t) }

// printLine writes one object on a line of its own, as a log does.
func printLine(w io.Writer, v any) { encode(w, v, "") }

// release is the version of a build that was made without the repository's own stamp; scripts/dist fills it in.
var release string //nolint:gochecknoglobals // the linker fills it in

// version is the release's, or the module's version as the toolchain recorded it.
func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

func (a *app) printVersion() { a.sayLine(versionObject().JSON(version()), "stint "+version()) }
