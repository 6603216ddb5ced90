package web

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"reflect"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/plot"
	"stint/internal/report"
	"stint/internal/screen"
	"stint/internal/selector"
	h "stint/internal/markup"
)

func oldParse() map[string]*template.Template {
	files := os.DirFS("/tmp/h/h1x/old-templates")
	frame := template.Must(template.New("frame.html").Funcs(functions()).ParseFS(files, "frame.html", "parts.html"))
	pages := map[string]*template.Template{}
	for _, name := range []string{"status", "ranking", "claims", "fires", "fire", "runs", "run", "report", "error"} {
		pages[name] = template.Must(template.Must(frame.Clone()).ParseFS(files, name+".html"))
	}
	return pages
}

var pool = []string{"", "plain", "a b+c", `"><script>x`, "javascript:alert(1)", "spawn", "failed", "skip", "suspended", "crashed", "alarm", "run", "fleet", "estimated", "closed"}

func fill(r *rand.Rand, v reflect.Value, depth int) {
	switch v.Interface().(type) {
	case time.Time:
		if r.IntN(3) > 0 {
			v.Set(reflect.ValueOf(time.Unix(1700000000+int64(r.IntN(100000)), 0)))
		}
		return
	case h.HTML:
		if r.IntN(2) == 0 { v.Set(reflect.ValueOf(h.Trusted("<b>chart</b>"))) }
		return
	case selector.Selection:
		return
	case fleet.RunID:
		v.SetString([]string{"", "0abc", "1def", `"><script>`}[r.IntN(4)])
		return
	case barView:
		v.Set(reflect.ValueOf(barView{"ts", "3", "5"}))
		return
	case fleet.Holder:
		v.SetString([]string{"person <b>", string(fleet.RunID("0abc").Holder()), "x"}[r.IntN(3)])
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(pool[r.IntN(len(pool))])
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(int64(r.IntN(4)) * int64([]int{1, 1, 1, 50000000000}[r.IntN(4)]))
		if v.Kind() == reflect.Int { v.SetInt(int64(r.IntN(4))) }
	case reflect.Uint64, reflect.Uint32:
		v.SetUint(r.Uint64()>>40)
	case reflect.Float64:
		v.SetFloat([]float64{0, 0.5, 0.123456, 1.5, -0.25, 0.001}[r.IntN(6)])
	case reflect.Pointer:
		if r.IntN(2) == 0 || depth > 90 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem(), depth+1)
		}
	case reflect.Slice:
		n := r.IntN(3)
		s := reflect.MakeSlice(v.Type(), n, n)
		for i := range n { fill(r, s.Index(i), depth+1) }
		v.Set(s)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(r, k, depth+1); fill(r, e, depth+1)
			v.SetMapIndex(k, e)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() && !f.Anonymous || !v.Field(i).CanSet() { continue }
			if f.Anonymous && f.Type.Kind() == reflect.Pointer {
				v.Field(i).Set(reflect.New(f.Type.Elem()))
				fill(r, v.Field(i).Elem(), depth+1)
				continue
			}
			fill(r, v.Field(i), depth+1)
		}
	}
}

var blocks = strings.Fields("html head body meta title link script noscript header nav main footer span h1 h2 p div dl dt dd table caption thead tbody tr th td ul li section form figure pre select option svg rect label button br progress input")

func tokens(t *testing.T, text string) (list []string) {
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	block := func(n string) bool {
		for _, b := range blocks { if b == n && n != "span" && n != "label" && n != "button" && n != "select" && n != "progress" && n != "svg" { return true } }
		return false
	}
	var out []string
	trimNext := true
	flush := func(isBlock bool) {
		if isBlock && len(out) > 0 { if l := out[len(out)-1]; strings.HasPrefix(l, "T:") { l = strings.TrimRight(l, " "); if l == "T:" { out = out[:len(out)-1] } else { out[len(out)-1] = l } } }
	}
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) { return out }
		if err != nil { t.Fatalf("%v\n%s", err, text) }
		switch e := tok.(type) {
		case xml.StartElement:
			var attrs []string
			for _, a := range e.Attr {
				v := a.Value
				if a.Name.Local == "class" && v == "" { continue }
				if e.Name.Local == "option" && v != "" && a.Name.Local == "value" { continue }
				if a.Name.Local == "href" {
					p, q, found := strings.Cut(v, "?")
					p, _ = url.PathUnescape(p)
					if found { vs, _ := url.ParseQuery(q); p += "?" + vs.Encode() }
					v = p
				}
				if a.Name.Local == "content" {v = strings.Join(strings.Fields(v), " ")}
				attrs = append(attrs, a.Name.Local+"="+v)
			}
			sort.Strings(attrs)
			flush(block(e.Name.Local))
			out = append(out, "<"+e.Name.Local+" "+strings.Join(attrs, " | "))
			trimNext = block(e.Name.Local)
		case xml.EndElement:
			flush(block(e.Name.Local))
			out = append(out, "</"+e.Name.Local)
			trimNext = block(e.Name.Local)
		case xml.CharData:
			s := strings.Join(strings.Fields("x"+string(e)+"x"), " ")
			s = s[1:len(s)-1]
			if trimNext { s = strings.TrimLeft(s, " ") }
			if s != "" { out = append(out, "T:"+s) ; trimNext = false}
		}
	}
}

func TestCompare(t *testing.T) {
	old := oldParse()
	seen := 0
	for name, make := range map[string]func() body{
		"status": func() body { return &statusBody{} }, "claims": func() body { return &claimsBody{} }, "fires": func() body { return &firesBody{} },
		"fire": func() body { return &fireBody{} }, "ranking": func() body { return &rankingBody{} }, "runs": func() body { return &runsBody{} },
		"run": func() body { return &runBody{} }, "report": func() body { return &reportBody{} }, "error": func() body { return &failure{} },
	} {
		bad := 0
		for seed := range uint64(150) {
			r := rand.New(rand.NewPCG(seed, 1))
			b := make()
			v := reflect.ValueOf(b).Elem()
			if rb, ok := b.(*rankingBody); ok { fill(r, reflect.ValueOf(&rb.fireBody).Elem(), 0) } else { fill(r, v, 0) }
			if fb, ok := b.(*fireBody); ok {
				for i, c := range fb.Choices { if i == 0 && c.Run != "" { x := fleet.RunStatus{}; fill(r, reflect.ValueOf(&x).Elem(), 0); x.ID = c.Run; fb.ByID[c.Run] = x } }
				delete(fb.ByID, "")
				for k, x := range fb.ByID { x.ID = k; fb.ByID[k] = x }
			}
			if x, ok := b.(*firesBody); ok && x.Older != "" { x.Older = "/fires?before=3&x=" + url.QueryEscape(x.Older) }
			if x, ok := b.(*runsBody); ok && x.Older != "" { x.Older = "/runs?before=3&x=" + url.QueryEscape(x.Older) }
			if x, ok := b.(*runBody); ok && !x.EndedAt.IsZero() { x.Timeout = 0 }
			if x, ok := b.(*runsBody); ok { for i := range x.Outcomes { x.Outcomes[i] += "o" } }
			if sb, ok := b.(*statusBody); ok && sb.Counts == nil { sb.Counts = nil }
			f := frame{Fleet: "bob", Section: "/runs", Version: "v<1", Change: "a\"b", Now: time.Unix(1700050000, 0)}
			f.view = view{Title: "T<i>", Live: seed%2 == 0, Events: "/events", Body: b}
			for _, fb := range []*fireBody{fbOf(b)} { if fb != nil { for i := range fb.Scores { fb.Scores[i].Mean += "1" } } }
			var text bytes.Buffer
			if err := old[name].Execute(&text, f); err != nil {
				t.Errorf("%s %d: %v", name, seed, err); break
			}
			seen++
			was, is := tokens(t, text.String()), tokens(t, f.html().String())
			if d := cmp.Diff(was, is); d != "" {
				bad++
				if bad < 3 { t.Errorf("%s %d (-old +new):\n%s", name, seed, d) }
			}
		}
		if bad > 0 { t.Errorf("%s: %d differ", name, bad) }
	}
	t.Log(seen, fmt.Sprint())
}

// functions are what the templates may call. Text of other people goes through line.
func functions() template.FuncMap {
	return template.FuncMap{
		"raw": func(v h.HTML) template.HTML { return template.HTML(v.String()) },
"line":     func(v any) string { return plain.Line(fmt.Sprint(v)) },
		"stamp":    screen.Stamp,
		"span":     plain.Span,
		"count":    oldCount,
		"when":     oldWhen,
		"since":    oldSince,
		"took":     oldTook,
		"seconds":  func(d time.Duration) int64 { return int64(d.Seconds()) },
		"grade":    func(g float64) string { return fmt.Sprintf("%.2f", g) },
		"one":      func(n float64) string { return fmt.Sprintf("%.1f", n) },
		"exact":    func(g float64) string { return fmt.Sprintf("%.3f", g) },
		"signed":   oldSigned,
		"interval": func(e report.Estimate) string { return fmt.Sprintf("%.2f–%.2f", e.Low, e.High) },
		"percent":  report.Percent,
		"wide":     func(p float64) string { return plot.Coordinate(100 * min(max(p, 0), 1)) },
		"money":    func(usd float64) string { return fmt.Sprintf("$%.2f", usd) },
		"about":    about,
		"outcome":  fleet.Outcome.Sign,
		"lane":     screen.LaneName,
		"runOf":    func(h fleet.Holder) fleet.RunID { id, _ := h.Run(); return id },
		"deref":    func(g *float64) float64 { return *g },
		"spawned":  func(d fleet.Decision) bool { return d == fleet.Spawn },
		"started":  startedBy,
		"plus":     func(n fleet.FireID, by int64) fleet.FireID { return n + fleet.FireID(by) },
		"minus":    func(a, b int64) int64 { return a - b },
		"size":     func(list any) int64 { return int64(reflect.ValueOf(list).Len()) },
		"pages":    pages,
		"list":     list,
	}
}

// count is a number, known or not.
func oldCount(n any) string {
	switch n := n.(type) {
	case *int64:
		if n == nil {
			return "–"
		}
		return plain.Count(*n)
	case int64:
		return plain.Count(n)
	case int:
		return plain.Count(int64(n))
	}
	return fmt.Sprint(n)
}

// when is a time as pages show it: how long ago, and the exact time when the pointer is on it.
// A script keeps it up to date.
func oldWhen(t, now time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s" data-at="%d">%s</time>`, //nolint:gosec // all of it is made of times
		screen.Stamp(t), screen.Stamp(t), t.UnixMilli(), plain.Ago(t, now)))
}

// since is a length of time that still grows.
func oldSince(t, now time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	return template.HTML(fmt.Sprintf(`<time title="since %s" data-since="%d">%s</time>`, //nolint:gosec // all of it is made of times
		screen.Stamp(t), t.UnixMilli(), plain.Span(now.Sub(t))))
}

// took is how long a run took, or has taken.
func oldTook(r fleet.RunStatus, now time.Time) template.HTML {
	switch {
	case r.StartedAt.IsZero():
		return "–"
	case r.EndedAt.IsZero():
		return oldSince(r.StartedAt, now)
	default:
		return template.HTML(plain.Span(r.EndedAt.Sub(r.StartedAt))) //nolint:gosec // a length of time
	}
}

// startedBy are the choices of a fire that became sessions.
func startedBy(f fleet.Fire) (list []fleet.Choice) {
	for _, c := range f.Choices {
		if c.Decision == fleet.Spawn {
			list = append(list, c)
		}
	}
	return list
}

type pageLink struct{ Path, Name string }

// pages are what the navigation leads to.
func pages() []pageLink {
	return []pageLink{{"/", "Status"}, {"/ranking", "Ranking"}, {"/claims", "Claims"}, {"/fires", "Fires"}, {"/runs", "Runs"}, {"/report", "Report"}}
}

// list gives a template several values: names and values in turn.
func list(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return m
}

// signed is a part of a score; one that would show as nothing is a dash.
func oldSigned(x float64) string {
	if text := fmt.Sprintf("%+.3f", x); text != "+0.000" && text != "-0.000" {
		return text
	}
	return "–"
}

// about is the mark of an amount of which a part that shows is an estimate.
func about(guessed float64) string {
	if guessed >= 0.005 {
		return "≈"
	}
	return ""
}

func fbOf(b body) *fireBody {
	switch b := b.(type) {
	case *fireBody: return b
	case *rankingBody: return &b.fireBody
	}
	return nil
}
