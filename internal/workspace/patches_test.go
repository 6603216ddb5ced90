package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"stint/internal/testkit/must"
)

// TestClashes merges pairs of commits in memory, and without any. It removes what a process left there that died, and
// nothing of one that lives.
func TestClashes(t *testing.T) {
	t.Parallel()
	g := repository(t)
	base := g.record("base", "a", text(nil))
	one := g.record("one", "a", text(map[int]string{3: "one"}))
	g.git("checkout", "-q", "-b", "other", base)
	other := g.record("other", "a", text(map[int]string{3: "other"}))
	g.git("checkout", "-q", "-b", "third", base)
	third := g.record("third", "a", text(map[int]string{17: "third"}))

	folder := func() string {
		dir, err := os.MkdirTemp(memory, scratch) //nolint:usetesting // in memory, where the merges are
		must.Do(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(dir) }) // or another test's merge does
		return dir
	}
	living := folder()
	lock, err := locked(living)
	for err != nil { // another test has swept it away
		living = folder()
		lock, err = locked(living)
	}
	defer lock.Close()
	dead := folder()
	must.Do(t, os.WriteFile(filepath.Join(dead, "object"), nil, 0o400))

	pairs := [][2]string{{one, other}, {one, third}}
	clash, err := g.clone().Clashes(t.Context(), pairs)
	if err != nil || !slices.Equal(clash, []bool{true, false}) {
		t.Errorf("got %v, %v", clash, err)
	}
	if _, err := os.Stat(living); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("what a process left is still there: %v", err)
	}
	if list, err := g.clone().unbound(g.dir).mergeIn(t.Context(), "/nowhere", "", []string{one + " " + other}); err == nil {
		t.Errorf("got %v in a place that is not there", list)
	}
	objects := filepath.Join(g.dir, ".git/objects")
	list, err := g.clone().unbound(g.dir).mergeIn(t.Context(), objects, objects, []string{one + " " + other})
	if err != nil || len(list) != 1 || !slices.Equal(list[0].conflicts, []string{"a"}) {
		t.Errorf("among the objects: got %+v, %v", list, err)
	}
	if left, err := filepath.Glob(filepath.Join(objects, scratch+"*")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
