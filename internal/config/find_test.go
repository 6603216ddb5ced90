package config_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"stint/internal/config"
	"stint/internal/testkit/must"
)

func TestFind(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	work := filepath.Join(root, "work")
	deep := filepath.Join(work, "a", "b")
	for _, folder := range []string{deep, filepath.Join(root, "xdg", "stint"), filepath.Join(root, "home", ".config", "stint")} {
		must.Do(t, os.MkdirAll(folder, 0o700))
	}
	for _, path := range []string{"work/stint.toml", "xdg/stint/stint.toml", "home/.config/stint/stint.toml"} {
		must.Do(t, os.WriteFile(filepath.Join(root, path), nil, 0o600))
	}
	xdg, home := filepath.Join(root, "xdg"), filepath.Join(root, "home")
	for _, test := range []struct {
		name, explicit string
		getenv         func(string) string
		dir, want      string
	}{
		{"explicit", "/x/../y.toml", environment("STINT_CONFIG", "/z.toml"), deep, "/y.toml"},
		{"explicit, relative", "../y.toml", environment(), deep, filepath.Join(work, "a", "y.toml")},
		{"environment", "", environment("STINT_CONFIG", "/z.toml"), deep, "/z.toml"},
		{"environment, relative", "", environment("STINT_CONFIG", "z.toml"), deep, filepath.Join(deep, "z.toml")},
		{"here", "", environment("XDG_CONFIG_HOME", xdg), work, filepath.Join(work, "stint.toml")},
		{"above", "", environment("XDG_CONFIG_HOME", xdg), deep, filepath.Join(work, "stint.toml")},
		{"XDG", "", environment("XDG_CONFIG_HOME", xdg, "HOME", home), root, filepath.Join(xdg, "stint", "stint.toml")},
		{"home", "", environment("HOME", home), root, filepath.Join(home, ".config", "stint", "stint.toml")},
		{"relative XDG does not count", "", environment("XDG_CONFIG_HOME", "xdg", "HOME", home), root, filepath.Join(home, ".config", "stint", "stint.toml")},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := must.Get(config.Find(test.explicit, test.getenv, test.dir, os.Getuid()))(t)
			if want := test.want; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestFindNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := config.Find("", environment(), dir, os.Getuid())
	wantError(t, err, "find config: no stint.toml in "+dir+" or above", "write one with: stint init")
	_, err = config.Find("", environment("HOME", dir), dir, os.Getuid())
	wantError(t, err, "find config: no stint.toml in "+dir+" or above, and no "+dir+"/.config/stint/stint.toml", "write one with: stint init")
}

// TestFindOfOthers looks with the eyes of another user: what is only found is refused, and
// what is named is not. As root, everything here belongs to another already.
func TestFindOfOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own, link := filepath.Join(dir, "own"), filepath.Join(dir, "link")
	for _, folder := range []string{own, link, filepath.Join(dir, "home", ".config", "stint")} {
		must.Do(t, os.MkdirAll(folder, 0o700))
		path := filepath.Join(folder, "stint.toml")
		if folder == link {
			must.Do(t, os.Symlink(filepath.Join(own, "stint.toml"), path))
			continue
		}
		must.Do(t, os.WriteFile(path, nil, 0o600))
		must.Do(t, os.Chown(path, os.Getuid()+theirs(), -1))
	}
	another := os.Getuid() + theirs() + 1
	for folder, found := range map[string]string{
		own: filepath.Join(own, "stint.toml"), link: filepath.Join(link, "stint.toml"), dir: filepath.Join(dir, "home/.config/stint/stint.toml"),
	} {
		getenv := environment("HOME", filepath.Join(dir, "home"))
		_, err := config.Find("", getenv, folder, another)
		wantError(t, err, "find config: "+found+" belongs to another user, "+strconv.Itoa(another-1),
			"if you trust it, name it: --config "+found+"; its commands are run as you")
		for _, named := range []string{found, ""} {
			if _, err := config.Find(named, environment("STINT_CONFIG", found), folder, another); err != nil {
				t.Errorf("%s, which was named: %v", found, err)
			}
		}
	}
}

// theirs is the distance from this user's number to that of one to whom it can give a file: root
// alone can, and everybody trusts files of root.
func theirs() int {
	if os.Getuid() == 0 {
		return 65000
	}
	return 0
}
