package config

import (
	"os"
	"path/filepath"
	"syscall"

	"stint/internal/fleet"
)

// Find is the absolute path of the configuration to use: explicit (--config) if
// given, else $STINT_CONFIG, else the nearest stint.toml in dir or above it, else
// the user's own. A relative path counts from dir, which must be absolute. A path
// that was named is not looked at; for a search that finds none, the error is a
// [fleet.ErrUsage].
//
// A file that is only found must belong to the user uid or to root: it names commands that are
// run, and a user who can write above dir could have others run theirs. A file that is named is
// trusted.
func Find(explicit string, getenv func(string) string, dir string, uid int) (string, error) {
	for _, named := range []string{explicit, getenv("STINT_CONFIG")} {
		switch {
		case filepath.IsAbs(named):
			return filepath.Clean(named), nil
		case named != "":
			return filepath.Join(dir, named), nil
		}
	}
	if path := Nearest(dir); path != "" {
		return path, ownFile(path, uid)
	}
	own := userFolder(getenv, "XDG_CONFIG_HOME", ".config")
	if own == "" {
		return "", usagef(writeOne, "find config: no %s in %s or above", FileName, dir)
	}
	path := filepath.Join(own, "stint", FileName)
	if !exists(path) {
		return "", usagef(writeOne, "find config: no %s in %s or above, and no %s", FileName, dir, path)
	}
	return path, ownFile(path, uid)
}

// Nearest is the configuration in a folder or in the nearest one above it; empty: there is none.
func Nearest(dir string) string {
	for folder := dir; ; folder = filepath.Dir(folder) {
		if path := filepath.Join(folder, FileName); exists(path) {
			return path
		}
		if folder == filepath.Dir(folder) {
			return ""
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ownFile refuses a file of another user. A link is looked at, too: a path in the file counts
// from where the link is.
func ownFile(path string, uid int) error {
	for _, look := range []func(string) (os.FileInfo, error){os.Lstat, os.Stat} {
		info, err := look(path)
		if err != nil {
			return usagef("check the permissions of the folders above it", "find config: %w", err)
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != 0 && int(stat.Uid) != uid {
			return usagef("if you trust it, name it: --config "+fleet.ShellWord(path)+"; its commands are run as you",
				"find config: %s belongs to another user, %d", path, stat.Uid)
		}
	}
	return nil
}

// DefaultState returns the state folder of a fleet whose file names none, or "" when the
// environment names no home.
func DefaultState(getenv func(string) string, name fleet.Name) string {
	home := userFolder(getenv, "XDG_STATE_HOME", ".local/state")
	if home == "" {
		return ""
	}
	return filepath.Join(home, "stint", string(name))
}

// TrustFolder returns the folder in which confirmed configurations are kept: no fleet can have that
// name, and no configuration can move it. Empty: the environment names no home.
func TrustFolder(getenv func(string) string) string {
	home := userFolder(getenv, "XDG_STATE_HOME", ".local/state")
	if home == "" {
		return ""
	}
	return filepath.Join(home, "stint", "trusted-configs")
}

// userFolder is a folder of the XDG base directories: the variable's value, else
// the fallback in the home folder. Relative values do not count, as that standard
// wants it. Empty: there is none.
func userFolder(getenv func(string) string, variable, fallback string) string {
	if folder := getenv(variable); filepath.IsAbs(folder) {
		return folder
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, fallback)
	}
	return ""
}
