package systemd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestEveryPropertyArrives starts one worker with all known properties, each with a
// value that is not its default, and reads each back. Whether all that isolation can
// be had here, so that the worker runs, is not the question.
func TestEveryPropertyArrives(t *testing.T) {
	t.Parallel()
	m := testManager(t)
	spec := testSpec(t, testFleet(t, m), "r1", "wait")
	spec.Properties = map[string]any{
		"MemoryMin": "1M", "MemoryLow": "2M", "MemoryHigh": "3G", "MemoryMax": "4G", "MemorySwapMax": int64(0),
		"CPUQuota": "150%", "CPUWeight": int64(50), "IOWeight": int64(20), "TasksMax": int64(500),
		"OOMPolicy": "kill", "OOMScoreAdjust": int64(500),
		"Nice": int64(5), "CPUSchedulingPolicy": "batch", "IOSchedulingClass": "idle", "IOSchedulingPriority": int64(6),
		"RuntimeMaxSec": "1h 30min", "UMask": "0077",
		"LimitAS": "8G", "LimitCORE": int64(0), "LimitFSIZE": "1G", "LimitMEMLOCK": "64K", "LimitNOFILE": int64(512), "LimitNPROC": int64(5000),
		"LockPersonality": true, "MemoryDenyWriteExecute": true, "NoNewPrivileges": true,
		"PrivateDevices": true, "PrivateNetwork": true, "PrivateTmp": true, "PrivateUsers": true,
		"ProtectClock": true, "ProtectControlGroups": true, "ProtectHostname": true,
		"ProtectKernelLogs": true, "ProtectKernelModules": true, "ProtectKernelTunables": true,
		"ProtectHome": "read-only", "ProtectProc": "invisible", "ProtectSystem": "strict",
		"RestrictRealtime": true, "RestrictSUIDSGID": true,
		"BindPaths": "/var/tmp:/mnt", "BindReadOnlyPaths": []any{"/usr", "-/nonexistent:/srv"}, "TemporaryFileSystem": "/var/lib:size=1M,ro",
		"RestrictAddressFamilies": "AF_INET AF_UNIX", "SystemCallFilter": []any{"~ptrace"}, "SystemCallErrorNumber": "EACCES",
		"LoadCredential":    "host:/etc/hostname",
		"InaccessiblePaths": "-/nonexistent", "ReadOnlyPaths": []any{"/usr", "-/nonexistent"}, "ReadWritePaths": []any{"/var/tmp"},
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

// TestRestrictionsTakeHold has a worker say what it sees and may do, property by property.
func TestRestrictionsTakeHold(t *testing.T) {
	t.Parallel()
	m := testManager(t)
	dir, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	must.Do(t, os.WriteFile(secret, []byte("hunter2\n"), 0o600))
	for i, tt := range []struct {
		property string
		value    any
		script   string
		want     string
	}{
		{"BindReadOnlyPaths", filepath.Dir(secret) + ":/mnt", "cat /mnt/secret; touch /mnt/x 2>&1", "(?s)hunter2\n.*Read-only file system"},
		{"BindPaths", []any{filepath.Dir(secret) + ":/mnt", "-/nonexistent"}, "touch /mnt/made && ls /mnt", "made\nsecret"},
		{"TemporaryFileSystem", filepath.Dir(secret) + ":mode=0700", "ls -A " + filepath.Dir(secret) + "; stat -f -c %T " + filepath.Dir(secret), "^tmpfs"},
		{"LoadCredential", "token:" + secret, `echo "$CREDENTIALS_DIRECTORY"; ls -la "$CREDENTIALS_DIRECTORY" 2>&1; cat "$CREDENTIALS_DIRECTORY/token" 2>&1`, "hunter2"},
		{"RestrictAddressFamilies", "AF_UNIX", "python3 -c 'import socket\nsocket.socket(socket.AF_UNIX)\nsocket.socket(socket.AF_INET)' 2>&1", "(?s)line 3.*Address family not supported"},
		{"RestrictAddressFamilies", "~AF_INET", "python3 -c 'import socket\nsocket.socket(socket.AF_INET6)\nsocket.socket(socket.AF_INET)' 2>&1", "(?s)line 3.*Address family not supported"},
		{"SystemCallFilter", "~@timer @clock mkdir mkdirat", "mkdir x 2>&1; echo status $?", "status (1|159)"},
		{"SystemCallFilter", []any{"@system-service"}, `python3 -c 'import ctypes; print(ctypes.CDLL(None).ptrace(0, 0, 0, 0))'`, "^-1\n"},
	} {
		t.Run(fmt.Sprint(tt.property, tt.value), func(t *testing.T) {
			t.Parallel()
			said := filepath.Join(dir, fmt.Sprint("said", i))
			script := "{ " + tt.script + "\n} >" + said + ".part; mv " + said + ".part " + said + "; exec sleep infinity\n"
			must.Do(t, os.WriteFile(said+".sh", []byte(script), 0o600))
			spec := testSpec(t, testFleet(t, m), fleet.RunID(fmt.Sprint("r", i)), "wait")
			spec.Argv = []string{"/bin/sh", said + ".sh"}
			spec.Properties = map[string]any{tt.property: tt.value}
			if tt.property == "SystemCallFilter" {
				spec.Properties["SystemCallErrorNumber"] = "EPERM"
			}
			start(t, m, spec)
			var got []byte
			eventually(t, "the worker has said it", func(context.Context) bool {
				var err error
				got, err = os.ReadFile(said)
				return err == nil
			})
			if !regexp.MustCompile(tt.want).Match(got) {
				t.Errorf("got %q, want %s", got, tt.want)
			}
		})
	}
}

// TestPropertiesTakeHold looks at the worker's process.
func TestPropertiesTakeHold(t *testing.T) {
	t.Parallel()
	m := testManager(t)
	spec := testSpec(t, testFleet(t, m), "r1", "wait")
	spec.Properties = map[string]any{
		"LimitNOFILE": int64(512), "NoNewPrivileges": true, "OOMScoreAdjust": int64(500), "UMask": "0077",
	}
	start(t, m, spec)
	pid := unitProperties(t, m, spec.Name)["MainPID"]
	for file, want := range map[string]string{
		"limits":        `Max open files +512 +512 `,
		"status":        `(?s)\nUmask:\s0077\n.*\nNoNewPrivs:\s1\n`,
		"oom_score_adj": `^500\n$`,
	} {
		got, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
		if err != nil || !regexp.MustCompile(want).Match(got) {
			t.Errorf("got %s, %v, want %s in\n%s", file, err, want, got)
		}
	}
}

// TestIsolationHolds matters most where the manager has no privileges.
func TestIsolationHolds(t *testing.T) {
	t.Parallel()
	m := testManager(t)
	spec := testSpec(t, testFleet(t, m), "r1", "wait")
	spec.Argv = []string{"/usr/bin/sleep", "infinity"} // A private /tmp hides the test binary.
	spec.Properties = map[string]any{"PrivateTmp": true, "ReadOnlyPaths": "/var/tmp"}
	start(t, m, spec)
	mounts := must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", unitProperties(t, m, spec.Name)["MainPID"])))(t)
	for _, want := range []string{` /tmp rw,`, ` /var/tmp ro,`} {
		if !strings.Contains(string(mounts), want) {
			t.Errorf("got no mount %q in\n%s", want, mounts)
		}
	}
}

func TestIsolationTakesUserNamespace(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		uid    int
		values map[string]any
		want   []any // of PrivateUsers; the last one counts
	}{
		"asked for":         {1000, map[string]any{"PrivateTmp": true}, []any{true}},
		"by a path":         {1000, map[string]any{"ReadOnlyPaths": "/usr"}, []any{true}},
		"not asked for":     {1000, map[string]any{"Nice": int64(5)}, nil},
		"switched off":      {1000, map[string]any{"PrivateTmp": "off", "ProtectHome": false, "ProtectProc": "default"}, nil},
		"with a will":       {1000, map[string]any{"PrivateTmp": true, "PrivateUsers": false}, []any{true, false}},
		"root needs it not": {0, map[string]any{"PrivateTmp": true}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := testSpec(t, "bob", "r1", "wait")
			spec.Properties = tt.values
			properties := must.Get(workerProperties(spec, tt.uid))(t)
			var got []any
			for _, p := range properties {
				if p.Name == "PrivateUsers" {
					got = append(got, p.Value.Value())
				}
			}
			must.Equal(t, "PrivateUsers", got, tt.want)
		})
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
		{"RuntimeMaxSec", int64(90), uint64(90_000_000)},
		{"RuntimeMaxSec", 1.5, uint64(1_500_000)},
		{"RuntimeMaxSec", " 5min ", uint64(300_000_000)},
		{"RuntimeMaxSec", "infinity", uint64(math.MaxUint64)},
		{"RestrictAddressFamilies", "AF_INET AF_UNIX", allowed{true, []string{"AF_INET", "AF_UNIX"}}},
		{"RestrictAddressFamilies", []any{"~AF_INET", "AF_INET6"}, allowed{false, []string{"AF_INET", "AF_INET6"}}},
		{"SystemCallFilter", "~@mount ptrace", allowed{false, []string{"@mount", "ptrace"}}},
		{"SystemCallErrorNumber", "EPERM", int32(1)},
		{"BindPaths", "-/a:/b", []bind{{"/a", "/b", true, 16384}}},
		{"BindReadOnlyPaths", []any{"/a", "/b"}, []bind{{"/a", "/a", false, 16384}, {"/b", "/b", false, 16384}}},
		{"TemporaryFileSystem", []any{"/a", "/b:size=1M,ro"}, []pair{{"/a", ""}, {"/b", "size=1M,ro"}}},
		{"LoadCredential", "token:/a:b", []pair{{"token", "/a:b"}}},
		{"PrivateTmp", true, true},
		{"PrivateTmp", "no", false},
		{"ProtectSystem", true, "yes"},
		{"ProtectSystem", "strict", "strict"},
		{"ProtectHome", false, "no"},
		{"UMask", "027", uint32(0o27)},
		{"ReadWritePaths", "/a", []string{"/a"}},
		{"ReadWritePaths", []any{"/a", "-/b.c"}, []string{"/a", "-/b.c"}},
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
		{"MemryMax", "1G", `"MemryMax" is unknown`, "did you mean MemoryMax? known are BindPaths, BindReadOnlyPaths, CPUQuota, "},
		{"memorymax", "1G", `"memorymax" is unknown`, "did you mean MemoryMax? "},
		{"CPUQuotaPerSecUSec", int64(1), "is unknown", "did you mean CPUQuota? known are "},
		{"", "", `"" is unknown`, "known are "},
		{"KillMode", "none", "stint sets it itself", ""},
		{"Environment", "A=b", "stint sets it itself", ""},
		{"IPAddressDeny", "any", "it has no effect in a user's service manager", "PrivateNetwork and RestrictAddressFamilies keep"},
		{"IPAddressAllow", "localhost", "it has no effect in a user's service manager", ""},
		{"RestrictAddressFamilies", "", "want at least one name", ""},
		{"RestrictAddressFamilies", "INET", `want names such as "AF_INET AF_UNIX"`, ""},
		{"RestrictAddressFamilies", "AF_INET ~AF_UNIX", "want names such as", ""},
		{"SystemCallFilter", int64(3), "want names such as", ""},
		{"SystemCallErrorNumber", "kill", "want one of EACCES, EINVAL, ENOSYS, EPERM", ""},
		{"BindPaths", "a:/b", "want an absolute path, or two", ""},
		{"BindPaths", "/a:/b:rbind", "want an absolute path, or two", ""},
		{"BindPaths", "/a:~/b", "want an absolute path, or two", ""},
		{"TemporaryFileSystem", "tmp", "want an absolute path, or one with options", ""},
		{"LoadCredential", "token", "want a name and an absolute path", ""},
		{"LoadCredential", "a/b:/c", "want a name and an absolute path", ""},
		{"SetCredential", "a:b", "is unknown", ""},
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
		{"TasksMax", "10%", "the fleet's slice", ""},
		{"TasksMax", int64(0), "from 1", ""},
		{"Nice", int64(20), "from -20 to 19", ""},
		{"Nice", 1.0, "from -20 to 19", ""},
		{"Nice", int64(1) << 40, "from -20 to 19", ""},
		{"OOMPolicy", true, "want one of continue, stop, kill", ""},
		{"CPUSchedulingPolicy", "fifo", "want one of batch, idle, other", ""},
		{"RuntimeMaxSec", "5M", "want seconds or a time span", ""},
		{"RuntimeMaxSec", "min", "want seconds or a time span", ""},
		{"RuntimeMaxSec", "", "above zero", ""},
		{"RuntimeMaxSec", int64(0), "above zero", ""},
		{"RuntimeMaxSec", int64(-1), "above zero", ""},
		{"RuntimeMaxSec", true, "want seconds or a time span", ""},
		{"PrivateTmp", int64(1), "want true or false", ""},
		{"PrivateTmp", []any{true}, "want true or false", ""},
		{"ProtectSystem", "full!", "want one of yes, no, full, strict", ""},
		{"UMask", int64(22), "in quotes", ""},
		{"UMask", "0888", "want octal digits", ""},
		{"UMask", "1777", "want octal digits", ""},
		{"ReadWritePaths", "~/x", "want an absolute path", ""},
		{"ReadWritePaths", []any{"/ok", int64(1)}, "want an absolute path", ""},
		{"ReadWritePaths", []any{"/home/%u"}, "cannot be handed to systemd", ""},
	}
	for _, tt := range tests {
		err := CheckProperty(tt.name, tt.value)
		if !errors.Is(err, fleet.ErrUsage) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s = %v: got error %v, want usage error with %q", tt.name, tt.value, err, tt.want)
		}
		if got := fleet.Hint(err); !strings.HasPrefix(got, tt.hint) {
			t.Errorf("%s: got hint %q, want %q first", tt.name, got, tt.hint)
		}
	}
}

// TestTimeSpanAgreesWithSystemd asks systemd itself what a span is.
func TestTimeSpanAgreesWithSystemd(t *testing.T) {
	t.Parallel()
	spans := []string{
		"90", "1.5", "5min", "1h 30min", "1h30min", "2 hours 5 m", "1h 30", "3ms", "20us", "1.5min", "1d", "2w 3days 4hr", "10 usec", "0.25h",
	}
	out := must.Get(exec.CommandContext(testContext(t), "systemd-analyze", append([]string{"timespan"}, spans...)...).Output())(t)
	theirs := regexp.MustCompile(`μs: ([0-9]+)`).FindAllStringSubmatch(string(out), -1)
	if len(theirs) != len(spans) {
		t.Fatalf("got %d answers for %d spans:\n%s", len(theirs), len(spans), out)
	}
	for i, s := range spans {
		got, err := timeSpan(s)
		if want, _ := strconv.ParseUint(theirs[i][1], 10, 64); err != nil || got != want {
			t.Errorf("%q: got %v, %v, want %d", s, got, err, want)
		}
	}
}

// TestNoValuePanics throws values of every type at every property: each is parsed to
// a D-Bus type that systemd takes, or refused as wrong usage.
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
			if !errors.Is(err, fleet.ErrUsage) {
				t.Fatalf("%s = %v: got %v, want a usage error", name, value, err)
			}
			return
		}
		if s := got.Value.Signature().String(); !slices.Contains([]string{"b", "i", "s", "t", "u", "as", "(bas)", "a(ss)", "a(ssbt)"}, s) {
			t.Fatalf("%s = %v: got signature %s", name, value, s)
		}
	})
}
