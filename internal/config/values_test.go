package config_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stint/internal/config"
	"stint/internal/testkit/must"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must.Do(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v\ngo test ./internal/config -update", err)
	}
	must.Equal(t, path, got, string(want))
}

func TestValuesOfFull(t *testing.T) {
	t.Parallel()
	c := load(t, full)
	var b strings.Builder
	for _, v := range c.Values() {
		b.WriteString(v.Key + " = " + strings.ReplaceAll(v.Value, strings.TrimSuffix(c.Path, "/stint.toml"), "FOLDER") + "  # " + v.Origin + "\n")
	}
	golden(t, "values.txt", b.String())
}

// asFile is the configuration that the values of c make.
func asFile(c *config.Config) string {
	var b strings.Builder
	for _, v := range c.Values() {
		b.WriteString(v.Key + " = " + v.Value + "\n")
	}
	return b.String()
}

func TestValuesAreTheWholeConfig(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"least": least,
		"full":  full,
		"units": least + `unit = { A = [[1], { b = 2.5e300, "c d" = [] }], T = 2026-01-02T03:04:05.5+02:00, D = 2026-01-02, H = 03:04:05, L = 2026-01-02T03:04:05, I = -inf, S = "\t\r\u007f" }`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			readsBack(t, text)
		})
	}
}

// readsBack checks that the values of a configuration, written as a file, are the same configuration.
func readsBack(t *testing.T, text string) {
	t.Helper()
	want := load(t, text)
	must.Do(t, os.WriteFile(want.Path, []byte(asFile(want)), 0o600))
	got, err := config.Load(want.Path, config.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, asFile(want))
	}
	must.Equal(t, "read back", got, want, plain)
}
