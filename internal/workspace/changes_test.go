package workspace

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestChanges(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		do   func(own, other gitter)
		want Changes
	}{
		"none":     {func(_, o gitter) { o.add("c", "c\n") }, Changes{}},
		"one":      {func(w, _ gitter) { w.add("c", "c\n") }, Changes{Commits: 1, Files: 1, Insertions: 1}},
		"one file": {func(w, _ gitter) { w.add("a", "x\ny\n"); w.add("a", "a\n") }, Changes{Commits: 2, Files: 1, Insertions: 3, Deletions: 3}},
		"empty":    {func(w, _ gitter) { w.commit("x") }, Changes{Commits: 1}},
		"binary":   {func(w, _ gitter) { w.add("bin", "\x00\x01") }, Changes{Commits: 1, Files: 1}},
		"amended": {func(w, _ gitter) {
			w.add("c", "c\n")
			w.write("c", "c\nd\n")
			w.git("commit", "-qa", "--amend", "--no-edit")
		}, Changes{Commits: 1, Files: 1, Insertions: 2}},
		"picked": {func(w, o gitter) {
			o.git("checkout", "-q", "-b", "s")
			o.add("c", "c\n")
			o.add("d", "d\n")
			o.git("checkout", "-q", "main")
			o.apart()
			w.git("cherry-pick", "main..s")
		}, Changes{Commits: 2, Files: 2, Insertions: 2}},
		"neighbour's": {func(w, o gitter) {
			o.add("c", "c\n")
			o.apart()
			w.add("d", "d\n")
			o.apart()
			o.as(neighbour).add("e", "e\n")
		}, Changes{Commits: 1, Files: 1, Insertions: 1}},
		"amends a neighbour's": {func(w, o gitter) {
			o.add("c", "c\n")
			o.apart()
			w.write("c", "c\nd\n")
			w.git("commit", "-qa", "--amend", "--no-edit")
		}, Changes{Commits: 1, Files: 1, Insertions: 1}},
		"reset": {func(w, _ gitter) { w.add("c", "c\n"); w.git("reset", "-q", "--hard", "HEAD~1") }, Changes{Commits: 1, Files: 1, Insertions: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, clone := pair(t)
			clone.apart()
			test.do(clone.as(own), clone)
			got, err := clone.clone().Changes(t.Context(), clone.files(own))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, test.want); diff != "" {
				t.Errorf("changes (-got +want):\n%s", diff)
			}
		})
	}
}

// apart lets time pass in which files of before and after can be told apart.
func (g gitter) apart() {
	g.t.Helper()
	<-time.After(2 * tick)
}

func TestChangesInAWorktree(t *testing.T) {
	t.Parallel()
	origin, clone := pair(t)
	w, err := clone.clone().Open(t.Context(), own, filepath.Join(t.TempDir(), string(own)), FromHead)
	if err != nil {
		t.Fatal(err)
	}
	tree := clone.at(w.Dir).as(own)
	origin.add("theirs", "x\n")
	tree.add("c", "c\n")
	clone.add("neighbours", "x\n")
	tree.git("pull", "-q", "--rebase", "origin", "main")
	got, err := clone.clone().Changes(t.Context(), clone.files(own))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, Changes{Commits: 1, Files: 1, Insertions: 1}); diff != "" {
		t.Errorf("changes (-got +want):\n%s", diff)
	}
	if n, err := Folder(w.Dir).Commits(clone.files(own)); n != 1 || err != nil {
		t.Errorf("counted %d, %v, want 1", n, err)
	}
}

func TestChangesThatNobodyCanTell(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	clone.as(own).add("c", "c\n")
	clone.git("gc", "--quiet") // all objects are in one pack
	got, err := clone.clone().Changes(t.Context(), clone.files(own))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, Changes{Unknown: 1}); diff != "" {
		t.Errorf("changes (-got +want):\n%s", diff)
	}
}
