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
	)
	if got, want := strings.Count(texts(t, svg), `</text><script>"&`+"\ufffd\n"), 4; got != want {
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
		svg := plot.Page(plot.Lines{Lines: []plot.Line{{plot.Series{Name: name}, points}}})
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
	svg := string(plot.Fragment(plot.Shares{Shares: []plot.Share{{Name: name}, {Name: name[:64]}}}))
	for _, want := range []string{strings.Repeat("é", 31) + "…", name[:64]} {
		if !strings.Contains(svg, ">"+want+"<") {
			t.Errorf("no %q in %q", want, svg)
		}
	}
}

// TestWideNamesFit has a name of 24 narrow letters, which stays as it is, and one of wide
// letters, which is made to fit.
func TestWideNamesFit(t *testing.T) {
	t.Parallel()
	for letter, want := range map[string]bool{"e": false, "m": true} {
		svg := plot.Fragment(plot.Shares{Shares: []plot.Share{{Name: strings.Repeat(letter, 24)}}})
		if got := regexp.MustCompile(`font-size="[0-9.]+">` + letter).Match(svg); got != want {
			t.Errorf("24 times %s: made smaller %t, want %t", letter, got, want)
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
