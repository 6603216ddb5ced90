package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stint/internal/fleet"
	"stint/internal/review"
	"stint/internal/testkit/must"
)

// record commits files, given as names and texts in turn.
func (g gitter) record(message string, files ...string) string {
	g.t.Helper()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(g.dir, files[i])
		must.Do(g.t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.Do(g.t, os.WriteFile(path, []byte(files[i+1]), 0o600))
		g.git("add", "--", files[i])
	}
	g.commit(message)
	return g.git("rev-parse", "HEAD")
}

// unknown is a record that has none of the runs.
func unknown([]fleet.RunID) (map[fleet.RunID][]string, error) { return nil, nil }

const worked fleet.RunID = "01jd8wz4v0k3m7qa"

// text is a file of numbered lines, of which some are replaced.
func text(change map[int]string) string {
	var b strings.Builder
	for i := 1; i <= 20; i++ {
		line := fmt.Sprintf("line %d", i)
		if other, ok := change[i]; ok {
			line = other
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// TestPending merges work in each way, and wants the rest that is left to review.
func TestPending(t *testing.T) {
	t.Parallel()
	const branch = "stint/bob/" + string(worked)
	for _, test := range []struct {
		name    string
		do      func(g gitter, commits []string) // from main, after two commits on the branch
		landing review.Landing
		waiting int
		landed  int
		files   string
	}{
		{"nothing", func(gitter, []string) {}, review.Waiting, 2, 0, "a_test.go f"},
		{"fast-forward", func(g gitter, _ []string) { g.git("merge", "--quiet", "--ff-only", branch) }, review.Merged, 0, 0, ""},
		{"merge", func(g gitter, _ []string) { g.git("merge", "--quiet", "--no-ff", branch) }, review.Merged, 0, 0, ""},
		{"a target that moved", func(g gitter, _ []string) { g.record("other", "g", "x\n") }, review.Waiting, 2, 0, "a_test.go f"},
		{"squash", func(g gitter, _ []string) {
			g.record("other", "g", "x\n")
			g.git("merge", "--quiet", "--squash", branch)
			g.commit("all of it")
			g.record("later", "f", text(map[int]string{3: "again"}))
		}, review.Copied, 0, 2, ""},
		{"rebase", func(g gitter, c []string) {
			g.record("other", "g", "x\n")
			g.git("cherry-pick", c[0], c[1])
		}, review.Copied, 0, 2, ""},
		{"cherry-pick of one", func(g gitter, c []string) { g.record("other", "g", "x\n"); g.git("cherry-pick", c[0]) }, review.Waiting, 1, 1, "a_test.go f"},
		{"squash with changes", func(g gitter, _ []string) {
			g.git("merge", "--quiet", "--squash", branch)
			g.record("all of it, better", "more", "x\n")
		}, review.Covered, 0, 0, "a_test.go f"},
		{"merge and revert", func(g gitter, _ []string) {
			g.git("merge", "--quiet", "--no-ff", branch)
			g.git("revert", "--no-edit", "-m", "1", "HEAD")
		}, review.Reverted, 0, 0, ""},
		{"squash and revert", func(g gitter, _ []string) {
			g.git("merge", "--quiet", "--squash", branch)
			g.commit("all of it")
			g.git("revert", "--no-edit", "HEAD")
		}, review.Reverted, 0, 2, "a_test.go f"},
		{"squash, and a revert that does not say so", func(g gitter, _ []string) {
			g.git("merge", "--quiet", "--squash", branch)
			g.commit("all of it")
			g.git("revert", "--no-commit", "HEAD")
			g.commit("I do not like it")
		}, review.Reverted, 0, 2, "a_test.go f"},
		{"revert of the revert", func(g gitter, _ []string) {
			g.git("merge", "--quiet", "--squash", branch)
			g.commit("all of it")
			g.git("revert", "--no-edit", "HEAD")
			g.git("revert", "--no-edit", "HEAD")
		}, review.Copied, 0, 2, ""},
		{"merge, revert and its revert", func(g gitter, _ []string) {
			g.git("merge", "--quiet", "--no-ff", branch)
			g.git("revert", "--no-edit", "-m", "1", "HEAD")
			g.git("revert", "--no-edit", "HEAD")
		}, review.Merged, 0, 0, ""},
		{"rebase, and a revert of one", func(g gitter, c []string) {
			g.record("other", "g", "x\n")
			g.git("cherry-pick", c[0], c[1])
			g.git("revert", "--no-edit", "HEAD")
		}, review.Reverted, 0, 2, "a_test.go f"},
		{"written anew", func(g gitter, _ []string) { // as a force-push does
			g.git("checkout", "--quiet", branch)
			g.git("reset", "--quiet", "--hard", "main")
			g.record("another way", "h", "x\n")
			g.git("checkout", "--quiet", "main")
		}, review.Waiting, 1, 0, "h"},
		{"the target merged into the branch", func(g gitter, _ []string) {
			g.record("other", "g", "x\n")
			g.git("checkout", "--quiet", branch)
			g.git("merge", "--quiet", "--no-edit", "main")
			g.git("checkout", "--quiet", "main")
		}, review.Waiting, 3, 0, "a_test.go f"},
		{"a merged branch, then squashed", func(g gitter, _ []string) {
			g.record("other", "g", "x\n")
			g.git("checkout", "--quiet", branch)
			g.git("merge", "--quiet", "--no-edit", "main")
			g.git("checkout", "--quiet", "main")
			g.git("merge", "--quiet", "--squash", branch)
			g.commit("all of it")
		}, review.Copied, 0, 3, ""},
		{"merged, and the target written anew without it", func(g gitter, _ []string) {
			g.git("merge", "--quiet", "--no-ff", branch)
			g.git("reset", "--quiet", "--hard", "HEAD~1")
			g.record("other", "g", "x\n")
		}, review.Waiting, 2, 0, "a_test.go f"},
		{"squashed, and the target written anew with it", func(g gitter, _ []string) {
			g.git("merge", "--quiet", "--squash", branch)
			g.commit("all of it")
			g.git("commit", "--quiet", "--amend", "--message", "in other words")
		}, review.Copied, 0, 2, ""},
		{"squash with changes in the same lines", func(g gitter, _ []string) {
			g.git("merge", "--quiet", "--squash", branch)
			g.write("f", text(map[int]string{3: "THREE", 15: "FIFTEEN"}))
			g.git("commit", "--quiet", "--all", "--no-edit") // with the message that git has ready
		}, review.Covered, 0, 2, ""},
		{"cherry-picks, one of which had a conflict", func(g gitter, c []string) {
			g.record("other", "f", text(map[int]string{3: "other"}))
			g.record("one\n\n(cherry picked from commit "+c[0]+")", "f", text(map[int]string{3: "both"}))
			g.git("cherry-pick", c[1])
		}, review.Covered, 0, 2, ""},
		{"cherry-pick with changes, and a revert", func(g gitter, c []string) {
			g.record("one\n\n(cherry picked from commit "+c[0]+")", "f", text(map[int]string{3: "better"}))
			g.git("cherry-pick", c[1])
			g.git("revert", "--no-edit", "HEAD~1")
		}, review.Reverted, 0, 2, "a_test.go f"},
		{"a deleted branch", func(g gitter, _ []string) { g.git("branch", "--quiet", "-D", branch) }, "", 0, 0, ""},
		{"a submodule", func(g gitter, c []string) {
			g.git("checkout", "--quiet", branch)
			g.git("update-index", "--add", "--cacheinfo", "160000,"+c[0]+",sub")
			g.commit("sub")
			g.git("checkout", "--quiet", "main")
		}, review.Waiting, 3, 0, "a_test.go f sub"},
		{"a submodule, squashed", func(g gitter, c []string) {
			g.git("checkout", "--quiet", branch)
			g.git("update-index", "--add", "--cacheinfo", "160000,"+c[0]+",sub")
			g.commit("sub")
			g.git("checkout", "--quiet", "main")
			g.record("other", "g", "x\n")
			g.git("merge", "--quiet", "--squash", branch)
			g.commit("all of it")
		}, review.Copied, 0, 3, ""},
		{"a mode, a binary and a strange name, rebased", func(g gitter, _ []string) {
			g.git("checkout", "--quiet", branch)
			g.record("strange", "a\tb \"ü\".bin", "\x00\x01", "-- x", "--- x\n+++ x\n")
			g.git("update-index", "--chmod=+x", "f")
			g.commit("mode")
			g.git("checkout", "--quiet", "--force", "main")
			g.record("other", "f", text(map[int]string{20: "other"}))
			g.git("cherry-pick", "main.."+branch)
		}, review.Copied, 0, 4, ""},
		{"a target with a history of its own", func(g gitter, _ []string) {
			g.git("checkout", "--quiet", "--orphan", "new")
			g.commit("anew")
			g.git("branch", "--quiet", "--force", "main", "new")
			g.git("checkout", "--quiet", "main")
		}, review.Waiting, 4, 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := repository(t)
			g.record("start", "f", text(nil))
			g.git("checkout", "--quiet", "-b", branch)
			commits := []string{
				g.record("one", "f", text(map[int]string{3: "three"})),
				g.record("two", "f", text(map[int]string{3: "three", 15: "fifteen"}), "a_test.go", "x\n"),
			}
			g.git("checkout", "--quiet", "main")
			test.do(g, commits)
			_, all, err := g.clone().Pending(t.Context(), func([]fleet.RunID) (map[fleet.RunID][]string, error) {
				return map[fleet.RunID][]string{worked: commits}, nil
			})
			must.Do(t, err)
			if test.landing == "" && len(all) == 0 {
				return
			}
			if len(all) != 1 {
				t.Fatalf("got %d branches, want 1: %+v", len(all), all)
			}
			p := all[0]
			if p.Landing != test.landing || len(p.Commits) != test.waiting || p.Others != test.landed || strings.Join(p.Files, " ") != test.files {
				t.Errorf("got %s, %d commits wait, %d are there, files %v, want %s, %d, %d, %s",
					p.Landing, len(p.Commits), p.Others, p.Files, test.landing, test.waiting, test.landed, test.files)
			}
			if len(p.Conflicts) > 0 && test.name != "a target with a history of its own" {
				t.Errorf("got conflicts in %v", p.Conflicts)
			}
		})
	}
}

// TestPendingSettings is the same whatever the operator has set for git log and git diff.
func TestPendingSettings(t *testing.T) {
	t.Parallel()
	g := repository(t)
	for key, value := range map[string]string{
		"log.showRoot": "false", "log.diffMerges": "separate", "diff.relative": "true", "diff.noprefix": "true", "diff.ignoreSubmodules": "all",
		"diff.renames": "copies", "diff.external": "false", "diff.algorithm": "patience", "color.ui": "always", "format.pretty": "oneline",
	} {
		g.git("config", key, value)
	}
	g.record("start", "below/f", text(nil))
	g.git("checkout", "--quiet", "--orphan", "stint/bob/"+string(worked))
	first := g.record("one", "below/f", text(nil), "below/g", text(nil))
	g.git("mv", "below/f", "below/h")
	g.git("update-index", "--add", "--cacheinfo", "160000,"+first+",sub")
	g.commit("two")
	g.git("checkout", "--quiet", "--force", "main")
	g.git("merge", "--quiet", "--no-edit", "--allow-unrelated-histories", first)
	g.git("rm", "--quiet", "-r", "--cached", "below/f")
	must.Do(t, os.Rename(filepath.Join(g.dir, "below/f"), filepath.Join(g.dir, "below/h")))
	g.git("add", "below/h")
	g.git("update-index", "--add", "--cacheinfo", "160000,"+first+",sub")
	g.commit("two, again")
	c := g.clone()
	c.Dir += "/below"
	_, all, err := c.Pending(t.Context(), unknown)
	must.Do(t, err)
	if len(all) != 1 || all[0].Landing != review.Copied {
		t.Errorf("got %+v", all)
	}
}

// TestPendingConflicts merges each branch that waits in thought.
func TestPendingConflicts(t *testing.T) {
	t.Parallel()
	g := repository(t)
	g.record("start", "f", text(nil), "g", text(nil))
	for i, change := range []map[int]string{{3: "a"}, {4: "b", 20: "b"}, {12: "c"}} {
		g.git("checkout", "--quiet", "-b", fmt.Sprintf("stint/bob/01jd8wz4v0k3m7q%d", i), "main")
		g.record("change", "f", text(change), "g", text(change))
	}
	g.git("checkout", "--quiet", "main")
	g.record("other", "f", text(map[int]string{3: "other"}))
	_, all, err := g.clone().Pending(t.Context(), unknown)
	must.Do(t, err)
	var got [][]string
	for _, p := range all {
		got = append(got, p.Conflicts)
	}
	must.Equal(t, "conflicts", got, [][]string{{"f"}, {"f"}, nil})
}

// TestPendingShallow reads a clone that has the last commit of the target only.
func TestPendingShallow(t *testing.T) {
	t.Parallel()
	origin := repository(t)
	origin.record("start", "f", text(nil))
	origin.record("second", "f", text(map[int]string{1: "one"}))
	g := gitter{t: t, dir: filepath.Join(t.TempDir(), "clone")}
	origin.git("clone", "--quiet", "--depth=1", "file://"+origin.dir, g.dir)
	for _, run := range []fleet.RunID{"01jd8wz4v0k3m7q0", "01jd8wz4v0k3m7q1"} {
		g.git("checkout", "--quiet", "-b", "stint/bob/"+string(run), "main")
		g.record("change", string(run), "x\n")
	}
	// The first is squashed in the origin, of which again only the last commit is fetched.
	origin.record("more", "g", "x\n")
	origin.record("squashed", "01jd8wz4v0k3m7q0", "x\n")
	g.git("checkout", "--quiet", "main")
	g.git("pull", "--quiet", "--depth=3")
	landings := func() (list []review.Landing) {
		_, all, err := g.clone().Pending(t.Context(), unknown)
		must.Do(t, err)
		for _, b := range all {
			list = append(list, b.Landing)
		}
		return list
	}
	must.Equal(t, "landings", landings(), []review.Landing{review.Copied, review.Waiting})
	// Where the history of the target does not reach back to the branches, they wait: nothing is lost.
	g.git("fetch", "--quiet", "--depth=1")
	g.git("reset", "--quiet", "--hard", "origin/main")
	must.Equal(t, "landings with less history", landings(), []review.Landing{review.Covered, review.Waiting})
}
