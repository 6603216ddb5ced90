package main

import (
	"bytes"
	"strings"
	"testing"

	"stint/internal/testkit/must"
)

// TestPlay prints the same figures for the same seed, and refuses what cannot be simulated.
func TestPlay(t *testing.T) {
	t.Parallel()
	table := func(seed string) string {
		var out bytes.Buffer
		must.Do(t, play(t.Context(), []string{"-hosts", "2,5", "-workers", "4", "-length", "6h", "-seed", seed}, &out))
		return out.String()
	}
	first := table("7")
	if !strings.Contains(first, "2 × 4") || !strings.Contains(first, "5 × 4") || !strings.HasSuffix(first, "seed=7\n") {
		t.Errorf("got %s\nwant a column for each number of hosts", first)
	}
	if table("7") != first || table("8") == first {
		t.Error("want figures that depend on the seed, and on nothing else")
	}
	for args, want := range map[string]string{
		"-hosts 1,x":   `"x": want numbers of hosts`,
		"-hosts 0":     `"0": want numbers of hosts`,
		"-lanes 256":   "Lanes 256: want 1 to 255",
		"-length 0s":   "Length 0s: want more than 0",
		"-workers 2 x": `"x": want flags only`,
	} {
		if err := play(t.Context(), strings.Fields(args), new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", args, err, want)
		}
	}
}
