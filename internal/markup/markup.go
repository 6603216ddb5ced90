// Package markup makes HTML. A part that this package did not make is text, whatever it holds: it is
// escaped, and characters that act on the reader are made visible, as package plain does. Elements and
// attributes have the names that our own code gives them.
package markup

import (
	"fmt"
	"html"
	"strings"

	"stint/internal/plain"
)

// HTML is a piece of a page. Its zero value is nothing.
type HTML struct{ text string }

func (m HTML) String() string { return m.text }

// Attribute is a part that goes into the tag of its element. Its zero value is nothing.
type Attribute struct{ text string }

// Attr makes an attribute. Only [Local] addresses become links: an attribute that would lead a browser
// elsewhere, or have it run a script, is left out.
func Attr(name, value string) Attribute {
	switch name {
	case "href", "src", "action":
		if !Local(value) {
			return Attribute{}
		}
	case "value": // a form sends it back as it is
	default:
		value = plain.Line(value)
	}
	return Attribute{" " + name + `="` + html.EscapeString(value) + `"`}
}

// Flag makes an attribute without a value, where it is set.
func Flag(name string, set bool) Attribute {
	if !set {
		return Attribute{}
	}
	return Attribute{" " + name}
}

// El makes an element. The selector is its name with its classes and its id, as in "td.n.more" or
// "table.cards#runs". Attributes may stand anywhere among the parts, which lists may hold in turn.
func El(selector string, parts ...any) HTML {
	var b strings.Builder
	selector, id, _ := strings.Cut(selector, "#")
	name, classes, _ := strings.Cut(selector, ".")
	b.WriteString("<" + name)
	if classes != "" {
		b.WriteString(Attr("class", strings.ReplaceAll(classes, ".", " ")).text)
	}
	if id != "" {
		b.WriteString(Attr("id", id).text)
	}
	writeAttributes(&b, parts)
	switch name {
	case "br", "input", "link", "meta", "rect":
		b.WriteString("/>")
	default:
		b.WriteString(">")
		write(&b, parts)
		b.WriteString("</" + name + ">")
	}
	switch name {
	case "a", "b", "bdi", "br", "button", "code", "dd", "dt", "input", "option", "progress", "rect", "select", "span", "strong", "svg", "td", "th", "time":
	default: // white space behind a block is not shown
		b.WriteString("\n")
	}
	return HTML{b.String()}
}

// Join puts parts one behind the other.
func Join(parts ...any) HTML {
	var b strings.Builder
	write(&b, parts)
	return HTML{b.String()}
}

// Each makes something of every element of a list.
func Each[T any](list []T, piece func(T) HTML) HTML {
	var b strings.Builder
	for _, one := range list {
		b.WriteString(piece(one).text)
	}
	return HTML{b.String()}
}

// If is the part where the condition holds, and else nothing.
func If(condition bool, part any) any {
	if condition {
		return part
	}
	return nil
}

func writeAttributes(b *strings.Builder, parts []any) {
	for _, part := range parts {
		switch p := part.(type) {
		case Attribute:
			b.WriteString(p.text)
		case []any:
			writeAttributes(b, p)
		}
	}
}

func write(b *strings.Builder, parts []any) {
	for _, part := range parts {
		switch p := part.(type) {
		case nil, Attribute:
		case []any:
			write(b, p)
		case HTML:
			b.WriteString(p.text)
		case string:
			b.WriteString(Escape(p))
		default:
			b.WriteString(Escape(fmt.Sprint(p)))
		}
	}
}

// Lines is text that keeps its line ends.
func Lines(text string) HTML { return HTML{html.EscapeString(plain.Text(text))} }

// Trusted takes markup of our own as it is: a picture, a style sheet.
func Trusted[T ~string | ~[]byte](markup T) HTML { return HTML{string(markup)} }

// Escape makes text of what could be markup, and of what a page cannot show.
func Escape(text string) string { return html.EscapeString(plain.Line(text)) }

// Local reports whether an address leads to a page of the same place, or to a place in the page: its parts may
// come from elsewhere.
func Local(address string) bool {
	if strings.HasPrefix(address, "#") {
		return true
	}
	outside := func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }
	return strings.HasPrefix(address, "/") && !strings.HasPrefix(address, "//") && !strings.ContainsFunc(address, outside)
}
