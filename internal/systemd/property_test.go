package systemd

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestEveryPropertyArrives starts one worker with all known properties, each with a
// value that is not its default, and reads each back.
func TestEveryPropertyArrives(t *testing.T) {
	t.Parallel()
	m := testManager(t)
	spec := testSpec(t, testFleet(t, m), "r1", "wait")
	spec.Properties = map[string]any{
		"MemoryMin": "1M", "MemoryLow": "2M", "MemoryHigh": "3G", "MemoryMax": "4G", "MemorySwapMax": int64(0),
		"CPUQuota": "150%", "CPUWeight": int64(50), "IOWeight": int64(20), "TasksMax": int64(500),
		"OOMPolicy": "kill", "OOMScoreAdjust": int64(500),
		"Nice": int64(5), "CPUSchedulingPolicy": "batch", "IOSchedulingClass": "idle", "IOSchedulingPriority": int64(6),
		"LimitCORE": int64(0), "LimitFSIZE": "1G", "LimitNOFILE": int64(512), "LimitNPROC": int64(5000),
		"LoadCredential": "host:/etc/hostname",
	}
	startKept(t, m, spec)
	got := unitProperties(t, m, spec.Name)
	for _, p := range properties() {
		value, ok := spec.Properties[p.name]
		if !ok {
			t.Errorf("%s: known, but not tried here", p.name)
			continue
		}
		want := must.Get(parseProperty(p.name, value))(t)
		must.Equal(t, want.Name, plainly(got[want.Name]), plainly(want.Value.Value()))
	}
}

// plainly writes structures as the lists that come back for them.
func plainly(v any) any {
	if k := reflect.ValueOf(v).Kind(); k != reflect.Slice && k != reflect.Struct {
		return v
	}
	return strings.NewReplacer("{", "[", "}", "]").Replace(fmt.Sprint(v))
}

// TestCredential has a worker read one.
func TestCredential(t *testing.T) {
	t.Parallel()
	m := testManager(t)
	dir := t.TempDir()
	secret, said := filepath.Join(dir, "secret"), filepath.Join(dir, "said")
	must.Do(t, os.WriteFile(secret, []byte("hunter2\n"), 0o600))
	must.Do(t, os.WriteFile(secret+".sh", []byte(`cp "$CREDENTIALS_DIRECTORY/token" `+said+".part; mv "+said+".part "+said+"; exec sleep infinity"), 0o600))
	spec := testSpec(t, testFleet(t, m), "r1", "wait")
	spec.Argv, spec.Properties = []string{"/bin/sh", secret + ".sh"}, map[string]any{"LoadCredential": "token:" + secret}
	start(t, m, spec)
	eventually(t, "the worker has read it", func(context.Context) bool {
		got, _ := os.ReadFile(said)
		return string(got) == "hunter2\n"
	})
}

// TestDropIn has the operator give a category's workers what stint has no key for.
func TestDropIn(t *testing.T) {
	t.Parallel()
	m := testManager(t)
	name := testFleet(t, m)
	dir := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "systemd", "user", fmt.Sprintf(`stint-%s-code\x2dreview-.service.d`, name))
	must.Do(t, os.MkdirAll(dir, 0o700))
	t.Cleanup(func() { must.Do(t, os.RemoveAll(dir)) })
	must.Do(t, os.WriteFile(filepath.Join(dir, "own.conf"), []byte("[Service]\nUMask=0077\nTasksMax=77\n"), 0o600))
	must.Do(t, m.Reload(testContext(t)))
	spec := testSpec(t, name, "0r1", "wait")
	spec.Properties = map[string]any{"Nice": int64(5)}
	start(t, m, spec)
	got := unitProperties(t, m, spec.Name)
	if got["UMask"] != uint32(0o77) || got["TasksMax"] != uint64(77) || got["Nice"] != int32(5) || got["Delegate"] != true {
		t.Errorf("UMask %v, TasksMax %v, Nice %v, Delegate %v", got["UMask"], got["TasksMax"], got["Nice"], got["Delegate"])
	}
}

// TestPropertiesTakeHold looks at the worker's process.
func TestPropertiesTakeHold(t *testing.T) {
	t.Parallel()
	m := testManager(t)
	spec := testSpec(t, testFleet(t, m), "r1", "wait")
	spec.Properties = map[string]any{
		"LimitNOFILE": int64(512), "OOMScoreAdjust": int64(500), "Nice": int64(5),
	}
	start(t, m, spec)
	pid := unitProperties(t, m, spec.Name)["MainPID"]
	for file, want := range map[string]string{
		"limits":        `Max open files +512 +512 `,
		"oom_score_adj": `^500\n$`,
	} {
		got, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
		if err != nil || !regexp.MustCompile(want).Match(got) {
			t.Errorf("got %s, %v, want %s in\n%s", file, err, want, got)
		}
	}
}

func TestPropertyValues(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		value any
		want  any
	}{
		{"MemoryMax", int64(1073741824), uint64(1 << 30)},
		{"MemoryMax", "1073741824", uint64(1 << 30)},
		{"MemoryMax", "512B", uint64(512)},
		{"MemoryMax", "8K", uint64(8 << 10)},
		{"MemoryMax", "1.5G", uint64(3 << 29)},
		{"MemoryMax", "2 T", uint64(2 << 40)},
		{"MemoryMax", "infinity", uint64(math.MaxUint64)},
		{"MemorySwapMax", "0", uint64(0)},
		{"CPUQuota", "150%", uint64(1_500_000)},
		{"CPUQuota", "0.5%", uint64(5_000)},
		{"CPUQuota", "12.34%", uint64(123_400)},
		{"CPUQuota", "infinity", uint64(math.MaxUint64)},
		{"CPUWeight", int64(1), uint64(1)},
		{"CPUWeight", "10000", uint64(10000)},
		{"TasksMax", "infinity", uint64(math.MaxUint64)},
		{"Nice", int64(-20), int32(-20)},
		{"OOMScoreAdjust", "1000", int32(1000)},
		{"IOSchedulingClass", "best-effort", int32(2)},
		{"LoadCredential", "token:/a:b", []credential{{"token", "/a:b"}}},
	}
	for _, tt := range tests {
		got, err := parseProperty(tt.name, tt.value)
		if err != nil {
			t.Errorf("%s = %v: got error %v", tt.name, tt.value, err)
			continue
		}
		if diff := cmp.Diff(got.Value.Value(), tt.want); diff != "" {
			t.Errorf("%s = %v (-got +want):\n%s", tt.name, tt.value, diff)
		}
	}
}

func TestCheckPropertyRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		value any
		want  string
		hint  string
	}{
		{"MemryMax", "1G", `"MemryMax" is none of MemoryMin, MemoryLow, `, "did you mean MemoryMax?"},
		{"memorymax", "1G", `"memorymax" is none of`, "did you mean MemoryMax?"},
		{"", "", `"" is none of`, "set others in a file of stint-FLEET-CATEGORY-.service.d"},
		{"KillMode", "none", "is none of", "set others in"},
		{"PrivateTmp", true, "is none of", "set others in"},
		{"LoadCredential", "token", "want a name and an absolute path", ""},
		{"LoadCredential", "a/b:/c", "want a name and an absolute path", ""},
		{"MemoryMax", "80%", "a share of the machine belongs in the fleet's slice", ""},
		{"MemoryMax", "4g", "want an amount such as", ""},
		{"MemoryMax", "-1", "want an amount such as", ""},
		{"MemoryMax", int64(0), "at least 1", ""},
		{"MemoryMax", 1.5, "want an amount such as", ""},
		{"MemoryMax", "99999999E", "want an amount such as", ""},
		{"CPUQuota", "150", "want a share of one processor", ""},
		{"CPUQuota", "0%", "above zero", ""},
		{"CPUQuota", int64(2), "want a share of one processor", ""},
		{"CPUWeight", int64(0), "from 1 to 10000", ""},
		{"CPUWeight", "10001", "from 1 to 10000", ""},
		{"TasksMax", "10%", "a whole number", ""},
		{"TasksMax", int64(0), "from 1", ""},
		{"Nice", int64(20), "from -20 to 19", ""},
		{"Nice", 1.0, "from -20 to 19", ""},
		{"Nice", int64(1) << 40, "from -20 to 19", ""},
		{"OOMPolicy", true, "want one of continue, stop, kill", ""},
		{"CPUSchedulingPolicy", "fifo", "want one of batch, idle, other", ""},
	}
	for _, tt := range tests {
		err := CheckProperty(tt.name, tt.value)
		if err == nil || !strings.HasPrefix(err.Error(), "unit property ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s = %v: got error %v, want one with %q", tt.name, tt.value, err, tt.want)
		}
		if got := fleet.Hint(err); !strings.HasPrefix(got, tt.hint) {
			t.Errorf("%s: got hint %q, want %q first", tt.name, got, tt.hint)
		}
	}
}

// TestNoValuePanics throws values of every type at every property: each is parsed to
// a D-Bus type that systemd takes, or refused by an error that begins with its name.
func TestNoValuePanics(t *testing.T) {
	t.Parallel()
	known := properties()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(known).Draw(t, "property").name
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`-?[0-9]{0,20}(\.[0-9]{1,3})? ?(%|[A-Za-z]{0,3})|-?/[a-z%$ ]*`))
		value := rapid.OneOf(
			text.AsAny(), rapid.Int64().AsAny(), rapid.Float64().AsAny(), rapid.Bool().AsAny(),
			rapid.Map(rapid.SliceOf(text.AsAny()), func(s []any) any { return s }),
		).Draw(t, "value")
		got, err := parseProperty(name, value)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "unit property "+name+": ") {
				t.Fatalf("%s = %v: got %v, want the property first", name, value, err)
			}
			return
		}
		if s := got.Value.Signature().String(); !slices.Contains([]string{"i", "s", "t", "a(ss)"}, s) {
			t.Fatalf("%s = %v: got signature %s", name, value, s)
		}
	})
}
