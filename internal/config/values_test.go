package config_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stint/internal/config"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v\ngo test ./internal/config -update", err)
	}
	if diff := cmp.Diff(got, string(want)); diff != "" {
		t.Errorf("%s (-got +want):\n%s", path, diff)
	}
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
	must(t, os.WriteFile(want.Path, []byte(asFile(want)), 0o600))
	got, err := config.Load(want.Path, config.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, asFile(want))
	}
	if diff := cmp.Diff(got, want, plain); diff != "" {
		t.Errorf("read back (-got +want):\n%s", diff)
	}
}
