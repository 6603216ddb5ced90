package systemd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

func TestStartFansOut(t *testing.T) {
	t.Parallel()
	m := testManager(t)
	name := testFleet(t, m)
	specs := []fleet.UnitSpec{
		testSpec(t, name, "r1", "wait"),
		testSpec(t, name, "r2", "wait"),
		testSpec(t, name, "r3", "wait"),
		testSpec(t, name, "r4", "wait"),
		testSpec(t, name, "r2", "wait"),
	}
	specs[3].Argv = []string{"/nonexistent/stint"}
	errs := m.Start(testContext(t), specs)

	wants := []string{"", "", "", `its job ended as "failed"`, "was already loaded"}
	for i, want := range wants {
		if got := fmt.Sprint(errs[i]); (want == "") != (errs[i] == nil) || !strings.Contains(got, want) && want != "" {
			t.Errorf("spec %d: got error %v, want %q", i, errs[i], want)
		}
	}
	if hint := fleet.Hint(errs[3]); !strings.Contains(hint, "journalctl --user --unit "+specs[3].Name) {
		t.Errorf("got hint %q, want the command that shows why", hint)
	}
	got := states(testContext(t), t, m, name)
	want := map[string]string{specs[0].Name: "active", specs[1].Name: "active", specs[2].Name: "active"}
	must.Equal(t, "units", got, want)
}

func TestListTellsFleetsApart(t *testing.T) {
	t.Parallel()
	m := testManager(t)
	name := testFleet(t, m)
	spec := testSpec(t, name, "r1", "wait")
	start(t, m, spec)
	tests := map[string][]UnitState{
		fmt.Sprintf("stint-%s-*", name):                {{Name: spec.Name, Active: "active"}},
		fmt.Sprintf(`stint-%s-code\x2dreview-*`, name): {{Name: spec.Name, Active: "active"}},
		fmt.Sprintf("stint-%s-*", name[:len(name)-1]):  {},
		fmt.Sprintf("stint-%s-*.service", name+"_"):    {},
		fmt.Sprintf(`stint-%s-code-*`, name):           {},
	}
	for pattern, want := range tests {
		got, err := m.List(testContext(t), pattern)
		if diff := cmp.Diff(got, want); diff != "" || err != nil {
			t.Errorf("%s: error %v, units (-got +want):\n%s", pattern, err, diff)
		}
	}
}

// unitProperties are those that [workerProperties] sets, as the bus gives them back.
func unitProperties(t *testing.T, m *Manager, unit string) map[string]any {
	t.Helper()
	all := must.Get(m.conn.GetAllPropertiesContext(testContext(t), unit))(t)
	return all
}

func TestWorkerSurvivesReload(t *testing.T) {
	t.Parallel()
	m := testManager(t)
	spec := testSpec(t, testFleet(t, m), "r1", "wait")
	start(t, m, spec)
	before := unitProperties(t, m, spec.Name)
	must.Do(t, m.Reload(testContext(t)))
	after := unitProperties(t, m, spec.Name)

	want := map[string]any{
		"ActiveState": "active", "LoadState": "loaded", "Description": spec.Description, "Slice": spec.Slice,
		"Type": "exec", "CollectMode": "inactive-or-failed", "KillMode": "mixed", "Delegate": true, "OOMPolicy": "continue",
		"TimeoutStopUSec": uint64(20_000_000), "RuntimeMaxUSec": uint64(3_600_000_000),
		"SuccessExitStatus": []any{[]int32{3, 4, 75, 143}, []int32{}},
		"Environment":       spec.Environment,
		"MainPID":           before["MainPID"],
	}
	for property, want := range want {
		must.Equal(t, property, after[property], want)
	}
	command := after["ExecStart"].([][]any)[0]
	must.Equal(t, "ExecStart", command[:3], []any{spec.Argv[0], spec.Argv, false})
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", after["MainPID"]))
	if got, want := string(cmdline), strings.Join(spec.Argv, "\x00")+"\x00"; err != nil || got != want {
		t.Errorf("got process arguments %q, %v, want %q", got, err, want)
	}
}

func TestNoWorkerStaysLoaded(t *testing.T) {
	t.Parallel()
	m := testManager(t)
	name := testFleet(t, m)
	var specs []fleet.UnitSpec
	for _, status := range []string{"1", "0", "3", "4", "75", "143"} {
		specs = append(specs, testSpec(t, name, fleet.RunID("r"+status), status))
	}
	for i, err := range m.Start(testContext(t), specs) {
		if err != nil && i > 0 { // A worker that fails at once may be reported as a job that did.
			t.Error(err)
		}
	}
	eventually(t, "every worker has ended and is unloaded", func(ctx context.Context) bool {
		return len(states(ctx, t, m, name)) == 0
	})
}

// startKept starts a worker that stays loaded should it fail, and waits for its job,
// whatever the result.
func startKept(t *testing.T, m *Manager, spec fleet.UnitSpec) {
	t.Helper()
	properties := must.Get(workerProperties(spec))(t)
	job, properties := newJob(), append(properties, setting("CollectMode", "inactive"))
	must.Get(m.conn.StartTransientUnitContext(testContext(t), spec.Name, modeFail, properties, job))(t)
	t.Cleanup(func() { // Where it did not fail, there is nothing to reset.
		_ = m.conn.ResetFailedUnitContext(context.WithoutCancel(t.Context()), spec.Name)
	})
	select {
	case <-job:
	case <-testContext(t).Done():
		t.Fatalf("no job result for %s", spec.Name)
	}
}

func TestSuccessExitStatuses(t *testing.T) {
	t.Parallel()
	m := testManager(t)
	name := testFleet(t, m)
	want := map[string]string{}
	for status, fault := range map[int]bool{
		0: false, 1: true, 2: true, 3: false, 4: false, 5: true, 6: true, 75: false, 130: true, 143: false,
	} {
		spec := testSpec(t, name, fleet.RunID(fmt.Sprint("r", status)), fmt.Sprint(status))
		startKept(t, m, spec)
		if fault {
			want[spec.Name] = "failed"
		}
	}
	eventually(t, "exactly the faults are failed units", func(ctx context.Context) bool {
		return cmp.Equal(states(ctx, t, m, name), want)
	})
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*fleet.UnitSpec)
		want   string
		usage  bool
	}{
		"no arguments":        {func(s *fleet.UnitSpec) { s.Argv = nil }, "want an absolute path first", false},
		"a relative binary":   {func(s *fleet.UnitSpec) { s.Argv = []string{"stint"} }, "want an absolute path first", false},
		"a dollar sign":       {func(s *fleet.UnitSpec) { s.Argv[2] = "/home/$USER/stint.toml" }, `"/home/$USER/stint.toml"`, true},
		"a specifier":         {func(s *fleet.UnitSpec) { s.Argv[0] = "/home/%u/stint" }, `"/home/%u/stint"`, true},
		"a space":             {func(s *fleet.UnitSpec) { s.Environment = []string{"A=b c"} }, `"A=b c"`, true},
		"an empty word":       {func(s *fleet.UnitSpec) { s.Argv[5] = "" }, `""`, true},
		"no time limit":       {func(s *fleet.UnitSpec) { s.RuntimeMax = 0 }, "want both above zero", false},
		"no time to stop":     {func(s *fleet.UnitSpec) { s.StopTimeout = -time.Second }, "want both above zero", false},
		"a line break":        {func(s *fleet.UnitSpec) { s.Description = "a\nb" }, "control characters", false},
		"an unknown property": {func(s *fleet.UnitSpec) { s.Properties = map[string]any{"Memory": "1G"} }, `"Memory" is none of`, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := testSpec(t, "bob", "r1", "wait")
			tt.change(&spec)
			var unconnected Manager // Nothing may be sent.
			err := unconnected.Start(t.Context(), []fleet.UnitSpec{spec})[0]
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "start unit "+spec.Name) {
				t.Errorf("got error %v, want %q", err, tt.want)
			}
			if got := errors.Is(err, fleet.ErrUsage); got != tt.usage {
				t.Errorf("got usage error %v, want %v: %v", got, tt.usage, err)
			}
			if tt.usage && fleet.Hint(err) == "" {
				t.Errorf("got no hint with %v", err)
			}
		})
	}
}
