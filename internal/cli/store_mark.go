package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/store/sqlite"
)

// A disk that is not mounted looks like a fleet that never ran, and in an empty store all claims would be free. A file of the
// operator's, which stands elsewhere, lists the folders in which "stint init" has made stores for fleets of a name.

// storeMarks is that file, and what it lists. Without a home there is none: its path is empty.
func (a *app) storeMarks(c *config.Config) (path string, folders []string) {
	base := cmp.Or(a.Getenv("XDG_CONFIG_HOME"), filepath.Join(a.Getenv("HOME"), ".config"))
	if !filepath.IsAbs(base) {
		return "", nil
	}
	path = filepath.Join(base, "stint", "stores", string(c.Fleet))
	text, _ := os.ReadFile(path) // one that is not there lists nothing
	return path, strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
}

// noteStore notes that the fleet has a store in its folder.
func (a *app) noteStore(c *config.Config) error {
	path, folders := a.storeMarks(c)
	if path == "" || slices.Contains(folders, c.State) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return writeMarks(path, append(folders, c.State))
}

func writeMarks(path string, folders []string) error {
	return replaceFile("list of stores", path, []byte(strings.Join(folders, "\n")+"\n"))
}

// forgetStore takes the fleet's folder from the list, and the list away that is empty then.
func (r *removal) forgetStore() error {
	path, folders := r.storeMarks(r.c)
	at := slices.Index(folders, r.c.State)
	if at < 0 {
		return nil
	}
	folders = slices.Delete(folders, at, at+1)
	if len(folders) == 0 {
		return r.remove(path)
	}
	if r.o.dryRun {
		return nil
	}
	return writeMarks(path, folders)
}

// storeGone is an error if the fleet had a store in its folder, and has none there now.
func (a *app) storeGone(c *config.Config) error {
	path := filepath.Join(c.State, sqlite.File)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, folders := a.storeMarks(c); !slices.Contains(folders, c.State) {
		return nil
	}
	return fleet.WithHint(fmt.Errorf("the store of fleet %s is gone: there is no %s", c.Fleet, path),
		"mount its disk, or put it back; to begin with an empty one: stint init --new-store")
}
