package cli

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/store/sqlite"
)

// A disk that is not mounted looks like a fleet that never ran, and in an empty store all claims would be free. A mark of the
// operator's, which stands elsewhere, says that "stint init" has made a store in a folder. Each folder has a file of its own, so
// fleets of one name that are made or removed at once lose none.

// storeMark is the mark of the fleet's folder. It is empty without a home.
func (a *app) storeMark(c *config.Config) string {
	base := cmp.Or(a.Getenv("XDG_CONFIG_HOME"), filepath.Join(a.Getenv("HOME"), ".config"))
	if !filepath.IsAbs(base) {
		return ""
	}
	return filepath.Join(base, "stint", "stores", fmt.Sprintf("%s-%.8x", c.Fleet, sha256.Sum256([]byte(c.State))))
}

// noteStore notes that the fleet has a store in its folder.
func (a *app) noteStore(c *config.Config) error {
	mark := a.storeMark(c)
	if mark == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(mark), 0o700); err != nil {
		return err
	}
	return os.WriteFile(mark, []byte(c.State+"\n"), 0o600)
}

// storeGone is an error if the fleet had a store in its folder, and has none there now.
func (a *app) storeGone(c *config.Config) error {
	path := filepath.Join(c.State, sqlite.File)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(a.storeMark(c)); err == nil {
			return fleet.WithHint(fmt.Errorf("the store of fleet %s is gone: there is no %s", c.Fleet, path),
				"mount its disk, or put it back; to begin with an empty one: stint init --new-store")
		}
	}
	return nil
}
