package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/store/postgres"
	"stint/internal/testkit/pgtest"
)

// cluster is the PostgreSQL server of the tests that need one.
var cluster pgtest.Shared

// around builds the program before the tests, and removes after them the cluster, and what is remembered of their
// configurations. A contender of a benchmark is called by one of them, and takes its claims itself.
type around struct{ m *testing.M }

func (a around) Run() int {
	if os.Getenv(contender) != "" {
		return a.m.Run()
	}
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer forgetTrusted()
	return cluster.Main(a.m)
}

// build puts the program itself in the place of this test binary's copy. The tests start it some 5000 times, and the copy
// takes half as long again to start: it has all that tests link.
func build() error {
	copied, err := exec.LookPath("stint")
	if err != nil {
		return err
	}
	if said, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", copied, ".").CombinedOutput(); err != nil {
		return fmt.Errorf("build stint: %w\n%s", err, said)
	}
	return nil
}

// forgetTrusted removes what fires of the tests have confirmed of their configurations. It is in the user's home, as for
// everybody: a unit of the user's manager has no other. The folders above it go if they are empty.
func forgetTrusted() {
	folder := config.TrustFolder(os.Getenv)
	records, _ := filepath.Glob(filepath.Join(folder, "*"))
	for _, record := range records {
		files, _ := filepath.Glob(filepath.Join(record, "*"))
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), os.TempDir()+"/") {
				_ = os.RemoveAll(record)
			}
		}
	}
	_ = os.Remove(folder)
	_ = os.Remove(filepath.Dir(folder))
}

// ownServer is the key of the server that a script has to itself.
type ownServer struct{}

// scriptPostgres sets a variable to a value of the key "store" that leads to the server by its service
// file, as its administrator. The server is that of all tests, or, with the word "own", one for this
// script. The services "works" and "reads" are the roles of the script's fleet.
func scriptPostgres(ts *testscript.TestScript, args []string) {
	get := cluster.Get
	if len(args) > 1 && args[1] == "own" {
		get = pgtest.New
	}
	c, err := get()
	ts.Check(err)
	if len(args) > 1 {
		*ts.Value(ownServer{}).(**pgtest.Cluster) = c //nolint:forcetypeassert // the set-up puts it there
		ts.Defer(func() { ts.Check(c.Remove()) })
	}
	services := filepath.Join(ts.Getenv("HOME"), "services")
	var text strings.Builder
	role := postgres.Role(fleet.Name(ts.Getenv("FLEET")))
	for _, s := range [][2]string{{"fleets", "stint"}, {"works", role}, {"reads", role + "_ro"}} {
		fmt.Fprintf(&text, "[%s]\nhost=%s\nuser=%s\ndbname=postgres\n", s[0], c.Dir, s[1])
	}
	ts.Check(os.WriteFile(services, []byte(text.String()), 0o600))
	ts.Setenv("PGSERVICEFILE", services)
	ts.Setenv(args[0], "postgres:service=fleets")
}

// scriptCluster copies the data of a script's own server, or has it go on from the copy.
func scriptCluster(ts *testscript.TestScript, args []string) {
	c := *ts.Value(ownServer{}).(**pgtest.Cluster) //nolint:forcetypeassert // the set-up puts it there
	act, known := map[string]func() error{"backup": c.Backup, "restore": c.Restore}[args[0]]
	if !known {
		ts.Fatalf("usage: cluster backup|restore")
	}
	ts.Check(c.Stop())
	ts.Check(act())
	ts.Check(c.Start())
}

// TestScriptOnServer runs scripts of TestScript with a PostgreSQL server in place of the file: they
// know nothing of it. The others look into the file, or are about it.
func TestScriptOnServer(t *testing.T) {
	t.Parallel()
	var files []string
	for _, name := range []string{
		"audit", "backoff", "claim", "claim_session", "door", "fanout_exec",
		"fanout_safety_net", "fanout_slots", "grade_claim", "lessons_reach", "pause_status", "review_feedback", "review_land", "review_overlap",
		"run_busy", "run_deaf", "run_ends", "run_lost_expired", "run_unit", "serve_pages", "status_limits",
		"task_leaves", "why_limits",
	} {
		files = append(files, filepath.Join("../../testdata/script", name+".txtar"))
	}
	testscript.Run(t, testscript.Params{
		Files:              files,
		RequireUniqueNames: true,
		Setup:              setupOnServer,
		Cmds:               scriptCommands(),
		Condition:          scriptCondition,
	})
}

var fleetLine = regexp.MustCompile(`^fleet = "([^"]*)"`)

// setupOnServer names the server in each configuration of a script, and makes the schemas of its fleets.
// The program works as the fleet's role, which owns nothing.
func setupOnServer(env *testscript.Env) error {
	c, err := cluster.Get()
	if err == nil {
		err = setupScript(env)
	}
	if err != nil {
		return err
	}
	address := "postgres:///postgres?host=" + c.Dir + "&user="
	made := map[string]bool{}
	return filepath.WalkDir(env.WorkDir, func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".toml" {
			return err
		}
		text, err := os.ReadFile(path)
		m := fleetLine.FindSubmatch(text)
		if err != nil || m == nil {
			return err
		}
		o := postgres.Options{DSN: address + "stint", Fleet: fleet.Name(m[1])}
		role := postgres.Role(o.Fleet)
		if !made[role] { // by another configuration of the script
			made[role] = true
			if err := c.SQL("create role \"" + role + "\" login"); err != nil {
				return err
			}
			if _, err := postgres.Migrate(context.Background(), o); err != nil {
				return err
			}
		}
		return os.WriteFile(path, append([]byte("store = \""+address+role+"\"\n"), text...), 0o600)
	})
}
