package plot_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
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
		plot.Lines{Title: hostile, X: hostile, Y: hostile, Lines: []plot.Line{{Name: hostile, Points: []plot.Point{{1, 2, 1}}}}},
		plot.Rows{Title: hostile, X: hostile, Series: []string{hostile}, Rows: []plot.Row{{hostile, []float64{1}}}},
	)
	if got, want := strings.Count(texts(t, svg), `</text><script>"&`+"\n"), 8; got != want {
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
		svg := plot.Page(plot.Lines{Lines: []plot.Line{{Name: name, Points: points}}}, plot.Rows{})
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
	svg := plot.Page(plot.Lines{Lines: []plot.Line{{Name: "a", Points: []plot.Point{{0, 0, 0}, {1000, 0.93, 0}}}}})
	seen := texts(t, svg)
	for _, want := range []string{"\n0.2\n", "\n0.8\n", "\n1\n", "\n200\n", "\n1000\n"} {
		if !strings.Contains(seen, want) {
			t.Errorf("no tick %q in %q", strings.TrimSpace(want), seen)
		}
	}
}

func TestLongNamesAreShortened(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("é", 32)
	seen := texts(t, plot.Page(plot.Rows{Series: []string{name}, Rows: []plot.Row{{Name: name, Values: []float64{1}}}}))
	if got, want := strings.Count(seen, "\n"+strings.Repeat("é", 17)+"…\n"), 2; got != want {
		t.Errorf("got %d shortened names, want %d in %q", got, want, seen)
	}
}
