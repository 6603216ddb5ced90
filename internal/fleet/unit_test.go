package fleet

import (
	"strings"
	"testing"

	"github.com/coreos/go-systemd/v22/unit"
	"pgregory.net/rapid"

	"stint/internal/testkit/must"
)

func drawCategory(t *rapid.T) Category {
	c := must.Get(ParseCategory(rapid.StringMatching(`[a-z0-9][a-z0-9_-]{0,31}`).Draw(t, "category")))(t)
	return c
}

// TestUnitName holds names against systemd's own escaping and its limit of 255
// bytes.
func TestUnitName(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := Name(rapid.StringMatching(`[a-z0-9_]{1,32}`).Draw(t, "fleet"))
		c := drawCategory(t)
		run := RunID(rapid.StringMatching(`[0-9a-z]{1,32}`).Draw(t, "run"))
		got := UnitName(name, c, run)
		want := "stint-" + string(name) + "-" + unit.UnitNameEscape(string(c)) + "-" + string(run) + ".service"
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if len(got) > 255 {
			t.Errorf("got %d bytes, want at most 255", len(got))
		}
		if parts := strings.Split(got, "-"); len(parts) != 4 || unit.UnitNameUnescape(parts[2]) != string(c) {
			t.Errorf("got %q, want it to split into 4 with category %s third", parts, c)
		}
		if !WorkerUnit(name, got) || WorkerUnit(name+"x", got) || WorkerUnit(name, "stint-"+string(name)+"-"+string(run)+".service") {
			t.Errorf("%s is not told apart from units that are not fleet %s's workers", got, name)
		}
	})
	if got, want := SliceName("bob_2"), "stint-bob_2.slice"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCheckUnitWord(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]bool{
		"/usr/bin/stint":  true,
		"--config":        true,
		"A_1=x.y:z/":      true,
		"":                false,
		"a b":             false,
		"$HOME":           false,
		"%n":              false,
		`a"b`:             false,
		"a'b":             false,
		`a\x20`:           false,
		"a;b":             false,
		"a\n":             false,
		"é":               false,
		"@/usr/bin/stint": false,
		"+/usr/bin/stint": false,
		"/home/c++/x@y":   true,
	} {
		if err := CheckUnitWord(word); (err == nil) != want {
			t.Errorf("%q: got %v, want taken: %v", word, err, want)
		}
	}
}
