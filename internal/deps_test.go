// Package internal_test keeps the import directions of the module: who may know
// whom. A package that is not in the table may not exist.
package internal_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"stint/internal/testkit/must"
)

const (
	module = "stint"
	common = "internal/plain" // every package may import it
)

// rule says what the shipped files of one package may import. Its tests may
// import what they like.
type rule struct {
	house   []string // packages of this module, by folder
	foreign []string // packages of other modules; what is below one comes with it
	not     []string // packages of the standard library that are out of bounds, with what is below them
}

// rules is the table: fleet's words first, then the decisions, which are values
// in and reasons out, then the adapters, which never know each other, then the
// use cases, which know no adapter, and last the edge, which wires them.
func rules() map[string]rule {
	var (
		world   = []string{"context", "database/sql", "log", "net", "os", "os/exec", "syscall"}
		outside = []string{"database/sql", "net", "os/exec", "os/signal", "syscall"}
	)
	return map[string]rule{
		"internal/fleet":  {not: []string{"context", "database/sql", "log", "net", "os/exec"}},
		common:            {foreign: []string{"github.com/bmatcuk/doublestar/v4"}, not: world},
		"internal/markup": {not: world},

		"internal/rank": {house: []string{"internal/fleet"}, foreign: []string{"gonum.org/v1/gonum/mathext"}, not: world},
		"internal/explain/replay": {
			house: []string{"internal/fleet", "internal/rank"},
			not:   world,
		},
		"internal/explain/why":      {house: []string{"internal/fleet", "internal/rank"}, not: world},
		"internal/plot":             {house: []string{"internal/markup"}, not: world},
		"internal/agent/preset":     {house: []string{"internal/fleet"}, foreign: []string{"github.com/pelletier/go-toml/v2"}, not: world},
		"internal/agent/transcript": {house: []string{"internal/agent/preset", "internal/fleet"}, not: world},
		"internal/agent/grade":      {house: []string{"internal/fleet"}, not: world},
		"internal/explain/report":   {house: []string{"internal/rank", "internal/fleet", "internal/markup", "internal/plot"}, not: world},
		"internal/review":           {house: []string{"internal/fleet"}, not: world},
		"internal/box":              {house: []string{"internal/fleet"}, not: world},

		"internal/store":       {house: []string{"internal/rank", "internal/fleet"}, not: outside},
		"internal/store/table": {house: []string{"internal/rank", "internal/fleet", "internal/store"}, not: []string{"log", "net", "os", "os/exec", "syscall"}},
		"internal/store/book": {
			house: []string{"internal/rank", "internal/fleet", "internal/agent/grade", "internal/store", "internal/store/table"},
			not:   []string{"database/sql", "log", "net", "os", "os/exec", "syscall"},
		},
		"internal/store/sqlite": {
			house:   []string{"internal/rank", "internal/fleet", "internal/store", "internal/store/book", "internal/store/table"},
			foreign: []string{"github.com/mattn/go-sqlite3"},
			not:     []string{"os/exec"},
		},
		"internal/store/postgres": {
			house:   []string{"internal/rank", "internal/fleet", "internal/store", "internal/store/book", "internal/store/table"},
			foreign: []string{"github.com/jackc/pgservicefile", "github.com/jackc/pgx/v5/pgconn", "github.com/jackc/pgx/v5/pgtype"},
			not:     []string{"database/sql", "os", "os/exec"},
		},
		"internal/claim": {
			house:   []string{"internal/fleet", "internal/agent/rundir", "internal/store"},
			foreign: []string{"github.com/gofrs/flock", "golang.org/x/sys/unix"},
			not:     outside,
		},
		"internal/machine": {
			house:   []string{"internal/fleet", "internal/store"},
			foreign: []string{"github.com/gofrs/flock", "github.com/google/renameio/v2", "golang.org/x/sys/unix"},
			not:     outside,
		},
		"internal/task": {
			house:   []string{"internal/agent/command", "internal/fleet"},
			foreign: []string{"github.com/google/renameio/v2", "go.yaml.in/yaml/v4", "golang.org/x/sys/unix"},
			not:     []string{"database/sql", "net", "os/exec", "os/signal"},
		},
		"internal/agent/command": {house: []string{"internal/fleet"}},
		"internal/gate":          {house: []string{"internal/agent/command", "internal/fleet"}, not: []string{"os", "os/exec"}},
		"internal/notice":        {house: []string{"internal/agent/command", "internal/fleet"}, not: []string{"os", "os/exec"}},
		"internal/systemd": {
			house:   []string{"internal/fleet"},
			foreign: []string{"github.com/coreos/go-systemd/v22/dbus", "github.com/godbus/dbus/v5", "golang.org/x/sys/unix"},
			not:     []string{"os/exec"},
		},
		"internal/door":         {house: []string{"internal/fleet", "internal/agent/rundir"}, foreign: []string{"golang.org/x/sys/unix"}, not: []string{"database/sql", "os/exec"}},
		"internal/trust":        {house: []string{"internal/agent/command", "internal/fleet"}, foreign: []string{"github.com/google/renameio/v2", "github.com/rogpeppe/go-internal/diff"}, not: []string{"os/exec"}},
		"internal/agent/rundir": {house: []string{"internal/fleet"}, foreign: []string{"golang.org/x/sys/unix"}, not: []string{"os/exec"}},
		"internal/box/inside": {
			house:   []string{"internal/box", "internal/fleet"},
			foreign: []string{"github.com/landlock-lsm/go-landlock/landlock", "github.com/landlock-lsm/go-landlock/landlock/syscall", "golang.org/x/sys/unix"},
			not:     []string{"os/exec"},
		},
		"internal/agent/session": {
			house:   []string{"internal/box", "internal/box/inside", "internal/agent/command", "internal/fleet", "internal/agent/rundir"},
			foreign: []string{"golang.org/x/sys"},
		},
		"internal/workspace": {house: []string{"internal/fleet", "internal/review", "internal/agent/rundir"}, foreign: []string{"github.com/google/renameio/v2", "golang.org/x/sys/unix"}},
		"internal/config": {
			house:   []string{"internal/rank", "internal/fleet", "internal/plain", "internal/agent/preset", "internal/agent/transcript"},
			foreign: []string{"github.com/pelletier/go-toml/v2"},
			not:     []string{"os/exec"},
		},

		// survey is the knowledge of a fleet at a moment. engine acts on it and inspect explains it;
		// these two do not know each other.
		"internal/survey": {
			house: []string{
				"internal/rank", "internal/claim", "internal/config", "internal/fleet", "internal/agent/grade",
				"internal/review", "internal/store", "internal/store/book", "internal/agent/preset", "internal/agent/transcript",
			},
			not: outside,
		},
		"internal/engine": {
			house: []string{
				"internal/rank", "internal/box", "internal/claim", "internal/config", "internal/fleet", "internal/agent/grade",
				"internal/review", "internal/store", "internal/store/book", "internal/survey", "internal/agent/preset", "internal/agent/transcript",
			},
			not: outside,
		},
		"internal/explain/inspect": {
			house: []string{
				"internal/rank", "internal/config", "internal/fleet", "internal/explain/replay", "internal/explain/report", "internal/review",
				"internal/store", "internal/store/book", "internal/survey", "internal/agent/preset", "internal/agent/transcript", "internal/explain/why",
			},
			not: outside,
		},

		// The faces lay out what they are given. The web page and the live screen ask the
		// explainer, and act only by the functions of commands that cli hands in.
		// A declaration builds addresses of pages by net/url.
		"internal/view": {
			house: []string{
				"internal/rank", "internal/fleet", "internal/explain/inspect", "internal/markup", "internal/plot", "internal/explain/replay", "internal/explain/report", "internal/review",
				"internal/screen", "internal/survey", "internal/explain/why",
			},
			not: []string{"context", "database/sql", "log", "net/http", "os", "os/exec", "syscall"},
		},
		"internal/screen": {
			house:   []string{"internal/rank", "internal/fleet", "internal/explain/inspect", "internal/explain/report", "internal/review", "internal/survey", "internal/explain/why"},
			foreign: []string{"github.com/charmbracelet/x/ansi"},
			not:     world,
		},
		"internal/web": {
			house: []string{
				"internal/fleet", "internal/explain/inspect", "internal/markup", "internal/metrics", "internal/plot", "internal/explain/report",
				"internal/review", "internal/screen", "internal/rank", "internal/store", "internal/survey", "internal/agent/preset", "internal/agent/transcript", "internal/view",
			},
			not: []string{"database/sql", "os/exec"},
		},
		"internal/metrics": {house: []string{"internal/fleet", "internal/explain/inspect"}, not: world},
		"internal/top": {
			house:   []string{"internal/fleet", "internal/explain/inspect", "internal/review", "internal/screen", "internal/view"},
			foreign: []string{"charm.land/bubbletea/v2", "github.com/charmbracelet/colorprofile", "github.com/charmbracelet/x/ansi"},
			not:     []string{"database/sql", "net", "os/exec"},
		},

		"systemd": {house: []string{"internal/fleet"}, not: world},
		"internal/install": {
			house:   []string{"internal/config", "internal/fleet", "internal/systemd", "systemd"},
			foreign: []string{"github.com/google/renameio/v2"},
			not:     outside,
		},
		// doctor looks at all that a fleet depends on, so it knows the adapters.
		"internal/doctor": {
			house: []string{
				"internal/box", "internal/agent/command", "internal/agent/preset", "internal/config", "internal/engine", "internal/fleet", "internal/explain/inspect", "internal/install", "internal/machine",
				"internal/agent/rundir", "internal/screen", "internal/agent/session", "internal/store", "internal/store/postgres", "internal/store/sqlite", "internal/systemd", "internal/task", "internal/workspace",
			},
			foreign: []string{"github.com/charmbracelet/x/ansi"},
			not:     []string{"database/sql", "net"},
		},
		"internal/cli": {
			house: []string{
				"internal/rank", "internal/box", "internal/claim", "internal/agent/command", "internal/config", "internal/doctor", "internal/door", "internal/engine", "internal/fleet", "internal/gate", "internal/agent/grade", "internal/explain/inspect", "internal/install",
				"internal/machine", "internal/metrics", "internal/notice", "internal/explain/replay", "internal/explain/report", "internal/review", "internal/agent/rundir", "internal/screen", "internal/agent/session",
				"internal/store", "internal/store/book", "internal/store/postgres", "internal/store/sqlite", "internal/store/table", "internal/survey", "internal/systemd", "internal/task", "internal/top", "internal/agent/preset", "internal/agent/transcript", "internal/trust", "internal/view", "internal/web", "internal/explain/why", "internal/workspace", "systemd",
			},
			foreign: []string{
				"charm.land/bubbletea/v2", "github.com/charmbracelet/x/term", "github.com/google/renameio/v2",
				"github.com/spf13/cobra", "github.com/spf13/pflag",
			},
			not: []string{"database/sql"},
		},
		"cmd/stint": {house: []string{"internal/box/inside", "internal/cli"}},

		// Never in the binary: no row above names them.
		"internal/testkit/boxtest":  {foreign: []string{"golang.org/x/sys/unix"}},
		"internal/testkit/must":     {foreign: []string{"github.com/google/go-cmp"}, not: world},
		"internal/testkit/pgtest":   {house: []string{"internal/testkit/must"}, foreign: []string{"github.com/jackc/pgx/v5"}},
		"internal/testkit/storekit": {house: []string{"internal/fleet", "internal/store"}},
		"internal/testkit/storetest": {
			house:   []string{"internal/rank", "internal/fleet", "internal/agent/grade", "internal/testkit/must", "internal/testkit/storekit", "internal/store", "internal/store/book", "internal/store/table"},
			foreign: []string{"github.com/google/go-cmp", "pgregory.net/rapid"},
		},
		"scripts/bareclaim": {foreign: []string{"github.com/jackc/pgx", "github.com/mattn/go-sqlite3", "github.com/spf13/cobra"}},
		"scripts/demofleet": {house: []string{"internal/testkit/pgtest"}},
		"scripts/lab":       {house: []string{"internal/rank", "internal/fleet", "internal/explain/report", "scripts/lab/simulate"}},
		"scripts/lab/simulate": {
			house:   []string{"internal/rank", "internal/fleet", "internal/agent/grade", "internal/review"},
			foreign: []string{"gonum.org/v1/gonum/mathext"},
			not:     append(outside, "os"),
		},
		"scripts/manpages": {
			house:   []string{"internal/cli"},
			foreign: []string{"github.com/spf13/cobra", "github.com/spf13/pflag"},
		},
		"scripts/sbom":       {},
		"scripts/testagents": {house: []string{"internal/testkit/boxtest", "internal/agent/preset", "internal/agent/transcript", "internal/fleet"}},
		"scripts/testpatroni": {
			house:   []string{"internal/rank", "internal/fleet", "internal/machine", "internal/store", "internal/testkit/pgtest", "internal/store/postgres"},
			foreign: []string{"github.com/jackc/pgx/v5"},
		},
		"scripts/testtrackers": {},
	}
}

func TestImports(t *testing.T) {
	t.Parallel()
	rules := rules()
	packages := shippedImports(t, "..")
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		r, ok := rules[dir]
		if !ok {
			t.Errorf("%s is not in the table: say there what it may import", dir)
			continue
		}
		for _, imported := range packages[dir] {
			if reason := r.refuses(imported); reason != "" {
				t.Errorf("%s imports %s: %s", dir, imported, reason)
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(rules)) {
		if _, ok := packages[dir]; !ok {
			t.Logf("%s is in the table and nowhere else", dir)
		}
	}
}

func TestRuleRefuses(t *testing.T) {
	t.Parallel()
	r := rule{
		house:   []string{"internal/store"},
		foreign: []string{"example.org/toml"},
		not:     []string{"os", "log"},
	}
	got := map[string]string{}
	for _, imported := range []string{
		"fmt", "os", "os/exec", "ossify", "log/slog", "stint", "stint/internal/store", "stint/internal/store/sqlite",
		"example.org/toml", "example.org/toml/unstable", "example.org/tomlette", "example.org/yaml",
	} {
		if reason := r.refuses(imported); reason != "" {
			got[imported] = reason
		}
	}
	want := map[string]string{
		"os":                          "out of bounds here",
		"os/exec":                     "out of bounds here",
		"log/slog":                    "out of bounds here",
		"stint":                       "not a package it may know",
		"stint/internal/store/sqlite": "not a package it may know",
		"example.org/tomlette":        "not a module it may use",
		"example.org/yaml":            "not a module it may use",
	}
	must.Equal(t, "refusals", got, want)
}

// refuses says why a package under r may not import the package, or "".
func (r rule) refuses(imported string) string {
	first, _, _ := strings.Cut(imported, "/")
	switch {
	case first == module:
		if dir := strings.TrimPrefix(imported, module+"/"); dir != common && !slices.Contains(r.house, dir) {
			return "not a package it may know"
		}
	case strings.Contains(first, "."):
		if !containsParent(r.foreign, imported) {
			return "not a module it may use"
		}
	case containsParent(r.not, imported):
		return "out of bounds here"
	}
	return ""
}

func containsParent(parents []string, imported string) bool {
	return slices.ContainsFunc(parents, func(parent string) bool {
		return imported == parent || strings.HasPrefix(imported, parent+"/")
	})
}

// shippedImports reads, for each folder below root with Go files that are not
// tests, what these import.
func shippedImports(t *testing.T, root string) map[string][]string {
	t.Helper()
	imports := map[string][]string{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		dir := path.Dir(filepath.ToSlash(rel))
		imports[dir] = append(imports[dir], importsOf(t, file)...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return imports
}

func importsOf(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var imports []string
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		imports = append(imports, imported)
	}
	return imports
}

// TestContributingLayers compares the table of layers in CONTRIBUTING.md with the rules: each
// package stands in one layer, and none may import from a layer below its own.
func TestContributingLayers(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../.github/CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	layer := map[string]int{}
	_, table, _ := strings.Cut(string(text), "\n| layer ")
	for i, line := range slices.Collect(strings.Lines(table)) {
		cells := strings.Split(line, "|")
		if i < 2 || len(cells) < 4 {
			continue // the head, and what follows the table
		}
		for _, name := range strings.Fields(strings.ReplaceAll(cells[2], "`", "")) {
			dir := "internal/" + name
			if name == "cmd/stint" || strings.HasSuffix(name, "/") {
				dir = strings.TrimSuffix(name, "/")
			}
			if layer[dir] != 0 {
				t.Errorf("CONTRIBUTING.md has %s twice", name)
			}
			layer[dir] = i
		}
	}
	rules := rules()
	for _, dir := range slices.Sorted(maps.Keys(rules)) {
		if strings.HasPrefix(dir, "scripts/") {
			continue
		}
		if layer[dir] == 0 {
			t.Errorf("CONTRIBUTING.md has no layer for %s", dir)
		}
		for _, imported := range append(rules[dir].house, common) {
			if layer[imported] > layer[dir] {
				t.Errorf("%s may import %s, which CONTRIBUTING.md has in a layer further down", dir, imported)
			}
		}
		delete(layer, dir)
	}
	for _, dir := range slices.Sorted(maps.Keys(layer)) {
		if dir != "internal/scripts/…" {
			t.Errorf("CONTRIBUTING.md has %s, which no rule names", dir)
		}
	}
}
