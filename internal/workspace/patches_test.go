package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stint/internal/review"
	"stint/internal/testkit/must"
)

// TestClashes merges pairs of commits, and leaves nothing behind.
func TestClashes(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	g := repository(t)
	base := g.record("base", "a", text(nil), "b\nc", text(nil))
	one := g.record("one", "a", text(map[int]string{3: "one"}), "b\nc", text(map[int]string{3: "one"}))
	g.git("checkout", "-q", "-b", "other", base)
	other := g.record("other", "a", text(map[int]string{3: "other"}), "b\nc", text(map[int]string{3: "other"}))
	g.git("checkout", "-q", "-b", "third", base)
	third := g.record("third", "a", text(map[int]string{17: "third"}))
	objects := func() []string { return must.Get(filepath.Glob(filepath.Join(g.dir, ".git/objects/*/*")))(t) }
	before := objects()
	clash, err := g.clone().Clashes(t.Context(), [][2]string{{one, other}, {one, third}, {other, one}})
	if err != nil || !slices.Equal(clash, []bool{true, false, true}) {
		t.Errorf("got %v, %v", clash, err)
	}
	must.Equal(t, "objects", objects(), before)
	if left := must.Get(os.ReadDir(temporary))(t); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// TestPatches sums up patches: whitespace and place do not count, everything else does, and what
// takes a patch back is its inverse.
func TestPatches(t *testing.T) {
	t.Parallel()
	g := repository(t)
	base := g.record("start", "f", text(nil), "g", text(nil))
	change := func(onto string, files ...string) string {
		g.git("checkout", "--quiet", onto)
		return g.record("change", files...)
	}
	one := change(base, "f", text(map[int]string{10: "ten"}))
	indented := change(base, "f", text(map[int]string{10: "  ten"}))
	lower := change(change(base, "f", "first\n"+text(nil)), "f", "first\n"+text(map[int]string{10: "ten"}))
	another := change(base, "f", text(map[int]string{10: "line"}))
	elsewhere := change(base, "g", text(map[int]string{10: "ten"}))
	back := change(one, "f", text(nil))
	g.git("checkout", "--quiet", one)
	g.git("update-index", "--chmod=+x", "g")
	g.commit("mode")
	g.git("reset", "--quiet", "--hard")
	mode := g.git("rev-parse", "HEAD")
	binary := change(base, "a\tb \n\"ü\".bin", "\x00\x01", "-- x", "--- x\n+++ x\n")
	g.git("rm", "--quiet", "-r", ".")
	empty := g.record("away", "new", "x\n")
	g.git("revert", "--no-edit", empty)
	unempty := g.git("rev-parse", "HEAD")
	long := change(base, "long", strings.Repeat("x", 1<<20)+"\n", "same", strings.Repeat("x ", 1<<19)+"y\n")
	c, _, err := g.clone().git(t.Context(), g.dir)
	must.Do(t, err)
	ids := must.Get(c.patchIDs(t.Context(), []string{one, indented, lower, another, elsewhere, back, mode, binary, empty, unempty, long, base}, false))(t)
	inverse := must.Get(c.patchIDs(t.Context(), []string{one, back, empty, unempty}, true))(t)
	for name, same := range map[string]bool{
		"indented": ids[indented] == ids[one], "lower": ids[lower] == ids[one], "back": ids[back] == inverse[one],
		"back of back": inverse[back] == ids[one], "files that come back": ids[unempty] == inverse[empty], "and go": ids[empty] == inverse[unempty],
	} {
		if !same {
			t.Errorf("%s: got another patch", name)
		}
	}
	different := map[review.PatchID]bool{}
	for _, commit := range []string{one, another, elsewhere, back, mode, binary, empty, unempty, long, base} {
		different[ids[commit]] = true
	}
	if len(different) != 10 {
		t.Errorf("got %d different patches, want 10", len(different))
	}
	got := must.Get(c.stats(t.Context(), []string{one + " " + base, mode, binary, long, base, elsewhere + " " + one}))(t)
	must.Equal(t, "lines", []int{got[one].lines, got[mode].lines, got[binary].lines, got[long].lines, got[base].lines, got[elsewhere].lines}, []int{2, 0, 2, 2, 40, 4})
	must.Equal(t, "files", got[long].files, []string{"long", "same"})
	must.Equal(t, "strange names", got[binary].files, []string{"-- x", "a\tb \n\"ü\".bin"})
}
