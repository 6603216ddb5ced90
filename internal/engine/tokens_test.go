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
	for name, tt := range map[string]struct{ file, text, left string }{
		"an address that git puts in place":   {".gitconfig", "[user]\n\tname = A\n[url \"https://x:tok3n@h/\"]\n\tinsteadOf = https://h/\n", "[user]\n\tname = A\n[withheld]\n\tinsteadOf = https://h/\n"},
		"a header":                            {".config/git/config", "[http]\n\textraHeader = Authorization: Basic eHh4\n\tsslVerify = true\n", "[http]\n\tsslVerify = true\n"},
		"a token of cargo's":                  {".cargo/config.toml", "[registries.x]\ntoken = \"s\"\n", ""},
		"in one line":                         {".cargo/config.toml", "registries.x = { index = \"i\", \"token\" = \"s\" }\n", ""},
		"a variable of mise's":                {".config/mise/conf.d/a.toml", "[env]\nGITHUB_TOKEN = \"s\"\n", ""},
		"a proxy of go's":                     {".config/go/env", "GOPROXY=https://u:p@h\n", ""},
		"a token by its form":                 {".config/mise/config.toml", "[env]\nX = 'ghp_0123456789abcdef'\n", ""},
		"who commits, and ssh for an address": {".gitconfig", "[user]\n\tsigningkey = 1\n[url \"ssh://git@h/\"]\n\tinsteadOf = https://h/\n", "same"},
		"a linker":                            {".cargo/config.toml", "[build]\nrustflags = ['-C']\n[net]\ngit-fetch-with-cli = true\n", "same"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home, state := t.TempDir(), t.TempDir()
			must.Do(t, os.Mkdir(state+"/runs", 0o700))
			file := filepath.Join(home, tt.file)
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
