package workspace

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"stint/internal/testkit/must"
)

func (g gitter) places(root string) Places {
	c := g.clone()
	c.Root = root
	return Places{Clone: c, Log: slog.New(slog.DiscardHandler)}
}

// TestCopyIn gives a clone a file that nobody has committed; a folder that leads elsewhere is not followed.
func TestCopyIn(t *testing.T) {
	t.Parallel()
	_, g := pair(t)
	p := g.places(resolved(t.TempDir()))
	dir := filepath.Join(p.Root, string(own))
	must.Get(p.Open(t.Context(), own, dir))(t)
	must.Do(t, errors.Join(os.Mkdir(filepath.Join(g.dir, "tasks"), 0o700), os.Mkdir(filepath.Join(g.dir, "more"), 0o700)))
	g.write("tasks/a [1].md", "todo\n")
	got := must.Get(p.Own(t.Context(), own, filepath.Join(g.dir, "tasks/a [1].md")))(t)
	if got != filepath.Join(dir, "tasks/a [1].md") || g.at(dir).read("tasks/a [1].md") != "todo\n" {
		t.Errorf("got %q", got)
	}
	if status := g.at(dir).git("status", "--porcelain"); status != "" {
		t.Errorf("git of the session sees %q", status)
	}
	outside := t.TempDir()
	must.Do(t, os.Symlink(outside, filepath.Join(dir, "more")))
	g.write("more/b.md", "todo\n")
	if got, err := p.Own(t.Context(), own, filepath.Join(g.dir, "more/b.md")); err == nil || exists(filepath.Join(outside, "b.md")) {
		t.Errorf("got %q, want a refusal", got)
	}
}
