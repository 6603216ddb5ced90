package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"stint/internal/explain/report"
	"stint/internal/fleet"
	h "stint/internal/markup"
	"stint/internal/plain"
	"stint/internal/screen"
)

// kind says how each face shows a value of one type.
type kind struct {
	json   string // the type's name in descriptions
	data   func(any) any
	none   func(any) bool
	counts bool // 0 is a value
	text   func(v any, now time.Time, s screen.Style) screen.Cell
	short  string                         // the title on a terminal, where the column shows an age; a pipe has the time
	html   func(v any, now time.Time) any // nil: the text
	class  string
	right  bool
	least  int
	paint  screen.Paint
	names  bool // the column names the thing
}

// Ref is a name that leads to a page.
type Ref struct{ ID, Path string }

// Stretch is a time from a beginning to an end. Without an end it goes on.
type Stretch struct{ From, To time.Time }

// Money is an amount in USD, and the part of it that is an estimate.
type Money = screen.Money

func same(v any) any { return v }

func written(text func(any) string) func(any, time.Time, screen.Style) screen.Cell {
	return func(v any, _ time.Time, _ screen.Style) screen.Cell { return screen.Text(text(v)) }
}

func printed(v any) string { return fmt.Sprint(v) }

func number(json string, text func(any) string) kind {
	return kind{json: json, data: same, counts: true, text: written(text), class: ".n", right: true}
}

const minText = 6 // columns to which a text may be cut

func field[T any, V comparable](k kind, key, name, doc string, of func(T) V) Field[T] {
	var zero V
	k.none = func(v any) bool { return v == any(zero) }
	return Field[T]{spec{Key: key, Name: name, Doc: doc, kind: k}, func(thing T) any { return of(thing) }}
}

// Schema is an object's first field, which names its kind.
func Schema[T any](name string) Field[T] {
	return Word("schema", "", name, func(T) string { return name })
}

// Word is a short text: a name, a state.
func Word[T any, S ~string](key, name, doc string, of func(T) S) Field[T] {
	return field(kind{json: "text", data: same, text: written(printed), least: minText}, key, name, doc, of)
}

// Enum is one of a few words.
func Enum[T any, S ~string](key, name, doc string, words []S, of func(T) S) Field[T] {
	list := strings.Join(plain.Each(words, func(w S) string { return cmp.Or(string(w), "empty") }), ", ")
	return Word(key, name, strings.TrimPrefix(doc+"; "+list, "; "), of)
}

// Text is a text of any length.
func Text[T any, S ~string](key, name, doc string, of func(T) S) Field[T] {
	return field(kind{json: "text", data: same, text: written(printed), least: minText, class: ".text"}, key, name, doc, of)
}

// Texts are a list of texts.
func Texts[T any, S ~string](key, name, doc string, of func(T) []S) Field[T] {
	k := kind{json: "list: text", least: minText, class: ".text"}
	k.data = func(v any) any { return append([]S{}, v.([]S)...) }
	k.none = func(v any) bool { return len(v.([]S)) == 0 }
	k.text = written(func(v any) string {
		return strings.Join(plain.Each(v.([]S), func(s S) string { return string(s) }), ", ")
	})
	return Field[T]{spec{Key: key, Name: name, Doc: doc, kind: k}, func(thing T) any { return of(thing) }}
}

// Link is the thing's name, with a link to its page.
func Link[T any](key, name, doc string, of func(T) Ref) Field[T] {
	k := link()
	k.names = true
	return field(k, key, name, doc, of)
}

// TextLink is a text of any length that links to a page.
func TextLink[T any](key, name, doc string, of func(T) Ref) Field[T] {
	k := link()
	k.least, k.class = minText, ".text"
	return field(k, key, name, doc, of)
}

// Links are names with links to pages, for people alone.
func Links[T any](name string, of func(T) []Ref) Field[T] {
	k := kind{least: minText, class: ".text", none: func(v any) bool { return len(v.([]Ref)) == 0 }}
	k.text = written(func(v any) string {
		return strings.Join(plain.Each(v.([]Ref), func(r Ref) string { return r.ID }), ", ")
	})
	k.html = func(v any, _ time.Time) any {
		return plain.Each(v.([]Ref), func(r Ref) any { return h.Join(r.HTML(), " ") })
	}
	return Field[T]{spec{Name: name, kind: k}, func(thing T) any { return of(thing) }}
}

func link() kind {
	return kind{
		json: "text", data: func(v any) any { return v.(Ref).ID }, text: written(func(v any) string { return v.(Ref).ID }),
		html: func(v any, _ time.Time) any { return v.(Ref).HTML() },
	}
}

// Int is a number of things.
func Int[T any, N ~int | ~int64](key, name, doc string, of func(T) N) Field[T] {
	return field(number("integer", printed), key, name, doc, of)
}

// Tokens is a number of tokens. People see two digits.
func Tokens[T any](key, name, doc string, of func(T) int64) Field[T] {
	return field(number("integer", func(v any) string { return plain.Count(v.(int64)) }), key, name, doc, of)
}

// USD is an amount of money.
func USD[T any](key, name, doc string, of func(T) Money) Field[T] {
	k := number("number", func(v any) string { return v.(Money).String() })
	k.data = func(v any) any { return v.(Money).USD }
	return field(k, key, name, doc, of)
}

// Span is a duration; programs get seconds.
func Span[T any](key, name, doc string, of func(T) time.Duration) Field[T] {
	k := number("number", func(v any) string { return plain.Span(v.(time.Duration)) })
	k.data = func(v any) any { return v.(time.Duration).Seconds() }
	return field(k, key, name, doc, of)
}

// Share is a part of 1.
func Share[T any](key, name, doc string, of func(T) float64) Field[T] {
	return field(number("number", func(v any) string { return report.Percent(v.(float64)) }), key, name, doc, of)
}

// Bool is true or false.
func Bool[T any](key, doc string, of func(T) bool) Field[T] {
	return field(kind{json: "boolean", data: same, counts: true}, key, "", doc, of)
}

// Is is a fact of the answer, the same for all its things.
func Is[T any, V bool | int | string](key, doc string, v V) Field[T] {
	what := "text"
	switch any(v).(type) {
	case bool:
		what = "boolean"
	case int:
		what = "integer"
	}
	return Data(key, what, doc, func(T) V { return v })
}

// Number is a number with decimals, for programs alone.
func Number[T any](key, doc string, of func(T) float64) Field[T] {
	return field(kind{json: "number", data: same, counts: true}, key, "", doc, of)
}

// Grade is a grade from 0 to 1, if there is one.
func Grade[T any](key, name, doc string, of func(T) *float64) Field[T] {
	return field(kind{
		json: "number", data: same, text: written(func(v any) string { return two(*v.(*float64)) }), right: true,
		html: func(v any, _ time.Time) any { return Meter(*v.(*float64), two(*v.(*float64))) },
	}, key, name, doc, of).OrNull()
}

// Figure is a number with decimals that a thing may lack, and its text for people.
func Figure[T any](key, name, doc string, shown func(float64) string, of func(T) *float64) Field[T] {
	return field(number("number", func(v any) string { return shown(*v.(*float64)) }), key, name, doc, of).OrNull()
}

func one(x float64) string { return fmt.Sprintf("%.1f", x) }

func two(x float64) string { return fmt.Sprintf("%.2f", x) }

// Price is an amount of money that a thing may lack.
func Price[T any](key, name, doc string, of func(T) *Money) Field[T] {
	k := number("number", func(v any) string { return v.(*Money).String() })
	k.data = func(v any) any { return v.(*Money).USD }
	return field(k, key, name, doc, of).OrNull()
}

// Level is a part of 1, with its target, the largest of its list, and a warning.
type Level struct {
	Part, Target, Largest float64
	Wrong                 bool
}

// Bar draws a part.
func Bar[T any](name string, of func(T) Level) Field[T] {
	k := kind{none: func(any) bool { return false }}
	k.text = func(v any, _ time.Time, _ screen.Style) screen.Cell {
		l := v.(Level)
		paint := screen.Green
		if l.Wrong {
			paint = screen.Yellow
		}
		return screen.Cell{Text: fmt.Sprintf("%5s  %s", report.Percent(l.Part), screen.TargetBar(l.Part, l.Target, l.Largest)), Paint: paint}
	}
	k.html = func(v any, _ time.Time) any {
		return Meter(v.(Level).Part, report.Percent(v.(Level).Part), Target(v.(Level).Target))
	}
	return Field[T]{spec{Name: name, kind: k}, func(thing T) any { return of(thing) }}
}

// Interval is an estimate of a mean grade.
func Interval[T any](name string, of func(T) report.Estimate) Field[T] {
	return field(kind{
		text: func(v any, _ time.Time, _ screen.Style) screen.Cell {
			e := v.(report.Estimate)
			return screen.Cell{Text: fmt.Sprintf("%.2f-%.2f  %s", e.Low, e.High, screen.IntervalStrip(e.Low, e.Mean, e.High)), Paint: screen.Cyan}
		},
		html: func(v any, _ time.Time) any {
			e := v.(report.Estimate)
			between := h.El("rect.range", h.Attr("x", hundredth(e.Low)), h.Attr("y", "3"), h.Attr("width", hundredth(e.High-e.Low)), h.Attr("height", "4"))
			picture := Picture("parts", 10, between, Rect("mean", hundredth(e.Mean), "1", 10))
			return h.Join(picture, " ", two(e.Mean), " ", h.El("span.unit", fmt.Sprintf("(%.2f–%.2f)", e.Low, e.High)))
		},
		class: ".belief",
	}, "", name, "", of)
}

// At is a time.
func At[T any](key, name, doc string, of func(T) time.Time) Field[T] {
	return field(moment(), key, name, doc, of)
}

// Age is the time by which a list is ordered: a terminal shows how long ago it was.
func Age[T any](key, doc string, of func(T) time.Time) Field[T] {
	k := moment()
	k.short = "AGO"
	k.text = func(v any, now time.Time, s screen.Style) screen.Cell {
		if s.Width <= 0 {
			return screen.Text(plain.Stamp(v.(time.Time)))
		}
		return screen.Text(screen.OneUnit(max(now.Sub(v.(time.Time)), 0)))
	}
	return field(k, key, "When", doc, of)
}

func moment() kind {
	return kind{
		json: "time", data: func(v any) any { return plain.Stamp(v.(time.Time)) },
		text: func(v any, now time.Time, s screen.Style) screen.Cell {
			if s.Width <= 0 {
				return screen.Text(plain.Stamp(v.(time.Time)))
			}
			return screen.Text(plain.Ago(v.(time.Time), now))
		},
		html: func(v any, now time.Time) any { return When(v.(time.Time), now) },
	}
}

// Took is a thing's duration, or so far if it goes on, for people alone.
func Took[T any](name string, of func(T) Stretch) Field[T] {
	return field(kind{
		text: func(v any, now time.Time, _ screen.Style) screen.Cell {
			s := v.(Stretch)
			if s.To.IsZero() {
				s.To = now
			}
			return screen.Text(plain.Span(s.To.Sub(s.From)))
		},
		html: func(v any, now time.Time) any { return v.(Stretch).HTML(now) }, class: ".n", right: true,
	}, "", name, "", of)
}

// Sign is the state of a thing, for people alone.
func Sign[T any](name string, of func(T) fleet.Sign) Field[T] {
	return field(kind{
		text: func(v any, _ time.Time, _ screen.Style) screen.Cell {
			return screen.Cell{Text: v.(fleet.Sign).Word, Paint: screen.MoodPaint(v.(fleet.Sign).Mood)}
		},
		html: func(v any, _ time.Time) any { return State(v.(fleet.Sign)) },
	}, "", name, "", of)
}

// Cell is a column with classes that only a page has.
func Cell[T any](name, class string, of func(T) any) Field[T] {
	k := kind{none: func(any) bool { return false }, html: func(v any, _ time.Time) any { return v }, class: class}
	return Field[T]{spec{Name: name, kind: k}, of}
}

// Data is a value for programs alone, encoded as it is. The description names its type.
func Data[T, V any](key, what, doc string, of func(T) V) Field[T] {
	k := kind{json: what, data: same, none: func(any) bool { return false }}
	return Field[T]{spec{Key: key, Doc: doc, kind: k}, func(thing T) any { return of(thing) }}
}

// Sub is a nested object; nil is null.
func Sub[T, S any](key, doc string, v View[S], of func(T) *S) Field[T] {
	f := field(kind{json: "object", data: func(s any) any { return v.JSON(*s.(*S)) }}, key, "", doc, of).OrNull()
	return nesting(f, v)
}

// Part is a part of the thing, as a nested object.
func Part[T, S any](key, doc string, v View[S], of func(T) S) Field[T] {
	return nesting(Data(key, "object", doc, func(thing T) json.RawMessage { return v.JSON(of(thing)) }), v)
}

// Each is a list of nested objects.
func Each[T, S any](key, doc string, v View[S], of func(T) []S) Field[T] {
	f := nesting(Data(key, "object", doc, func(thing T) []json.RawMessage {
		return append([]json.RawMessage{}, plain.Each(of(thing), v.JSON)...)
	}), v)
	f.kind.json = "list: " + f.kind.json
	f.kind.none = func(list any) bool { return len(list.([]json.RawMessage)) == 0 }
	return f
}

// nesting describes nested objects.
func nesting[T, S any](f Field[T], v View[S]) Field[T] {
	f.inner = v.rows
	return f
}

// ByName is an object with a value for each name.
func ByName[T any, K ~string, V any](key, what, doc string, of func(T) map[K]V) Field[T] {
	f := Data(key, "by name: "+what, doc, func(thing T) map[K]V {
		if m := of(thing); m != nil {
			return m
		}
		return map[K]V{}
	})
	f.kind.none = func(m any) bool { return len(m.(map[K]V)) == 0 }
	return f
}

// With shows all fields of a thing within the thing, and more. A field replaces an inner one with the same key.
func With[T, S any](v View[S], of func(T) S, more ...Field[T]) (all View[T]) {
	if len(more) > 0 && more[0].Key == "schema" {
		all, more = append(all, more[0]), more[1:]
	}
	for _, f := range v {
		taken := func(m Field[T]) bool { return m.Key == f.Key && f.Key != "" }
		if slices.ContainsFunc(slices.Concat(all, more), taken) {
			continue
		}
		g := Field[T]{f.spec, func(thing T) any { return f.of(of(thing)) }}
		if len(more) > 0 {
			g.from = cmp.Or(f.from, v.schema())
		}
		all = append(all, g)
	}
	return append(all, more...)
}

// List is the object of a list of things.
func List[T any](schema, key, doc string, v View[T]) View[[]T] {
	return View[[]T]{Schema[[]T](schema), Each(key, doc, v, func(list []T) []T { return list })}
}
