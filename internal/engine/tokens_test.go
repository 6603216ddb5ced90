package engine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stint/internal/box"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestWithhold has tokens in the settings of tools, and settings that have none.
func TestWithhold(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		file, text, left string
		linked           bool
	}{
		"an address that git puts in place":   {file: ".gitconfig", text: "[user]\n\tname = A\n[url \"https://x:tok3n@h/\"]\n\tinsteadOf = https://h/\n", left: "[user]\n\tname = A\n[withheld]\n\tinsteadOf = https://h/\n"},
		"a header":                            {file: ".config/git/config", text: "[http]\n\textraHeader = Authorization: Basic eHh4\n\tsslVerify = true\n", left: "[http]\n\tsslVerify = true\n"},
		"a token of cargo's":                  {file: ".cargo/config.toml", text: "[registries.x]\ntoken = \"s\"\n", left: ""},
		"in one line":                         {file: ".cargo/config.toml", text: "registries.x = { index = \"i\", \"token\" = \"s\" }\n", left: ""},
		"a variable of mise's":                {file: ".config/mise/conf.d/a.toml", text: "[env]\nGITHUB_TOKEN = \"s\"\n", left: ""},
		"a proxy of go's":                     {file: ".config/go/env", text: "GOPROXY=https://u:p@h\n", left: ""},
		"in a folder behind a link":           {file: ".config/mise/config.toml", text: "[env]\nA_TOKEN = 'x'\n", linked: true},
		"a token by its form":                 {file: ".config/mise/config.toml", text: "[env]\nX = 'ghp_0123456789abcdef'\n", left: ""},
		"who commits, and ssh for an address": {file: ".gitconfig", text: "[user]\n\tsigningkey = 1\n[url \"ssh://git@h/\"]\n\tinsteadOf = https://h/\n", left: "same"},
		"a linker":                            {file: ".cargo/config.toml", text: "[build]\nrustflags = ['-C']\n[net]\ngit-fetch-with-cli = true\n", left: "same"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home, state := t.TempDir(), t.TempDir()
			must.Do(t, os.Mkdir(state+"/runs", 0o700))
			file := filepath.Join(home, tt.file)
			if tt.linked {
				must.Do(t, os.MkdirAll(filepath.Join(home, ".config"), 0o700))
				must.Do(t, os.Symlink(t.TempDir(), filepath.Dir(file)))
			}
			must.Do(t, os.MkdirAll(filepath.Dir(file), 0o700))
			must.Do(t, os.WriteFile(file, []byte(tt.text), 0o600))
			p := box.Places{Home: home, Files: fleet.FilesOf(state, "r")}
			git := must.Get(withhold(&p))(t)
			b := box.For(fleet.BoxWorkspace, p)
			reads := slices.ContainsFunc(b.Read, func(path string) bool { return path == file || strings.HasPrefix(file, path+"/") })
			if reads != (tt.left == "same") {
				t.Errorf("the box reads it: %t", reads)
			}
			if want := tt.left != "same" && strings.Contains(tt.file, "git"); (git != "") != want {
				t.Errorf("git goes by %q", git)
			} else if want {
				must.Equal(t, "settings", strings.TrimSpace(string(must.Get(os.ReadFile(git))(t))), strings.TrimSpace(tt.left))
			}
			p = box.Places{Home: home, Files: p.Files, Borrowed: []string{"/o"}}
			if git := must.Get(withhold(&p))(t); git != "" {
				t.Errorf("git of a clone goes by %q", git)
			}
		})
	}
}
