package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"stint/internal/testkit/must"
)

// TestPlausible keeps the commits whose patches the target has, or takes back, also with other blank space, on
// other lines, in files that are no text; and no others.
func TestPlausible(t *testing.T) {
	t.Parallel()
	g := repository(t)
	link := func(target string) {
		path := filepath.Join(g.dir, "link")
		_ = os.Remove(path)
		must.Do(t, os.Symlink(target, path))
		g.git("add", "link")
		g.commit("link")
	}
	g.record("base", "f", text(nil), "g", text(nil), "bin", "\x00one", "end", "a\nb")
	link("f")
	base := g.git("rev-parse", "HEAD")
	want := map[string]bool{}
	branch := func(kept bool, change func()) {
		g.git("checkout", "--quiet", "--detach", base)
		change()
		want[g.git("rev-parse", "HEAD")] = kept
	}
	branch(true, func() { g.record("moved", "f", text(map[int]string{12: "moved"})) })
	branch(true, func() { g.record("indented", "g", text(map[int]string{4: "\tcall(a, b)"})) })
	branch(true, func() { g.record("binary", "bin", "\x00two") })
	branch(true, func() { g.record("no end of line", "end", "a\nb\nc") })
	branch(true, func() { link("g") })
	branch(true, func() { g.record("two", "f", text(map[int]string{7: "two"}), "g", text(map[int]string{14: "two"})) })
	branch(true, func() { g.record("taken back", "g", text(map[int]string{18: "back"})) })
	branch(false, func() { g.record("other", "f", text(map[int]string{12: "other"})) })
	branch(false, func() { g.record("other file", "h", "h\n") })
	branch(false, func() { g.record("half", "f", text(map[int]string{7: "two"})) })
	branch(false, func() { g.record("other binary", "bin", "\x00three\n") })

	g.git("checkout", "--quiet", "main")
	g.git("reset", "--quiet", "--hard", base)
	top := func(lines string) string { return "top\n" + lines }
	g.record("top", "f", top(text(nil)))
	g.record("moved", "f", top(text(map[int]string{12: "moved"})))
	g.record("indented", "g", text(map[int]string{4: "    call(a,b)"}))
	g.record("binary", "bin", "\x00two")
	g.record("no end of line", "end", "a\nb\nc")
	link("g")
	g.record("two", "f", top(text(map[int]string{7: "two", 12: "moved"})), "g", text(map[int]string{4: "    call(a,b)", 14: "two"}))
	g.record("more", "g", text(map[int]string{4: "    call(a,b)", 14: "two", 18: "back"}), "h", "")
	g.record("back", "g", text(map[int]string{4: "    call(a,b)", 14: "two"}))

	p := pending{git: g.clone().unbound(g.dir), target: g.git("rev-parse", "HEAD"), bases: map[string]string{"": base}}
	must.Do(t, p.readHistory(t.Context()))
	var all, past []string
	for id := range want {
		all = append(all, id)
	}
	for _, c := range p.history {
		past = append(past, c.ID)
	}
	kept := must.Get(p.plausible(t.Context(), all))(t)
	patches := must.Get(p.diffs(t.Context(), append(slices.Clone(all), past...)))(t)
	for id, wanted := range want {
		same := slices.ContainsFunc(past, func(h string) bool { return patches[h].id == patches[id].id || patches[h].id == patches[id].inverse })
		if got := slices.Contains(kept, id); got != wanted || same != wanted {
			t.Errorf("%s: kept %t, the same patch as one of the target's %t, want %t", g.git("log", "-1", "--format=%s", id), got, same, wanted)
		}
	}
}
