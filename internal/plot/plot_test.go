package plot_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
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

func TestLongNamesAreShortened(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("é", 33)
	svg := string(plot.Fragment(plot.Timeline{From: hour(0), To: hour(1), Rows: []plot.TimelineRow{{Name: name}, {Name: name[:64]}}}))
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
		svg := plot.Fragment(plot.Timeline{From: hour(0), To: hour(1), Rows: []plot.TimelineRow{{Name: strings.Repeat(letter, 24)}}})
		if got := regexp.MustCompile(`font-size="[0-9.]+">` + letter).Match(svg); got != want {
			t.Errorf("24 times %s: made smaller %t, want %t", letter, got, want)
		}
	}
}
