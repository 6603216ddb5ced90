package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// FuzzLoad wants that no file makes Load panic, that each error is one to correct
// and says how, that what it takes can be shown and placed, and that editors take it, too.
func FuzzLoad(f *testing.F) {
	for _, text := range []string{
		"", least, full, "\ufeff" + least, "[[category]]\n", "category = []\n", "[category]\ncode = 1\n",
		"agent.claude.command = [[1], {a = 2}]\n", "\"\" = { '' = nan }\n", "a.b.c.d.e.f.g = \"\\u0000\"\n",
		string(config.Sample(config.SampleOptions{Fleet: "bob", State: "/s"})),
		hosts, least + "hosts = [\"label:\", \"[\"]\n[host.\"\"]\nlabels = [\"\"]\npools = [1]\n",
		least + "unit = { A = [1, 2026-01-01], B.C.D = 07:00:00 }\n",
	} {
		f.Add([]byte(text))
	}
	path := filepath.Join(f.TempDir(), config.FileName)
	f.Fuzz(func(t *testing.T, text []byte) {
		must.Do(t, os.WriteFile(path, text, 0o600))
		c, err := config.Load(path, config.Options{Getenv: environment("HOME", "/home/me")})
		if err != nil {
			if !errors.Is(err, fleet.ErrUsage) || fleet.Hint(err) == "" || !strings.Contains(err.Error(), path) {
				t.Errorf("error without class, hint or place: %v", err)
			}
			return
		}
		if err := inEditor(t, string(text)); err != nil {
			t.Errorf("the schema refuses what is accepted: %v\n%s", err, text)
		}
		for _, v := range c.Values() {
			if (v.Origin == "default") != (c.Position(v.Key) == path) {
				t.Errorf("%s: origin %s, position %s", v.Key, v.Origin, c.Position(v.Key))
			}
		}
		must.Do(t, os.WriteFile(path, []byte(asFile(c)), 0o600))
		if _, err := config.Load(path, config.Options{}); err != nil {
			t.Errorf("values do not load: %v\n%s", err, asFile(c))
		}
	})
}
