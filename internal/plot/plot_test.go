package plot_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"stint/internal/plot"
)

// texts parses a document and returns what a reader sees.
func texts(t *testing.T, svg []byte) string {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	var b strings.Builder
	inText := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil {
			t.Fatalf("not XML: %v\n%s", err, svg)
		}
		switch v := token.(type) {
		case xml.StartElement:
			inText = v.Name.Local == "text"
			if v.Name.Local == "script" {
				t.Error("a name became markup")
			}
		case xml.EndElement:
			inText = false
			b.WriteByte('\n')
		case xml.CharData:
			if inText {
				b.Write(v)
			}
		}
	}
}

func TestPageHoldsNamesAsText(t *testing.T) {
	t.Parallel()
	const hostile = "</text><script>\"&\x00"
	svg := plot.Page(
		plot.Lines{Title: hostile, X: hostile, Y: hostile, Lines: []plot.Line{{plot.Series{Name: hostile}, []plot.Point{{1, 2, 1}}}}},
		plot.Rows{
			Title: hostile, X: hostile, Target: hostile, Series: []plot.Series{{Name: hostile}},
			Rows: []plot.Row{{hostile, []float64{1}, 1}},
		},
	)
	if got, want := strings.Count(texts(t, svg), `</text><script>"&`+"\ufffd\n"), 9; got != want {
		t.Errorf("got %d names, want %d:\n%s", got, want, svg)
	}
}

func TestPageOfOddNumbers(t *testing.T) {
	t.Parallel()
	for name, points := range map[string][]plot.Point{
		"none":     nil,
		"one":      {{1, 5, 0}},
		"level":    {{1, 0, 0}, {2, 0, 0}},
		"no band":  {{1, 1, math.NaN()}, {2, 3, math.NaN()}},
		"infinite": {{1, math.Inf(1), 0}, {2, math.NaN(), 0}},
		"negative": {{1, -3, 1}, {2, -1, 1}},
	} {
		svg := plot.Page(plot.Lines{Lines: []plot.Line{{plot.Series{Name: name}, points}}}, plot.Rows{})
		texts(t, svg)
		for _, bad := range []string{"NaN", "Inf"} {
			if bytes.Contains(svg, []byte(bad)) {
				t.Errorf("%s: the page holds %s:\n%s", name, bad, svg)
			}
		}
	}
}

func TestTicksAreRound(t *testing.T) {
	t.Parallel()
	svg := plot.Page(plot.Lines{Lines: []plot.Line{{plot.Series{Name: "a"}, []plot.Point{{0, 0, 0}, {1000, 0.93, 0}}}}})
	seen := texts(t, svg)
	for _, want := range []string{"\n0.2\n", "\n0.8\n", "\n1\n", "\n200\n", "\n1000\n"} {
		if !strings.Contains(seen, want) {
			t.Errorf("no tick %q in %q", strings.TrimSpace(want), seen)
		}
	}
}

func TestLongNamesAreShortened(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("é", 33)
	seen := texts(t, plot.Page(plot.Rows{
		Series: []plot.Series{{Name: name}},
		Rows:   []plot.Row{{Name: name, Values: []float64{1}}, {Name: name[:64], Values: []float64{1}}},
	}))
	for _, want := range []string{strings.Repeat("é", 17) + "…", strings.Repeat("é", 31) + "…", name[:64]} {
		if !strings.Contains(seen, "\n"+want+"\n") {
			t.Errorf("no %q in %q", want, seen)
		}
	}
}

// TestWideNamesFit has a name of 32 narrow letters, which stays as it is, and one of wide
// letters, which is made to fit.
func TestWideNamesFit(t *testing.T) {
	t.Parallel()
	for letter, want := range map[string]bool{"e": false, "m": true} {
		svg := plot.Page(plot.Rows{Rows: []plot.Row{{Name: strings.Repeat(letter, 32)}}})
		if got := regexp.MustCompile(`font-size="[0-9.]+">` + letter).Match(svg); got != want {
			t.Errorf("32 times %s: made smaller %t, want %t", letter, got, want)
		}
	}
}

// TestBandsStayAboveZero has points above 0 whose bands go below: nothing is drawn there.
func TestBandsStayAboveZero(t *testing.T) {
	t.Parallel()
	seen := texts(t, plot.Page(plot.Lines{Lines: []plot.Line{{plot.Series{Name: "a"}, []plot.Point{{1, 1, 30}, {2, 100, 5}}}}}))
	if strings.Contains(seen, "\n-") {
		t.Errorf("there is a tick below 0: %q", seen)
	}
	svg := string(plot.Page(plot.Lines{Lines: []plot.Line{{plot.Series{Name: "a"}, []plot.Point{{1, 1, 30}, {2, 100, 5}}}}}))
	floor := regexp.MustCompile(`class="axis" d="M\d+ \d+V(\d+)`).FindStringSubmatch(svg)[1]
	band := regexp.MustCompile(`class="band" fill="[^"]*" d="([^"]*)"`).FindStringSubmatch(svg)[1]
	if !strings.HasSuffix(band, " "+floor+"Z") {
		t.Errorf("the band %s does not end on the axis at %s", band, floor)
	}
	below := texts(t, plot.Page(plot.Lines{Lines: []plot.Line{{plot.Series{Name: "a"}, []plot.Point{{1, -1, 30}, {2, 100, 5}}}}}))
	if !strings.Contains(below, "\n-") {
		t.Errorf("a point below 0 has no tick: %q", below)
	}
}

// TestSeriesKeepTheirColour draws a series alone and beside another, as a line and as dots.
func TestSeriesKeepTheirColour(t *testing.T) {
	t.Parallel()
	a, b := plot.Series{Name: "a", Colour: 0}, plot.Series{Name: "b", Colour: 3}
	both := plot.Page(plot.Rows{Target: "target", Series: []plot.Series{a, b}, Rows: []plot.Row{{"r", []float64{1, 2}, 3}}})
	alone := plot.Page(plot.Rows{Series: []plot.Series{b}, Rows: []plot.Row{{"r", []float64{2}, 0}}})
	dots := regexp.MustCompile(`<circle [^>]*stroke="([^"]*)"`)
	var got []string
	for _, svg := range [][]byte{both, alone} {
		for _, m := range dots.FindAllSubmatch(svg, -1) {
			got = append(got, string(m[1]))
		}
	}
	if len(got) != 6 || got[1] != got[3] || got[1] != got[4] || got[1] != got[5] || got[0] == got[1] {
		t.Errorf("got dots of %q, want a mark and a legend of each series, b's all of one colour", got)
	}
	if got, want := bytes.Count(both, []byte(`class="target"`)), 2; got != want {
		t.Errorf("got %d marks of a target, want %d: the row's and the legend's", got, want)
	}
}
