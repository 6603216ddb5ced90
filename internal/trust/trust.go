// Package trust keeps what a person has confirmed of that which leads to execution: the text of a
// configuration, and the content of the files that it names. A later change is held.
//
// It says what has changed, and never what is to be done about it. It trusts its own folder,
// which no session may write in.
package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/google/renameio/v2"

	"stint/internal/agent/command"
	"stint/internal/fleet"
)

// Record has what was confirmed last.
type Record struct {
	By   string            `json:"by"`   // a user's name, or "the first fire"
	Sums map[string]string `json:"sums"` // of the files, by path; nil: no file ever was
}

// Verdict compares a file with the record.
type Verdict string

const (
	Trusted Verdict = ""
	Changed Verdict = "changed since it was trusted"
	Unknown Verdict = "never trusted"
)

// Judge decides on a file by its sum. Before anything was confirmed no session ran that could have
// changed it.
func (r Record) Judge(path, sum string) Verdict {
	was, known := r.Sums[path]
	switch {
	case r.Sums == nil || was == sum:
		return Trusted
	case known:
		return Changed
	}
	return Unknown
}

// Reach lists the folders in which sessions may write. A link leads there if what it names does.
type Reach []string

// Of is the reach of folders as they really are.
func Of(folders ...string) (r Reach) {
	for _, folder := range folders {
		r = append(r, resolved(folder))
	}
	return r
}

// Has reports whether sessions may write a file, or the link by which it is named.
func (r Reach) Has(path string) bool {
	for _, at := range []string{filepath.Join(resolved(filepath.Dir(path)), filepath.Base(path)), resolved(path)} {
		if slices.ContainsFunc(r, func(folder string) bool {
			rel, err := filepath.Rel(folder, at)
			return err == nil && filepath.IsLocal(rel)
		}) {
			return true
		}
	}
	return false
}

func resolved(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return filepath.Clean(path)
}

// Guard keeps a command from running whose files are not as they were confirmed.
type Guard struct {
	Record
	Reach
	Workspace   string // what commands name relative files from
	Environment []string
}

// Files are the files within reach that a command names, which runs in dir: its program, and
// words that are the path of a file, also behind a "=". In a worktree of the workspace they are
// known by their names in the workspace. A folder is no file, and what is in one is not looked at.
// A pipe or a device is data, unless it is in the place of a file that was confirmed: [Read] refuses it.
// The file that a program only prints is data, such as a list of tasks.
func (g Guard) Files(argv []string, dir string) map[string]string {
	found := map[string]string{}
	if slices.Contains([]string{"cat", "head", "tail", "jq"}, argv[0]) {
		argv = argv[:1]
	}
	for i, word := range argv {
		words := []string{word}
		if _, value, ok := strings.Cut(word, "="); ok {
			words = append(words, value)
		}
		if i == 0 {
			if program, err := command.LookPath(word, g.Environment); err == nil {
				words = []string{program}
			}
		}
		for _, word := range words {
			at, name := word, word
			if !filepath.IsAbs(word) {
				at, name = filepath.Join(dir, word), filepath.Join(g.Workspace, word)
			} else if rel, err := filepath.Rel(dir, word); err == nil && filepath.IsLocal(rel) {
				name = filepath.Join(g.Workspace, rel)
			}
			_, known := g.Sums[name]
			if info, err := os.Stat(at); err == nil && (info.Mode().IsRegular() || known && !info.IsDir()) && (g.Has(name) || g.Has(at)) {
				found[name] = at
			}
		}
	}
	return found
}

// Check is an error that names the first of a command's files that is held.
func (g Guard) Check(argv []string, dir string) error {
	if g.Sums == nil {
		return nil
	}
	files := g.Files(argv, dir)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		content, err := Read(files[name])
		if err != nil {
			return err
		}
		if v := g.Judge(name, content.Sum); v != Trusted {
			by := map[Verdict]string{Changed: " by " + g.By}[v]
			return fleet.WithHint(fmt.Errorf("%s %s%s (SHA-256 %.8s…): stint config trust", files[name], v, by, content.Sum), "stint config trust")
		}
	}
	return nil
}

// Store is a folder with one configuration's record, and the texts that it is about.
type Store struct {
	Dir     string
	passing func(point string) // in a test: what may not come to the next line
}

const list = "trusted.json"

// Load returns what was confirmed last.
func (s Store) Load() (r Record, err error) {
	text, err := os.ReadFile(filepath.Join(s.Dir, list))
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, nil
	}
	if err == nil {
		if err = json.Unmarshal(text, &r); err == nil && r.Sums == nil {
			err = errors.New("it names no file")
		}
	}
	if err != nil {
		return Record{}, fleet.WithHint(fmt.Errorf("read the confirmed files, %s: %w", filepath.Join(s.Dir, list), err), "stint config trust")
	}
	return r, nil
}

// Text is a confirmed content. It is not believed where it has another sum.
func (s Store) Text(sum string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(s.Dir, sum))
	if err == nil && Sum(text) != sum {
		err = fmt.Errorf("%s differs from the confirmed text", filepath.Join(s.Dir, sum))
	}
	return text, err
}

// Save makes contents the ones that a user confirmed, by path; secret are those of which no text is kept. One process
// saves at a time, for it takes away what its own list does not name.
//
// If we die before the list is renamed into place, what was confirmed before stands, with texts
// beside it that it does not name. If we die after it, texts of the list before are left. The next
// Save takes both away.
func (s Store) Save(by string, contents map[string]Content, secret func(path string) bool) error {
	at := func(point string) {
		if s.passing != nil {
			s.passing(point)
		}
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	turn, err := s.turn()
	if err != nil {
		return err
	}
	defer turn.Close() // the folder itself: nothing is written by it
	r := Record{by, map[string]string{}}
	at("begun")
	for path, content := range contents {
		r.Sums[path] = content.Sum
		if content.Text == nil || secret(path) {
			continue
		}
		if err := renameio.WriteFile(filepath.Join(s.Dir, content.Sum), content.Text, 0o600); err != nil {
			return err
		}
		at("text written")
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(filepath.Join(s.Dir, list), append(text, '\n'), 0o600); err != nil {
		return err
	}
	at("list written")
	entries, err := os.ReadDir(s.Dir)
	for _, e := range entries {
		if named := slices.Contains(slices.Collect(maps.Values(r.Sums)), e.Name()); !named && e.Name() != list {
			err = errors.Join(err, os.Remove(filepath.Join(s.Dir, e.Name())))
		}
	}
	return err
}

// turn waits until no other process saves; the others wait until the folder that it returns is closed.
func (s Store) turn() (folder *os.File, err error) {
	if folder, err = os.Open(s.Dir); err != nil {
		return nil, err
	}
	for {
		if err = syscall.Flock(int(folder.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("wait for the turn to write %s: %w", s.Dir, err), folder.Close())
	}
	return folder, nil
}
