package systemd

import (
	"context"
	"fmt"
	"hash/crc32"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// workerMode makes the test binary a worker: a number is its exit status, anything
// else has it run until it is asked to stop.
const workerMode = "STINT_TEST_WORKER"

func TestMain(m *testing.M) {
	mode, worker := os.LookupEnv(workerMode)
	if !worker {
		os.Exit(m.Run())
	}
	if status, err := strconv.Atoi(mode); err == nil {
		os.Exit(status)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	<-stop
}

// patience bounds a test's wait for the manager.
const patience = 30 * time.Second

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func testManager(t *testing.T) *Manager {
	t.Helper()
	m, err := Connect(testContext(t))
	if err != nil {
		t.Fatalf("%v\nrun it under scripts/with-systemd", err)
	}
	t.Cleanup(m.Close)
	return m
}

// testFleet is a fleet of the test's own, whose slice ends with the test and takes
// what runs in it along.
func testFleet(t *testing.T, m *Manager) fleet.Name {
	t.Helper()
	name := fleet.Name(fmt.Sprintf("t%dx%x", os.Getpid(), crc32.ChecksumIEEE([]byte(t.Name()))))
	t.Cleanup(func() { stopUnit(t, m, fleet.SliceName(name)) })
	return name
}

func stopUnit(t *testing.T, m *Manager, unit string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	job := newJob()
	_, err := m.conn.StopUnitContext(ctx, unit, modeReplace, job)
	if err == nil {
		err = m.await(ctx, unit, job)
	}
	if err != nil {
		t.Errorf("stop unit %s: %v", unit, err)
	}
}

// testSpec is a worker of the fleet in the given mode.
func testSpec(t *testing.T, name fleet.Name, run fleet.RunID, mode string) fleet.UnitSpec {
	t.Helper()
	binary := must.Get(os.Executable())(t)
	return fleet.UnitSpec{
		Name:        fleet.UnitName(name, "code-review", run),
		Description: `run of "naïve" work: 100% $HOME %n \x`,
		Slice:       fleet.SliceName(name),
		Argv:        []string{binary, "--config", "/nowhere/stint.toml", "run", "--run", string(run)},
		Environment: []string{workerMode + "=" + mode, "STINT_A=a=b", "STINT_B=c:/d"},
		RuntimeMax:  time.Hour,
		StopTimeout: 20 * time.Second,
	}
}

// start starts the specs and fails the test unless every one runs.
func start(t *testing.T, m *Manager, specs ...fleet.UnitSpec) {
	t.Helper()
	for _, err := range m.Start(testContext(t), specs) {
		must.Do(t, err)
	}
}

// eventually asks until the answer is yes.
func eventually(t *testing.T, what string, yes func(context.Context) bool) {
	t.Helper()
	ctx := testContext(t)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !yes(ctx) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// states maps the fleet's loaded services to their active state.
func states(ctx context.Context, t *testing.T, m *Manager, name fleet.Name) map[string]string {
	t.Helper()
	units := must.Get(m.List(ctx, fmt.Sprintf("stint-%s-*.service", name)))(t)
	got := map[string]string{}
	for _, u := range units {
		got[u.Name] = u.Active
	}
	return got
}
