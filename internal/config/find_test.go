package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"stint/internal/config"
)

func TestFind(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	work := filepath.Join(root, "work")
	deep := filepath.Join(work, "a", "b")
	for _, folder := range []string{deep, filepath.Join(root, "xdg", "stint"), filepath.Join(root, "home", ".config", "stint")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"work/stint.toml", "xdg/stint/stint.toml", "home/.config/stint/stint.toml"} {
		if err := os.WriteFile(filepath.Join(root, path), nil, 0o600); err != nil {
			t.Fatal(err)
		}
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
			got, err := config.Find(test.explicit, test.getenv, test.dir)
			if err != nil {
				t.Fatal(err)
			}
			if want := test.want; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestFindNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := config.Find("", environment(), dir)
	wantError(t, err, "find config: no stint.toml in "+dir+" or above", "write one with: stint init")
	_, err = config.Find("", environment("HOME", dir), dir)
	wantError(t, err, "find config: no stint.toml in "+dir+" or above, and no "+dir+"/.config/stint/stint.toml", "write one with: stint init")
}
