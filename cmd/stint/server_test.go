package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"stint/internal/store/pgtest"
)

// cluster is the PostgreSQL server of the tests that need one.
var cluster pgtest.Shared

// withServer removes the cluster after the tests.
type withServer struct{ m *testing.M }

func (w withServer) Run() int { return cluster.Main(w.m) }

// scriptPostgres sets a variable to a value of the key "store" that leads to the server by its service
// file, and $address to one that needs no file.
func scriptPostgres(ts *testscript.TestScript, args []string) {
	c, err := cluster.Get()
	ts.Check(err)
	services := filepath.Join(ts.Getenv("HOME"), "services")
	ts.Check(os.WriteFile(services, []byte("[fleets]\nhost="+c.Dir+"\nuser=stint\ndbname=postgres\n"), 0o600))
	ts.Setenv("PGSERVICEFILE", services)
	ts.Setenv(args[0], "postgres:service=fleets")
	ts.Setenv("address", "postgres:///postgres?host="+c.Dir+"&user=stint")
}
