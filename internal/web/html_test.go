package web

import (
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stint/internal/markup"
	"stint/internal/plain"
)

// TestNoFieldIsMarkup makes each page of values in which every text, whatever it is for, wants to be more than
// text: the page has the elements and attributes of one whose texts are harmless.
//
//nolint:paralleltest // TestStreamsEndWithTheServer looks for goroutines of this package
func TestNoFieldIsMarkup(t *testing.T) {
	pages := map[string]func() body{
		"status":          func() body { return &statusBody{} },
		"review":          func() body { return &reviewBody{} },
		"work":            func() body { return &Work{} },
		"tasks":           func() body { return &tasksBody{} },
		"claims":          func() body { return &claimsBody{} },
		"fires":           func() body { return &firesBody{} },
		"runs":            func() body { return &runsBody{} },
		"run":             func() body { return &runBody{} },
		"report":          func() body { return &reportBody{} },
		"error":           func() body { return &failure{} },
		"fire":            func() body { return &fireBody{} },
		"fire, ranked":    func() body { return &fireBody{Sentences: []string{}} },
		"ranking":         func() body { return &rankingBody{} },
		"ranking, ranked": func() body { return &rankingBody{fireBody{Sentences: []string{}}} },
	}
	for name, page := range pages {
		for _, yes := range []bool{true, false} {
			made := func(text string) string {
				b, f := page(), frame{}
				fill(reflect.ValueOf(b).Elem(), text, yes)
				fill(reflect.ValueOf(&f).Elem(), text, yes)
				if ranked, ok := b.(*fireBody); ok && strings.HasSuffix(name, "ranked") {
					ranked.Why = ""
				}
				if ranked, ok := b.(*rankingBody); ok && strings.HasSuffix(name, "ranked") {
					ranked.Why = ""
				}
				f.Body = b
				return f.html().String()
			}
			harmless := structure(t, made("harmless"))
			for _, hostile := range []string{
				`"><script>alert(1)</script>`, `'><img src=x onerror=alert(1)>`, "javascript:alert(1)", "//example.org/", "</title></pre><!--",
				"a\u2028b\u202ec", "&lt;b&gt; ]]>",
			} {
				text := made(hostile)
				if diff := cmp.Diff(structure(t, text), harmless); diff != "" {
					t.Errorf("%s: %q is markup (-got +want):\n%s", name, hostile, diff)
				}
				_, main, _ := strings.Cut(text, "</h1>")
				main, _, _ = strings.Cut(main, "</main>")
				if shown := plain.Line(hostile); !strings.Contains(html.UnescapeString(main), shown) {
					t.Errorf("%s: %q is nowhere", name, shown)
				}
			}
		}
	}
}

// fill sets every field below a value: each text to the same one, and of each list and map one element.
func fill(v reflect.Value, text string, yes bool) {
	switch v.Type() {
	case reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(1_700_000_000, 0)))
		return
	case reflect.TypeFor[markup.HTML]():
		v.Set(reflect.ValueOf(markup.Trusted("a picture")))
		return
	}
	switch v.Kind() { //nolint:exhaustive // fields of no other kind are shown
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(yes)
	case reflect.Int, reflect.Int64:
		v.SetInt(2)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text, yes)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), text, yes)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, text, yes)
		fill(value, text, yes)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() || v.Type().Field(i).Anonymous { // a type of this package is embedded
				fill(v.Field(i), text, yes)
			}
		}
	}
}

// structure is the elements of a page with the names of their attributes. Links that lead elsewhere are left out.
func structure(t *testing.T, text string) (list []string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict = false // an attribute may have no value
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		switch token := token.(type) {
		case xml.StartElement:
			names := []string{token.Name.Local}
			for _, a := range token.Attr {
				if a.Name.Local != "href" {
					names = append(names, a.Name.Local)
				} else if !markup.Local(a.Value) {
					t.Errorf("a link to %q", a.Value)
				}
			}
			list = append(list, fmt.Sprint(names))
		case xml.Comment, xml.ProcInst:
			t.Errorf("%T in\n%s", token, text)
		case xml.CharData:
			if strings.ContainsAny(string(token), "\u2028\u202e") {
				t.Errorf("holds marks that act on the reader: %q", token)
			}
		}
	}
}
