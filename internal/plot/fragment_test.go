package plot_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"stint/internal/plot"
	"stint/internal/testkit/must"
)

func hour(h float64) time.Time {
	return time.Date(2026, 6, 26, 0, 0, 0, 0, time.UTC).Add(time.Duration(h * float64(time.Hour)))
}

// charts have a name in each place that there is for one.
func charts(name string) []plot.Chart {
	s := plot.Series{Name: name, Colour: plot.Green}
	return []plot.Chart{
		plot.Timeline{
			Title: name, From: hour(0), To: hour(6), Mark: name, Series: []plot.Series{s},
			Rows:  []plot.TimelineRow{{name, []plot.TimelineSpan{{From: hour(1), To: hour(2), Title: name, Link: "/runs/" + name}}}},
			Marks: []plot.TimelineMark{{hour(1), name}},
		},
		plot.Dots{
			Title: name, Y: name, From: hour(0), To: hour(6), Series: []plot.Series{s}, Average: name,
			Dots: []plot.Dot{{hour(3), 0.5, 4, 1, name}},
			Mean: []plot.DotMean{{hour(1), 0.4, 0.3, 0.5}, {hour(4), 0.5, 0.4, 0.6}},
		},
	}
}

// elements parses a fragment, whose attributes and names are all that a page must fear.
func elements(t *testing.T, fragment []byte, see func(xml.StartElement)) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(fragment))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("not XML: %v\n%s", err, fragment)
		}
		if e, ok := token.(xml.StartElement); ok {
			see(e)
		}
	}
}

// TestFragmentsHoldNothingThatAPageForbids has a hostile name in every place for one.
func TestFragmentsHoldNothingThatAPageForbids(t *testing.T) {
	t.Parallel()
	hostile := "</title><script>alert(1)</script>\" onload=\"x\u202e\u2028\xff\x1b[31m"
	for _, chart := range charts(hostile) {
		fragment := plot.Fragment(chart)
		elements(t, fragment, func(e xml.StartElement) {
			switch e.Name.Local {
			case "script", "style", "foreignObject", "image", "use":
				t.Errorf("%T: an element %s", chart, e.Name.Local)
			}
			for _, a := range e.Attr {
				if a.Name.Local == "style" || strings.HasPrefix(a.Name.Local, "on") {
					t.Errorf("%T: an attribute %s of %s", chart, a.Name.Local, e.Name.Local)
				}
			}
		})
		for _, bad := range []string{"\u202e", "\u2028", "\xff", "\x1b"} {
			if bytes.Contains(fragment, []byte(bad)) {
				t.Errorf("%T: holds %q", chart, bad)
			}
		}
		if !bytes.Contains(fragment, []byte("&lt;/title&gt;")) {
			t.Errorf("%T: the name is nowhere:\n%s", chart, fragment)
		}
	}
}

// TestFragmentsAreTwice is about wide screens and narrow ones, and about readers that see
// neither.
func TestFragmentsAreTwice(t *testing.T) {
	t.Parallel()
	var got []string
	elements(t, plot.Fragment(charts("a")...), func(e xml.StartElement) {
		if e.Name.Local == "svg" {
			for _, a := range e.Attr {
				if a.Name.Local == "class" || a.Name.Local == "role" {
					got = append(got, a.Value)
				}
			}
		}
	})
	if want := "plot plot-wide, group, plot plot-narrow, group"; strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s: what holds links is no image", strings.Join(got, ", "), want)
	}
	if image := plot.Fragment(charts("a")[1]); !bytes.Contains(image, []byte(`role="img"`)) {
		t.Errorf("a chart without links is no image:\n%s", image)
	}
}

func TestLinksStayHere(t *testing.T) {
	t.Parallel()
	for link, want := range map[string]bool{
		"/runs/20260626T103000.000Z-1a2b": true, "/runs?category=a&b": true,
		"": false, "runs/1": false, "//example.org/": false, `/\example.org/`: false, "https://example.org/": false,
		"javascript:alert(1)": false, "/\t/example.org": false, "/\n": false,
	} {
		svg := plot.Fragment(plot.Timeline{From: hour(0), To: hour(1), Rows: []plot.TimelineRow{
			{"lane", []plot.TimelineSpan{{From: hour(0), To: hour(1), Link: link}}},
		}})
		if got := bytes.Contains(svg, []byte("<a ")); got != want {
			t.Errorf("a link to %q: got %t, want %t", link, got, want)
		}
	}
}

var bars = regexp.MustCompile(`<rect class="bar([^"]*)" x="([0-9.]+)" y="[^"]*" width="([0-9.]+)"`)

// TestThinSpansBecomeOne has a lane of many short sessions: the picture does not grow with
// them, and each can be seen.
func TestThinSpansBecomeOne(t *testing.T) {
	t.Parallel()
	var spans []plot.TimelineSpan
	for i := range 100_000 {
		spans = append(spans, plot.TimelineSpan{From: hour(float64(i) / 100), To: hour(float64(i)/100 + 0.005), Link: "/x"})
	}
	svg := plot.Fragment(plot.Timeline{From: hour(0), To: hour(1000), Rows: []plot.TimelineRow{{"lane", spans}}})
	if got, most := len(svg), 300_000; got > most {
		t.Errorf("got %d bytes for 100000 spans, want at most %d", got, most)
	}
	alone := plot.Fragment(plot.Timeline{From: hour(0), To: hour(1000), Rows: []plot.TimelineRow{{"lane", spans[:1]}}})
	if got := string(bars.FindSubmatch(alone)[3]); got != "1" {
		t.Errorf("got a bar %s wide of a short session, want 1", got)
	}
}

func TestSpansAreCutToTheChart(t *testing.T) {
	t.Parallel()
	svg := plot.Fragment(plot.Timeline{From: hour(2), To: hour(4), Rows: []plot.TimelineRow{{"lane", []plot.TimelineSpan{
		{From: hour(0), To: hour(1)},
		{From: hour(1), To: hour(3)},
		{From: hour(3.5), Open: true},
		{From: hour(5), To: hour(6)},
	}}}})
	var got []string
	for _, m := range bars.FindAllSubmatch(svg, 2) {
		got = append(got, fmt.Sprintf("%s+%s%s", m[2], m[3], m[1]))
	}
	if got, want := strings.Join(got, ", "), "80+398, 677+199 open"; got != want {
		t.Errorf("got bars %s, want %s", got, want)
	}
}

func TestTicksOfTime(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		hours float64
		want  []string
	}{
		{0.5, []string{"00:05", "00:25"}},
		{6, []string{"26 Jun", "01:00", "05:00"}},
		{24, []string{"26 Jun", "03:00", "27 Jun"}},
		{24 * 7, []string{"26 Jun", "30 Jun", "3 Jul"}},
		{24 * 365 * 4, []string{"2027", "2029"}},
		{0, []string{"26 Jun"}},
	} {
		seen := texts(t, plot.Fragment(plot.Timeline{From: hour(0), To: hour(tt.hours)}))
		for _, want := range tt.want {
			if !strings.Contains(seen, want) {
				t.Errorf("%v hours: no tick %s in %q", tt.hours, want, seen)
			}
		}
		if got := strings.Count(seen, "\n"); got > 120 {
			t.Errorf("%v hours: got %d lines of text", tt.hours, got)
		}
	}
}

// TestEverythingLiesInside draws each chart for a fleet of minutes and of a year, with points before, within and after its
// time, and holds each coordinate that is drawn against the picture's edges.
func TestEverythingLiesInside(t *testing.T) {
	t.Parallel()
	for _, hours := range []float64{0, 4. / 60, 24, 365 * 24} {
		at := func(part float64) time.Time { return hour(part * hours) }
		for name, parts := range map[string][]float64{
			"none": nil, "one": {0.5}, "ends": {0, 1}, "one before": {-80}, "one after": {80}, "many": {-1000, -80, 0, 0.1, 0.2, 0.5, 0.9, 1, 1.01, 80},
		} {
			line := plot.Timeline{Title: "a", From: at(0), To: at(1), Rows: []plot.TimelineRow{{Name: "lane"}}, Mark: "fire"}
			dots := plot.Dots{Title: "a", Y: "b", From: at(0), To: at(1), Average: "mean"}
			for i, p := range parts {
				value := []float64{0, 1, 0.5, 7, -7, math.Inf(1), math.Inf(-1), math.NaN()}[i%8]
				line.Rows[0].Spans = append(line.Rows[0].Spans, plot.TimelineSpan{From: at(p), To: at(p + 0.1), Open: i == 3})
				line.Marks = append(line.Marks, plot.TimelineMark{At: at(p)})
				dots.Dots = append(dots.Dots, plot.Dot{At: at(p), Value: value, Of: 1 << i})
				dots.Mean = append(dots.Mean, plot.DotMean{At: at(p), Value: value, Low: value - 1, High: value + 1})
			}
			for _, chart := range []plot.Chart{line, dots} {
				inside(t, fmt.Sprintf("%T of %v hours, %s", chart, hours, name), plot.Fragment(chart))
			}
		}
	}
}

// inside fails for each shape and text of a fragment that reaches over its edges.
func inside(t *testing.T, name string, fragment []byte) {
	t.Helper()
	var width, height float64
	elements(t, fragment, func(e xml.StartElement) {
		has := map[string]string{}
		for _, a := range e.Attr {
			has[a.Name.Local] = a.Value
		}
		if e.Name.Local == "svg" {
			must.Get(fmt.Sscanf(has["viewBox"], "0 0 %g %g", &width, &height))(t)
		}
		number := func(name string) float64 {
			if has[name] == "" {
				return 0
			}
			return must.Get(strconv.ParseFloat(has[name], 64))(t)
		}
		x, y := []float64{}, []float64{}
		switch e.Name.Local {
		case "circle":
			r := number("r")
			x, y = []float64{number("cx") - r, number("cx") + r}, []float64{number("cy") - r, number("cy") + r}
		case "rect":
			x, y = []float64{number("x"), number("x") + number("width")}, []float64{number("y"), number("y") + number("height")}
		case "line":
			x, y = []float64{number("x1"), number("x2")}, []float64{number("y1"), number("y2")}
		case "path":
			for _, p := range regexp.MustCompile(`[ML](\S+) ([-0-9.e+]+)`).FindAllStringSubmatch(has["d"], -1) {
				x, y = append(x, must.Get(strconv.ParseFloat(p[1], 64))(t)), append(y, must.Get(strconv.ParseFloat(p[2], 64))(t))
			}
		}
		for i := range x {
			if x[i] < 0 || x[i] > width || y[i] < 0 || y[i] > height {
				t.Errorf("%s: a %s reaches to %v, %v in a picture of %v, %v", name, e.Name.Local, x[i], y[i], width, height)
			}
		}
	})
}

func TestFragmentsOfOddNumbers(t *testing.T) {
	t.Parallel()
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 2}
	for _, v := range odd {
		svg := plot.Fragment(
			plot.Timeline{}, plot.Dots{},
			plot.Dots{Dots: []plot.Dot{{Value: v}}, Mean: []plot.DotMean{{hour(0), v, v, v}, {hour(1), v, v, v}}},
		)
		elements(t, svg, func(xml.StartElement) {})
		for _, bad := range []string{"NaN", "Inf", `width="-`, `r="-`} {
			if bytes.Contains(svg, []byte(bad)) {
				t.Errorf("%v: the fragment holds %s:\n%s", v, bad, svg)
			}
		}
	}
}
