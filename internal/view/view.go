// Package view declares once which facts of a thing are shown, and shows them on every face: the object that "--json"
// prints and the page serves, a table on a terminal or in a page, and the description that "stint COMMAND --json --help"
// prints.
//
// An object's "schema" names its kind and version. Within a version no field goes away or changes its meaning. Times are
// RFC 3339 in UTC; lists are never null.
package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	h "stint/internal/markup"
	"stint/internal/plain"
	"stint/internal/screen"
)

// Field is one fact of a thing.
type Field[T any] struct {
	spec
	of func(T) any
}

// spec describes a field for things of any type.
type spec struct {
	Key, Doc string                           // in the object; without a key only people see it
	Name     string                           // of the column; empty: only programs see it
	from     string                           // the schema of the view that it came from
	inner    func(seen map[string]bool) []Row // describes the objects within
	kind     kind

	null, absent, wide, rare, alone, listed bool
}

// Wide marks a column that terminals below 100 columns and a phone's summary leave out.
func (f Field[T]) Wide() Field[T] { f.wide = true; return f }

// Rare marks a column that is left out if no thing of the list has it.
func (f Field[T]) Rare() Field[T] { f.rare = true; return f }

// OrNull makes a field null, and a dash for people, if it is 0, empty or no time.
func (f Field[T]) OrNull() Field[T] { f.null = true; return f }

// OrAbsent makes an object leave the field out if the thing has none.
func (f Field[T]) OrAbsent() Field[T] { f.absent = true; return f }

// Alone keeps a field of the sheet out of lists.
func (f Field[T]) Alone() Field[T] { f.alone = true; return f }

// Listed keeps a column of lists off the sheet.
func (f Field[T]) Listed() Field[T] { f.listed = true; return f }

// Warn gives a column the colour of a warning.
func (f Field[T]) Warn() Field[T] { f.kind.paint = screen.Yellow; return f }

// Tagged describes the field's value, see [Tagged].
func (f Field[T]) Tagged(value any) Field[T] {
	f.inner = func(map[string]bool) []Row { return Tagged{value}.Rows() }
	return f
}

// Names marks the column that names the thing, if that has no link.
func (f Field[T]) Names() Field[T] { f.kind.names = true; return f }

// value returns the field's value; nil: the thing has none.
func (f Field[T]) value(thing T) any {
	if v := f.of(thing); !f.kind.none(v) || f.kind.counts && !f.null {
		return v
	}
	return nil
}

// View lists the fields shown of things of one type.
type View[T any] []Field[T]

// Without leaves out the column of that name.
func (v View[T]) Without(name string) View[T] {
	return plain.Kept(v, func(f Field[T]) bool { return f.Name != name })
}

// JSON encodes one thing as an object.
func (v View[T]) JSON(thing T) json.RawMessage {
	b := []byte("{")
	for _, f := range v {
		if f.Key == "" {
			continue
		}
		value := f.of(thing)
		none := f.kind.none(value)
		if none && f.absent {
			continue
		}
		var data any
		if !none || !f.null {
			data = f.kind.data(value)
		}
		b = fmt.Appendf(b, "%q:%s,", f.Key, encoded(data))
	}
	return append(bytes.TrimSuffix(b, []byte(",")), '}')
}

// encoded encodes a value as JSON. The caller escapes it for a page.
func encoded(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // every value is plain
	}
	return bytes.TrimSpace(b.Bytes())
}

// roomForWide is the width of a terminal, in columns, from which it shows the wide columns.
const roomForWide = 100

// shown returns the columns of a list.
func (v View[T]) shown(list []T, room bool) View[T] {
	return plain.Kept(v, func(f Field[T]) bool {
		has := func(thing T) bool { return f.value(thing) != nil }
		return f.Name != "" && !f.alone && (room || !f.wide) && (!f.rare || slices.ContainsFunc(list, has))
	})
}

// Table shows a list on a terminal, or in a pipe. An empty list has no lines.
func (v View[T]) Table(list []T, now time.Time, s screen.Style) []string {
	if len(list) == 0 {
		return nil
	}
	var t screen.Table
	shown := plain.Kept(v.shown(list, s.Width <= 0 || s.Width >= roomForWide), func(f Field[T]) bool { return f.kind.text != nil })
	for _, f := range shown {
		c := screen.Column{Title: strings.ToUpper(f.Name), Right: f.kind.right, Least: f.kind.least}
		if f.kind.short != "" && s.Width > 0 {
			c.Title, c.Right = f.kind.short, true
		}
		t.Columns = append(t.Columns, c)
	}
	for _, thing := range list {
		t.Rows = append(t.Rows, plain.Each(shown, func(f Field[T]) screen.Cell { return f.text(thing, now, s) }))
	}
	return t.Lines(s)
}

func (f Field[T]) text(thing T, now time.Time, s screen.Style) screen.Cell {
	value := f.value(thing)
	if value == nil {
		return screen.Text("-")
	}
	cell := f.kind.text(value, now, s)
	cell.Paint += f.kind.paint
	return cell
}

// Sheet shows one thing on a terminal, or in a pipe: a line for each of its facts.
func (v View[T]) Sheet(thing T, now time.Time, s screen.Style) []string {
	t := screen.Table{Columns: []screen.Column{{}, {Least: minText}}}
	for _, f := range v {
		if f.Name != "" && !f.listed && f.value(thing) != nil {
			t.Rows = append(t.Rows, []screen.Cell{{Text: strings.ToLower(f.Name) + ":", Paint: screen.Dim}, f.text(thing, now, s)})
		}
	}
	return t.Lines(s)
}

// Page says how a page shows a table.
type Page struct {
	ID, Class, Caption string
	None               string // the text for an empty list
	Now                time.Time
	Row                func(i int) h.Attribute // attribute of a row; nil: none
}

// HTML shows a list as a table in a page. A narrow screen shows each row as a card.
func (v View[T]) HTML(list []T, p Page) h.HTML {
	if len(list) == 0 {
		return h.El("p.empty", p.None)
	}
	shown := v.shown(list, true)
	naming := max(0, slices.IndexFunc(shown, func(f Field[T]) bool { return f.kind.names }))
	head := h.Each(shown, func(f Field[T]) h.HTML { return h.El("th"+f.class(), h.Attr("scope", "col"), f.Name) })
	rows := make([]any, len(list))
	for row, thing := range list {
		var cells []any
		if p.Row != nil {
			cells = append(cells, p.Row(row))
		}
		for i, f := range shown {
			name, scope := "td", h.Attribute{}
			if i == naming {
				name, scope = "th", h.Attr("scope", "row")
			}
			cells = append(cells, h.El(name+f.class(), scope, h.Attr("data-label", f.Name), f.cell(thing, p.Now)))
		}
		rows[row] = h.El("tr", cells...)
	}
	// A table wider than the screen scrolls by itself.
	return h.El("div.scroll", h.Attr("tabindex", "0"), h.Attr("role", "region"), h.Attr("aria-label", p.Caption),
		h.El("table.cards"+p.Class+"#"+p.ID, h.El("caption", p.Caption), h.El("thead", h.El("tr", head)), h.El("tbody", rows...)))
}

// Shown is a list laid out for a terminal and a page.
type Shown struct {
	Lines func(screen.Style) []string
	HTML  h.HTML
}

func (v View[T]) shows(list []T, p Page) (s Shown) {
	s.Lines = func(style screen.Style) []string { return v.Table(list, p.Now, style) }
	if len(list) > 0 {
		s.HTML = v.HTML(list, p)
	}
	return s
}

func (f spec) class() string {
	class := f.kind.class
	if f.wide {
		class += ".more"
	}
	return class
}

func (f Field[T]) cell(thing T, now time.Time) any {
	value := f.value(thing)
	switch {
	case value == nil:
		return dash
	case f.kind.html != nil:
		return f.kind.html(value, now)
	}
	text := f.kind.text(value, now, screen.Style{}).Text
	if f.kind.right {
		return text
	}
	return h.El("bdi", text)
}
