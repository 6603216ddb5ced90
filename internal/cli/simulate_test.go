package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"stint/internal/testkit/must"
)

func simulation(t *testing.T, text string) (*app, *bytes.Buffer, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "scenario.toml")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	out := &bytes.Buffer{}
	return &app{Surroundings: Surroundings{Stdout: out, Stderr: &bytes.Buffer{}, Random: func() uint64 { return 11 }}}, out, path
}

func TestSimulateStopsAtSignal(t *testing.T) {
	t.Parallel()
	a, out, path := simulation(t, "fires = 10000000\n[category.code]\nmean = 0.5\n")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(signalled{syscall.SIGINT})
	err := a.runSimulate(ctx, path, simulateOptions{svg: filepath.Join(t.TempDir(), "plot.svg")})
	if got, want := exitStatus(err, context.Cause(ctx)), statusInterrupted; got != want {
		t.Errorf("got status %d of %v, want %d", got, err, want)
	}
	if out.Len() > 0 {
		t.Errorf("a stopped simulation printed %q", out)
	}
}

func TestSimulateTakesItsSeedByChance(t *testing.T) {
	t.Parallel()
	a, out, path := simulation(t, "fires = 10\n[category.code]\nmean = 0.5\n")
	must.Do(t, a.runSimulate(t.Context(), path, simulateOptions{runs: 2, policies: []string{"random", "random"}}))
	if got, want := out.String(), "fires=10 runs=2 seed=11; ± is half of the 95 % interval\n"; !strings.HasSuffix(got, want) || strings.Count(got, "random") != 1 {
		t.Errorf("got\n%s\nwant one line for random, and %q at the end", got, want)
	}
}

func TestProgressTellsPercents(t *testing.T) {
	t.Parallel()
	out := &bytes.Buffer{}
	p := progress{w: out, shown: -1}
	for done := 1; done <= 1000; done++ {
		p.show(done, 1000)
	}
	p.clear()
	if got, want := strings.Count(out.String(), "\r"), 102; got != want {
		t.Errorf("got %d updates, want %d", got, want)
	}
	silent := progress{}
	silent.show(1, 2) // has nowhere to write to
	silent.clear()
}

// vanishing is an output by whose time a folder is gone.
type vanishing struct {
	bytes.Buffer
	folder string
}

func (v *vanishing) Write(p []byte) (int, error) {
	if err := os.RemoveAll(v.folder); err != nil {
		return 0, err
	}
	return v.Buffer.Write(p)
}

func TestSimulatePrintsWhatItCannotDraw(t *testing.T) {
	t.Parallel()
	a, _, path := simulation(t, "fires = 10\n[category.code]\nmean = 0.5\n")
	folder := filepath.Join(t.TempDir(), "plots")
	must.Do(t, os.Mkdir(folder, 0o700))
	out := &vanishing{folder: folder}
	a.Stdout = out
	plot := filepath.Join(folder, "plot.svg")
	err := a.runSimulate(t.Context(), path, simulateOptions{runs: 1, policies: []string{"random"}, svg: plot})
	if want := "write plot " + plot + ": "; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got error %v, want one that begins with %q", err, want)
	}
	if !strings.Contains(out.String(), "fires=10 runs=1 seed=11; ± is half of the 95 % interval\n") {
		t.Errorf("the results are lost; printed %q", out.String())
	}
}
