package workspace

import (
	"fmt"
	"strings"
	"testing"

	"stint/internal/fleet"
	"stint/internal/review"
	"stint/internal/testkit/must"
)

// TestShared is what is left to review of the commits of two runs on a branch of the workspace.
func TestShared(t *testing.T) {
	t.Parallel()
	const first, second = fleet.RunID("01jd8wz4v0k3m7q1"), fleet.RunID("01jd8wz4v0k3m7q2")
	for _, test := range []struct {
		name string
		do   func(g gitter, c []string) // from main, after commits 0 and 1 of the first run, a person's 2 and 3 of the second
		want string
	}{
		{"nothing", func(gitter, []string) {}, "1 waiting work 2: f; 2 waiting work 1: g"},
		{"a fast-forward", func(g gitter, _ []string) { g.git("merge", "--quiet", "--ff-only", "work") }, ""},
		{"a merge", func(g gitter, _ []string) { g.git("merge", "--quiet", "--no-ff", "work") }, ""},
		{"a merge of a part", func(g gitter, c []string) { g.git("merge", "--quiet", c[1]) }, "2 waiting work 1: g"},
		{"a squash", func(g gitter, _ []string) {
			g.git("merge", "--quiet", "--squash", "work")
			g.commit("all of it")
		}, "1 copied work 0: ; 2 copied work 0: "},
		{"a rebase", func(g gitter, c []string) {
			g.record("other", "h", "x\n")
			g.git("cherry-pick", c[0], c[1], c[2], c[3])
		}, "1 copied work 0: ; 2 copied work 0: "},
		{"a cherry-pick", func(g gitter, c []string) { g.record("other", "h", "x\n"); g.git("cherry-pick", c[3]) }, "1 waiting work 2: f; 2 copied work 0: "},
		{"another name", func(g gitter, _ []string) { g.git("branch", "--move", "work", "more/work") }, "1 waiting more/work 2: f; 2 waiting more/work 1: g"},
		{"a reset", func(g gitter, c []string) { g.git("branch", "--force", "work", c[1]) }, "1 waiting work 2: f"},
		{"a deleted branch", func(g gitter, _ []string) { g.git("branch", "-D", "work") }, ""},
		{"a deleted branch, and nothing left of it", func(g gitter, _ []string) {
			g.git("branch", "-D", "work")
			g.git("reflog", "expire", "--expire=now", "--all")
			g.git("gc", "--quiet", "--prune=now")
		}, ""},
		{"a run's branch alone has it", func(g gitter, _ []string) { g.git("branch", "--move", "work", "stint/bob/01jd8wz4v0k3m7q3") }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := repository(t)
			g.record("start", "f", text(nil))
			g.git("checkout", "--quiet", "-b", "work")
			c := []string{
				g.record("one", "f", text(map[int]string{3: "three"})),
				g.record("two", "f", text(map[int]string{3: "three", 9: "nine"})),
				g.record("by hand", "f", text(map[int]string{3: "3", 9: "nine"})),
				g.record("four", "g", "x\n"),
			}
			g.git("checkout", "--quiet", "main")
			test.do(g, c)
			target := review.Target{Name: "main", Tip: g.git("rev-parse", "HEAD")}
			all, err := g.clone().Shared(t.Context(), target, []review.Watched{{Run: first, Commits: c[:2]}, {Run: second, Commits: c[3:]}})
			must.Do(t, err)
			var got []string
			for _, b := range all {
				if !b.Shared || b.Apart {
					t.Errorf("got %+v, want a shared branch", b)
				}
				got = append(got, fmt.Sprintf("%s %s %s %d: %s", string(b.Run)[15:], b.Landing, b.Name, len(b.Commits), strings.Join(b.Files, " ")))
			}
			if got := strings.Join(got, "; "); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
