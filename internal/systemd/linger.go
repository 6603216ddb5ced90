package systemd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
)

// lingerDir is logind's folder with one empty file for each user whose manager runs from
// boot to shutdown, login or not.
const lingerDir = "/var/lib/systemd/linger"

// Linger reports whether the user's manager outlives the last logout and starts at
// boot. Without it a fleet stops when its owner logs out. It needs no bus.
func Linger() (bool, error) {
	u, err := user.Current()
	if err != nil {
		return false, fmt.Errorf("find the user's name: %w", err)
	}
	return lingers(lingerDir, u.Username)
}

func lingers(dir, name string) (bool, error) {
	_, err := os.Stat(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read lingering users: %w", err)
	}
	return true, nil
}
