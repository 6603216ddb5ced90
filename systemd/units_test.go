package units

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stint/internal/fleet"
)

// TestMain makes the test binary the fleet's: called to fan out, it ends with the
// status that its configuration's name gives.
func TestMain(m *testing.M) {
	if len(os.Args) < 4 || os.Args[3] != "fanout" {
		os.Exit(m.Run())
	}
	status, err := strconv.Atoi(filepath.Base(os.Args[2]))
	if err != nil {
		status = 99
	}
	os.Exit(status)
}

// testFiles are the files of a fleet of the test's own.
func testFiles(t *testing.T, o Options) []File {
	t.Helper()
	list, err := Files(o)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func install(t *testing.T, dir string, list []File) {
	t.Helper()
	for _, f := range list {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// run runs a command with 30 seconds of patience and returns what it said.
func run(t *testing.T, env []string, name string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second) // Clean-ups run commands, too.
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// verify asks systemd what it thinks of the fleet's units as installed in dir. It needs
// no manager, only the folders of a user.
func verify(t *testing.T, dir, instance string) (string, error) {
	t.Helper()
	empty := t.TempDir()
	env := []string{"HOME=" + empty, "XDG_CONFIG_HOME=" + empty, "XDG_RUNTIME_DIR=" + empty}
	// Absolute paths, or it would look for the templates here first.
	watch, _ := filepath.Glob(filepath.Join(dir, "stint-"+instance+"-watch.*"))
	return run(t, env, "systemd-analyze", append([]string{
		"--user", "verify", "--recursive-errors=no",
		filepath.Join(dir, "stint@"+instance+".timer"), filepath.Join(dir, "stint@"+instance+".service"), filepath.Join(dir, "stint-bob.slice"),
	}, watch...)...)
}

func bob() Options {
	return Options{Fleet: "bob", Binary: "/usr/bin/true", Config: "/home/bob/stint.toml"}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	for _, runtime := range []bool{false, true} {
		o := bob()
		o.Runtime, o.Spread, o.Tasks, o.Credentials = runtime, true, "/home/bob/tasks", []string{"pgpass:/home/bob/pgpass"}
		dir := t.TempDir()
		install(t, dir, testFiles(t, o))
		if out, err := verify(t, dir, "bob"); err != nil || out != "" {
			t.Errorf("runtime %v: got %v, %q, want no word", runtime, err, out)
		}
	}
}

// TestVerifyWithoutDropIn is the state in which a packager leaves the files.
func TestVerifyWithoutDropIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, f := range testFiles(t, bob()) {
		if filepath.Dir(f.Name) == "." {
			install(t, dir, []File{f})
		}
	}
	if out, err := verify(t, dir, "bob"); err != nil || out != "" {
		t.Errorf("got %v, %q, want no word", err, out)
	}
}

// TestVerifySeesFaults shows that the silence of [TestVerify] means something, for
// each file.
func TestVerifySeesFaults(t *testing.T) {
	t.Parallel()
	o := bob()
	o.Spread, o.Tasks = true, "/home/bob/tasks"
	for i, broken := range testFiles(t, o) {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			list, dir := testFiles(t, o), t.TempDir()
			list[i].Content = bytes.Replace(list[i].Content, []byte("\n["), []byte("\n[Unit]\nBrokn=yes\n["), 1)
			install(t, dir, list)
			out, err := verify(t, dir, "bob")
			if err == nil || !strings.Contains(out, "Brokn") {
				t.Errorf("%s: got %v, %q for an unknown key", broken.Name, err, out)
			}
		})
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	for _, f := range testFiles(t, bob()) {
		got[f.Name] = settings(string(f.Content))
		for _, placeholder := range []string{"FLEET", "BINARY", "CONFIG", "FANOUT", "TASKS"} {
			if strings.Contains(f.Name+string(f.Content), placeholder) {
				t.Errorf("%s: %s is not filled in:\n%s", f.Name, placeholder, f.Content)
			}
		}
	}
	want := map[string]string{
		fleet.SliceName("bob"): "[Unit] Description=Workers of stint fleet bob [Slice] MemoryMax=80%",
		"stint@bob.service.d/stint.conf": "[Service] ExecStart= " +
			"ExecStart=/usr/bin/true --config /home/bob/stint.toml fanout",
		"stint@.service": "[Unit] Description=Fire of stint fleet %i StartLimitIntervalSec=0 " +
			"[Service] Type=oneshot ExecStart=/usr/bin/env stint fanout SuccessExitStatus=3 TimeoutStartSec=15min " +
			"NoNewPrivileges=yes LockPersonality=yes RestrictRealtime=yes RestrictSUIDSGID=yes " +
			"RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK " +
			"SystemCallArchitectures=native SystemCallFilter=@system-service SystemCallErrorNumber=EPERM",
		"stint@.timer": "[Unit] Description=Timer of stint fleet %i " +
			"[Timer] OnCalendar=*:0/30 RandomizedDelaySec=2min Persistent=true [Install] WantedBy=timers.target",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("settings (-got +want):\n%s", diff)
	}
}

// settings are a unit file's lines but the comments and the empty ones.
func settings(content string) string {
	var out []string
	for line := range strings.Lines(content) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			out = append(out, line)
		}
	}
	return strings.Join(out, " ")
}

func TestFilesForATrial(t *testing.T) {
	t.Parallel()
	o := bob()
	o.Runtime = true
	var got []string
	for i, f := range testFiles(t, o) {
		got = append(got, f.Name)
		if diff := cmp.Diff(string(f.Content), string(testFiles(t, bob())[i].Content)); diff != "" {
			t.Errorf("%s (-trial +lasting):\n%s", f.Name, diff)
		}
	}
	want := []string{"stint-bob.slice", "stint@bob.service.d/stint.conf", "stint@bob.service", "stint@bob.timer"}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("names (-got +want):\n%s", diff)
	}
}

// TestFilesOfPools has a timer of its own fire each pool, with what the fleet's has.
func TestFilesOfPools(t *testing.T) {
	t.Parallel()
	for _, runtime := range []bool{false, true} {
		o, got := bob(), map[string]string{}
		o.Runtime, o.Pools, o.Tasks = runtime, []string{"monitoring", "a-b"}, "/home/bob/tasks"
		var names []string
		list := testFiles(t, o)
		for _, f := range list {
			names = append(names, f.Name)
			got[f.Name] = settings(string(f.Content))
		}
		want := []string{
			"stint-bob.slice", "stint@bob.service.d/stint.conf", "stint@bob-monitoring.service.d/stint.conf", "stint@bob-a-b.service.d/stint.conf",
		}
		for i := range Watch("") {
			want = append(want, Watch("bob")[i], Watch("bob-monitoring")[i], Watch("bob-a-b")[i])
		}
		if want = append(want, "stint@.service", "stint@.timer"); runtime {
			want = append(want[:len(want)-2], "stint@bob.service", "stint@bob-monitoring.service", "stint@bob-a-b.service",
				"stint@bob.timer", "stint@bob-monitoring.timer", "stint@bob-a-b.timer")
		}
		if diff := cmp.Diff(names, want); diff != "" {
			t.Errorf("runtime %v: names (-got +want):\n%s", runtime, diff)
		}
		for instance, fanout := range map[string]string{"bob": "fanout", "bob-monitoring": "fanout --pool monitoring", "bob-a-b": "fanout --pool a-b"} {
			want := "[Service] ExecStart= ExecStart=/usr/bin/true --config /home/bob/stint.toml " + fanout
			if got := got[DropIn(instance)]; got != want {
				t.Errorf("%s: got %s, want %s", instance, got, want)
			}
			if got, want := got[Watch(instance)[2]], "ExecStart=/usr/bin/true --config /home/bob/stint.toml "+fanout+" --soon "; !strings.Contains(got, want) {
				t.Errorf("%s: got %s, want %s", instance, got, want)
			}
		}
		dir := t.TempDir()
		install(t, dir, list)
		if out, err := verify(t, dir, "bob-monitoring"); err != nil || out != "" {
			t.Errorf("runtime %v: got %v, %q, want no word", runtime, err, out)
		}
	}
}

func TestFilesRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		options  Options
		want     string
		wantHint bool
	}{
		"a space":          {Options{"bob", "/opt/my tools/stint", "/c", nil, nil, false, false, ""}, `binary: "/opt/my tools/stint"`, true},
		"a specifier":      {Options{"bob", "/b", "/home/%u/stint.toml", nil, nil, false, false, ""}, `configuration: "/home/%u/stint.toml"`, true},
		"a relative path":  {Options{"bob", "stint", "/c", nil, nil, false, false, ""}, `binary "stint": want an absolute path`, true},
		"no configuration": {Options{"bob", "/b", "", nil, nil, true, false, ""}, `configuration "": want an absolute path`, true},
		"a pool of paths":  {Options{"bob", "/b", "/c", []string{"a/b"}, nil, false, false, ""}, `pool "a/b"`, false},
		"a pool of words":  {Options{"bob", "/b", "/c", []string{"a b"}, nil, false, false, ""}, `pool "a b"`, false},
		"no pool":          {Options{"bob", "/b", "/c", []string{""}, nil, false, false, ""}, `pool ""`, false},
		"tasks elsewhere":  {Options{"bob", "/b", "/c", nil, nil, false, false, "/my tasks"}, `folder of tasks: "/my tasks"`, true},
		"a nesting fleet":  {Options{"bob-x", "/b", "/c", nil, nil, false, false, ""}, `fleet name "bob-x"`, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list, err := Files(tt.options)
			if !errors.Is(err, fleet.ErrUsage) || !strings.Contains(err.Error(), tt.want) || list != nil {
				t.Errorf("got %v, error %v, want a usage error with %q", list, err, tt.want)
			}
			if got := strings.Contains(fleet.Hint(err), "install the binary"); got != tt.wantHint {
				t.Errorf("got hint %q, want one about paths: %v", fleet.Hint(err), tt.wantHint)
			}
		})
	}
}

// trial installs a fleet of the test's own, whose fires end with the given status, in
// the manager's runtime folder, and starts its timer.
func trial(t *testing.T, status int, spread bool) fleet.Name {
	t.Helper()
	if _, err := run(t, nil, "systemctl", "--user", "show-environment"); err != nil {
		t.Fatalf("no user manager answers: %v\nrun it under scripts/with-systemd", err)
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := fleet.Name(fmt.Sprintf("u%dx%d", os.Getpid(), status))
	list := testFiles(t, Options{Fleet: name, Binary: binary, Config: fmt.Sprintf("/exit/%d", status), Runtime: true, Spread: spread})
	dir := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "systemd/user")
	install(t, dir, list)
	timer := fmt.Sprintf("stint@%s.timer", name)
	t.Cleanup(func() {
		systemctl(t, "disable", "--runtime", "--now", timer)
		systemctl(t, "clean", "--what=state", timer) // When it last fired.
		for _, f := range list {
			_ = os.Remove(filepath.Join(dir, f.Name)) // A file that stays harms nobody.
		}
		for _, f := range list {
			_ = os.Remove(filepath.Join(dir, filepath.Dir(f.Name)))
		}
	})
	systemctl(t, "daemon-reload")
	systemctl(t, "enable", "--runtime", "--now", timer)
	return name
}

func systemctl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := run(t, nil, "systemctl", append([]string{"--user"}, args...)...)
	if err != nil {
		t.Errorf("systemctl %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(out)
}

// TestFires fires more often at once than a manager allows by default, under a timer,
// which is what makes the manager remember and count.
func TestFires(t *testing.T) {
	t.Parallel()
	for status, fault := range map[int]bool{0: false, 3: false, 1: true, 6: true} {
		service := fmt.Sprintf("stint@%s.service", trial(t, status, false))
		for range 6 {
			_, err := run(t, nil, "systemctl", "--user", "start", service)
			if (err != nil) != fault {
				t.Errorf("status %d: got error %v from the start, want one: %v", status, err, fault)
			}
		}
		got := systemctl(t, "show", "--property=Result,ExecMainStatus,ActiveState", service)
		want := fmt.Sprintf("Result=success\nExecMainStatus=%d\nActiveState=inactive", status)
		if fault {
			want = fmt.Sprintf("Result=exit-code\nExecMainStatus=%d\nActiveState=failed", status)
			systemctl(t, "reset-failed", service)
		}
		if got != want {
			t.Errorf("status %d: got %s, want %s", status, got, want)
		}
	}
}

// TestSpread has the delay of a host be as long as a cadence, and always the same one.
func TestSpread(t *testing.T) {
	t.Parallel()
	timer := fmt.Sprintf("stint@%s.timer", trial(t, 8, true))
	calendar := systemctl(t, "show", "--property=TimersCalendar", "--value", timer)
	got := systemctl(t, "show", "--property=RandomizedDelayUSec,FixedRandomDelay", timer)
	if want := "RandomizedDelayUSec=30min\nFixedRandomDelay=yes"; got != want || !strings.Contains(calendar, "*:00/30:00") {
		t.Errorf("got %s with %s, want %s every half hour", got, calendar, want)
	}
}

func TestTimerRuns(t *testing.T) {
	t.Parallel()
	name := trial(t, 7, false)
	timer := fmt.Sprintf("stint@%s.timer", name)
	got := systemctl(t, "show", "--property=ActiveState,UnitFileState,Unit,RandomizedDelayUSec,Persistent,Description", timer)
	want := fmt.Sprintf("Unit=stint@%s.service\nRandomizedDelayUSec=2min\nPersistent=yes\nDescription=Timer of stint fleet %s\n"+
		"ActiveState=active\nUnitFileState=enabled-runtime", name, name)
	if diff := cmp.Diff(strings.Split(got, "\n"), strings.Split(want, "\n")); diff != "" {
		t.Errorf("timer (-got +want):\n%s", diff)
	}
	if next := systemctl(t, "show", "--property=NextElapseUSecRealtime", "--value", timer); next == "" {
		t.Error("got no next fire")
	}
	if slice := systemctl(t, "show", "--property=MemoryMax,FragmentPath", fleet.SliceName(name)); !strings.Contains(slice, "/systemd/user/stint-") ||
		strings.Contains(slice, "MemoryMax=infinity") {
		t.Errorf("got slice %s, want a limit from the fleet's file", slice)
	}
}
