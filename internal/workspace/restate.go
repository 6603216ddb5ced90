package workspace

import (
	"bytes"
	"context"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// Restate returns a task file as it lands, with the state that the file has by now. False: its state is not all in which the file
// differs from what it was, or it is no task's.
type Restate func(path string, was, now, lands []byte) ([]byte, bool)

// maxRestated bounds a task file whose state is written again, in bytes.
const maxRestated = 1 << 20

// restated are the files among these whose state alone was changed since a commit, and not staged, as stint does it; by path, each as
// the object that has the change.
func (t *turn) restated(ctx context.Context, base, lands string, files []string) (map[string]string, error) {
	staged, err := t.names(ctx, append(diff("--cached", "--name-only", "-z", base, "--"), literal(files)...)...)
	if err != nil || len(staged) > 0 || t.clone.Restate == nil {
		return nil, err
	}
	list := map[string]string{}
	for _, file := range files {
		now, err := readFile(filepath.Join(t.top, file))
		if err != nil || len(now) > maxRestated {
			continue // a person's own
		}
		if _, is := t.restate(ctx, file, base, lands, now); !is {
			continue
		}
		if list[file], err = t.feed(bytes.NewReader(now)).run(ctx, "hash-object", "-w", "--no-filters", "--stdin"); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (t *turn) restate(ctx context.Context, file, base, lands string, now []byte) ([]byte, bool) {
	was, _, lost := t.head(ctx, maxRestated, "cat-file", "blob", base+":"+file)
	text, _, gone := t.head(ctx, maxRestated, "cat-file", "blob", lands+":"+file)
	if lost != nil || gone != nil {
		return nil, false
	}
	return t.clone.Restate(filepath.Join(t.top, file), []byte(was), now, []byte(text))
}

// setAside gives files of tasks the text that the target has, for git to write what lands.
//
// If we die in it, some files lack their states. The note names the objects that have them, and the next turn puts them back.
func (t *turn) setAside(ctx context.Context, n note) error {
	for file := range n.Aside {
		if _, err := t.run(ctx, "restore", "--quiet", "--source="+n.From, "--worktree", "--", literal([]string{file})[0]); err != nil {
			return err
		}
	}
	return nil
}

// putBack writes the states that [turn.setAside] took: into what landed, or as the files were. A file that has another text by now is
// somebody's.
//
// If we die in it, the note still stands, and the next turn does the rest.
func (t *turn) putBack(ctx context.Context, n note) error {
	for file, object := range n.Aside {
		path := filepath.Join(t.top, file)
		info, err := os.Lstat(path)
		if err != nil {
			continue // somebody's
		}
		now, _, err := t.head(ctx, maxRestated, "cat-file", "blob", object)
		if err != nil {
			return err
		}
		text := []byte(now)
		if at := t.textOf(ctx, path, file, n.Land, n.From); at == "" {
			continue
		} else if restated, is := t.restate(ctx, file, n.From, n.Land, text); is && at == n.Land {
			text = restated
		}
		if err := renameio.WriteFile(path, text, info.Mode().Perm()); err != nil {
			return err
		}
	}
	return nil
}

// textOf is the first of commits whose text a file has; empty: none.
func (t *turn) textOf(ctx context.Context, path, file string, commits ...string) string {
	now, _ := readFile(path)
	for _, commit := range commits {
		text, _, err := t.head(ctx, maxRestated, "cat-file", "blob", commit+":"+file)
		if err == nil && text == string(now) {
			return commit
		}
	}
	return ""
}
