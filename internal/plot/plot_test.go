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

func TestOddNumbers(t *testing.T) {
	t.Parallel()
	for name, points := range map[string][]plot.Point{
		"none":     nil,
		"one":      {{1, 5}},
		"level":    {{1, 0}, {2, 0}},
		"infinite": {{1, math.Inf(1)}, {2, math.NaN()}},
		"negative": {{1, -3}, {2, -1}},
	} {
		svg := plot.Fragment(plot.Density{Curves: []plot.DensityCurve{{Series: plot.Series{Name: name}, Points: points}}})
		texts(t, svg)
		for _, bad := range []string{"NaN", "Inf"} {
			if bytes.Contains(svg, []byte(bad)) {
				t.Errorf("%s: the picture holds %s:\n%s", name, bad, svg)
			}
		}
	}
}

func TestTicksAreRound(t *testing.T) {
	t.Parallel()
	svg := plot.Fragment(plot.Density{Curves: []plot.DensityCurve{{Points: []plot.Point{{0, 0}, {1000, 0.93}}}}})
	seen := texts(t, svg)
	for _, want := range []string{"\n0.2\n", "\n0.8\n", "\n1\n"} {
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
