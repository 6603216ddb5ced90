package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestChanged looks at a session at work, which has its index locked, beside a target that moved on.
func TestChanged(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	p := clone.places(resolved(t.TempDir()))
	made, _, err := p.Enter(t.Context(), own, fleet.Place{Own: true})
	must.Do(t, err)
	clone.add("theirs", "theirs")
	tree := clone.at(made.Dir)
	tree.add("committed", "x")
	tree.add(".gitignore", "ignored\n")
	tree.write("a", "changed")
	tree.write("a new one", "x")
	tree.write("ignored", "x")
	lock := filepath.Join(tree.git("rev-parse", "--absolute-git-dir"), "index.lock")
	must.Do(t, os.WriteFile(lock, nil, 0o600))
	got := must.Get(p.Changed(t.Context(), own))(t)
	slices.Sort(got)
	must.Equal(t, "changed", got, []string{".gitignore", "a", "a new one", "committed"})
	if got, err := p.Changed(t.Context(), "0nofolder"); err != nil || got != nil {
		t.Errorf("without a folder: got %v, %v, want nothing", got, err)
	}
}
