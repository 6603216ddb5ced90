package workspace

import (
	"strings"
	"testing"

	"stint/internal/fleet"
	"stint/internal/review"
	"stint/internal/testkit/must"
)

// TestFates treats a run's work in each way that people do, and wants its fate.
func TestFates(t *testing.T) {
	t.Parallel()
	const branch = "stint/bob/" + string(worked)
	squash := func(g gitter) string {
		g.git("merge", "--quiet", "--squash", branch)
		g.commit("all of it")
		return g.git("rev-parse", "HEAD")
	}
	three := map[int]string{3: "three", 15: "fifteen", 16: "sixteen"}
	other := func(i int, line string) map[int]string {
		again := map[int]string{}
		for n, text := range three {
			again[n] = text
		}
		again[i] = line
		return again
	}
	known := func(kinds ...fleet.FateKind) (list []fleet.ReviewOutcome) {
		for _, k := range kinds {
			list = append(list, fleet.ReviewOutcome{Run: worked, Kind: k, Witness: "a"})
		}
		return list
	}
	for _, test := range []struct {
		name  string
		do    func(g gitter, commits []string) (witness string) // from main, after two commits on the branch
		known []fleet.ReviewOutcome
		here  bool // the run worked on the workspace's branch
		want  string
	}{
		{"nothing", func(gitter, []string) string { return "" }, nil, false, ""},
		{"fast-forward", func(g gitter, c []string) string { g.git("merge", "--quiet", "--ff-only", branch); return c[1] }, nil, false, "merged"},
		{"merge, and the branch is gone", func(g gitter, _ []string) string {
			g.git("merge", "--quiet", "--no-ff", branch)
			g.git("branch", "--quiet", "-D", branch)
			return g.git("rev-parse", "HEAD")
		}, nil, false, "merged"},
		{"merge, as is known", func(g gitter, c []string) string { g.git("merge", "--quiet", "--no-ff", branch); return c[1] }, known(fleet.FateMerged), false, ""},
		{"squash", func(g gitter, _ []string) string { g.record("other", "g", "x\n"); return squash(g) }, nil, false, "merged"},
		{"squash, and the branch is gone", func(g gitter, _ []string) string {
			g.record("other", "g", "x\n")
			at := squash(g)
			g.git("branch", "--quiet", "-D", branch)
			return at
		}, nil, false, "merged"},
		{"rebase", func(g gitter, c []string) string {
			g.record("other", "g", "x\n")
			g.git("cherry-pick", c[0])
			at := g.git("rev-parse", "HEAD")
			g.git("cherry-pick", c[1])
			return at
		}, nil, false, "merged"},
		{"squash of more than the run made", func(g gitter, _ []string) string {
			g.record("other", "g", "x\n")
			g.git("checkout", "--quiet", branch)
			g.record("fix", "f", text(other(3, "better")))
			g.git("checkout", "--quiet", "main")
			return squash(g)
		}, nil, false, "changed"},
		{"a person goes on, and merges it", func(g gitter, c []string) string {
			g.git("checkout", "--quiet", branch)
			g.record("more", "h", "x\n")
			g.git("checkout", "--quiet", "main")
			g.git("merge", "--quiet", "--no-ff", branch)
			return c[1]
		}, nil, false, "merged"},
		{"a branch that was put where the target is", func(g gitter, _ []string) string {
			g.record("other", "g", "x\n")
			g.git("branch", "--quiet", "--force", branch, "main")
			return ""
		}, nil, false, ""},
		{"revert", func(g gitter, _ []string) string {
			g.git("merge", "--quiet", "--no-ff", branch)
			g.git("revert", "--no-edit", "-m", "1", "HEAD")
			return g.git("rev-parse", "HEAD")
		}, known(fleet.FateMerged), false, "reverted"},
		{"revert of the revert", func(g gitter, _ []string) string {
			squash(g)
			g.git("revert", "--no-edit", "HEAD")
			g.git("revert", "--no-edit", "HEAD")
			return g.git("rev-parse", "HEAD")
		}, known(fleet.FateMerged, fleet.FateReverted), false, "merged"},
		{"a line of three is written anew", func(g gitter, _ []string) string {
			squash(g)
			return g.record("fix", "f", text(other(3, "tres")))
		}, known(fleet.FateMerged), false, "touched: 1 of its 4 lines"},
		{"a line is written anew after a merge", func(g gitter, _ []string) string {
			g.record("other", "g", "x\n")
			g.git("merge", "--quiet", "--no-ff", branch)
			return g.record("fix", "f", text(other(16, "again")))
		}, known(fleet.FateMerged), false, "touched: 1 of its 4 lines"},
		{"touched, as is known", func(g gitter, _ []string) string {
			squash(g)
			return g.record("fix", "f", text(other(3, "tres")))
		}, known(fleet.FateMerged, fleet.FateTouched), false, ""},
		{"another line of the file is written anew", func(g gitter, _ []string) string {
			squash(g)
			return g.record("fix", "f", text(other(9, "nine")))
		}, known(fleet.FateMerged), false, ""},
		{"its file has another name now", func(g gitter, _ []string) string {
			squash(g)
			g.git("mv", "f", "elsewhere")
			g.commit("move")
			return ""
		}, known(fleet.FateMerged), false, ""},
		{"made in the target", func(g gitter, _ []string) string { g.git("merge", "--quiet", "--ff-only", branch); return "" }, nil, true, ""},
		{"made in the target, and reverted", func(g gitter, _ []string) string {
			g.git("merge", "--quiet", "--ff-only", branch)
			g.git("revert", "--no-edit", "HEAD")
			return g.git("rev-parse", "HEAD")
		}, nil, true, "reverted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := repository(t)
			g.record("start", "f", text(nil))
			g.git("checkout", "--quiet", "-b", branch)
			commits := []string{
				g.record("one", "f", text(map[int]string{3: "three"})),
				g.record("two", "f", text(three), "a_test.go", "x\n"),
			}
			g.git("checkout", "--quiet", "main")
			witness := test.do(g, commits)
			w := review.Watched{Run: worked, Branch: branch, Commits: commits, Known: test.known}
			if test.here {
				w.Branch = ""
			}
			gone := review.Watched{Run: "01jd8wz4v0k3m7qb", Branch: "x", Commits: []string{strings.Repeat("7", 40)}}
			kind, reason, _ := strings.Cut(test.want, ": ")
			for _, w.Reviewed = range []bool{true, false} {
				got := must.Get(g.clone().Fates(t.Context(), []review.Watched{gone, w}))(t)
				want := fleet.ReviewOutcome{Run: worked, Kind: fleet.FateKind(kind), Witness: witness, Reason: reason}
				if !w.Reviewed && want.Kind.Landed() {
					want.Kind = fleet.FateUnreviewed
				}
				if (kind == "") != (len(got) == 0) || len(got) > 0 && (len(got) > 1 || got[0] != want) {
					t.Errorf("reviewed %t: got %+v, want %+v", w.Reviewed, got, want)
				}
			}
		})
	}
}
