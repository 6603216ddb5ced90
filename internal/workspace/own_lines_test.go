package workspace

import (
	"path/filepath"
	"strings"
	"testing"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestOnlyOwn has sessions build on colleagues' commits from an upstream that the target has left, and on another session's: each is
// counted for what it made itself.
func TestOnlyOwn(t *testing.T) {
	t.Parallel()
	origin, clone := pair(t)
	c := clone.clone()
	c.Root = t.TempDir()
	made := map[fleet.RunID][]string{}
	session := func(run fleet.RunID, do func(w gitter)) {
		t.Helper()
		w := must.Get(c.Open(t.Context(), run, filepath.Join(c.Root, string(run))))(t)
		do(clone.at(w.Dir))
		work := must.Get(clone.places(c.Root).Work(t.Context(), w.Dir, fleet.RunFiles{}))(t)
		made[run] = work.Revisions
		must.Get(c.Close(t.Context(), w))(t)
	}
	clone.add("mine", "1\n2\n")
	for _, name := range []string{"theirs1", "theirs2", "theirs3"} {
		origin.add(name, "1\n2\n3\n")
	}
	must.Get(c.Fetch(t.Context(), own))(t)
	session("0first", func(w gitter) {
		w.add("x", "1\n")
		w.git("merge", "-q", "--no-edit", "origin/main")
		w.add("y_test.go", "1\n2\n")
	})
	session("0second", func(w gitter) {
		w.git("-c", "protocol.file.allow=always", "pull", "-q", "--ff-only", clone.dir, "stint/bob/0first")
		w.add("z", "1\n2\n3\n4\n")
	})
	_, all, err := c.Pending(t.Context(), func([]fleet.RunID) (map[fleet.RunID][]string, error) { return made, nil })
	must.Do(t, err)
	got := map[fleet.RunID]string{}
	for _, b := range all {
		got[b.Run] = strings.Join(b.Files, " ")
		if want := map[fleet.RunID][2]int{"0first": {3, 1}, "0second": {4, 0}}[b.Run]; b.Lines != want[0] || b.Tests != want[1] {
			t.Errorf("%s: %d lines, %d tests, want %v", b.Run, b.Lines, b.Tests, want)
		}
	}
	must.Equal(t, "files", got, map[fleet.RunID]string{"0first": "x y_test.go", "0second": "z"})
}
