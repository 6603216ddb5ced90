package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stint/internal/fleet"
	"stint/internal/review"
)

// record commits files, given as names and texts in turn.
func (g gitter) record(message string, files ...string) string {
	g.t.Helper()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(g.dir, files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			g.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o600); err != nil {
			g.t.Fatal(err)
		}
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

// TestPending is what each way of merging leaves to review.
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
			_, all, err := g.clone().Pending(t.Context(), "", func([]fleet.RunID) (map[fleet.RunID][]string, error) {
				return map[fleet.RunID][]string{worked: commits}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(all) != 1 {
				t.Fatalf("got %d branches, want 1: %+v", len(all), all)
			}
			p := all[0]
			if p.Landing != test.landing || len(p.Commits) != test.waiting || p.Landed != test.landed || strings.Join(p.Files, " ") != test.files {
				t.Errorf("got %s, %d commits wait, %d are there, files %v, want %s, %d, %d, %s",
					p.Landing, len(p.Commits), p.Landed, p.Files, test.landing, test.waiting, test.landed, test.files)
			}
			if len(p.Conflicts) > 0 && test.name != "a target with a history of its own" {
				t.Errorf("got conflicts in %v", p.Conflicts)
			}
		})
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
	_, all, err := g.clone().Pending(t.Context(), "main", unknown)
	if err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for _, p := range all {
		got = append(got, p.Conflicts)
	}
	if diff := cmp.Diff(got, [][]string{{"f"}, {"f"}, nil}); diff != "" {
		t.Errorf("conflicts (-got +want):\n%s", diff)
	}
}
