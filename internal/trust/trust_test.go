package trust

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stint/internal/testkit/must"
)

// dying makes the test binary a process that confirms after in the folder, and is killed when it
// has come to so many points.
const dying = "STINT_TEST_TRUST"

var (
	before = map[string]Content{"/ws/stint.toml": text("a\n"), "/ws/prompt": text("b\n")}
	after  = map[string]Content{"/ws/stint.toml": text("c\n"), "/ws/check": text("d\n")}
)

func text(s string) Content { return ContentOf([]byte(s)) }

func noSecret(string) bool { return false }

func TestMain(m *testing.M) {
	dir, stop, child := strings.Cut(os.Getenv(dying), "|")
	if !child {
		os.Exit(m.Run())
	}
	left, _ := strconv.Atoi(stop)
	s := Store{Dir: dir, passing: func(string) {
		if left--; left < 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}}
	if err := s.Save("me", after, noSecret); err != nil {
		os.Exit(1)
	}
}

// TestSaveSurvivesCrashes kills a confirmation at each of its points: what was confirmed is all of
// one or all of the other, and the next leaves nothing behind.
func TestSaveSurvivesCrashes(t *testing.T) {
	t.Parallel()
	for stop := 0; ; stop++ {
		s := Store{Dir: filepath.Join(t.TempDir(), "trusted")}
		must.Do(t, s.Save("me", before, noSecret))
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
		cmd.Env = append(os.Environ(), dying+"="+s.Dir+"|"+strconv.Itoa(stop))
		err := cmd.Run()
		if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL) {
			t.Fatal(err)
		}
		r, loaded := s.Load()
		if loaded != nil || !maps.Equal(r.Sums, sums(before)) && !maps.Equal(r.Sums, sums(after)) {
			t.Errorf("stop %d: got %v, %v", stop, r, loaded)
		}
		for path, sum := range r.Sums {
			if _, err := s.Text(sum); err != nil {
				t.Errorf("stop %d: %s: %v", stop, path, err)
			}
		}
		must.Do(t, s.Save("me", after, noSecret))
		entries, _ := os.ReadDir(s.Dir)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		want := slices.Sorted(maps.Values(sums(after)))
		if diff := cmp.Diff(names, append(want, list)); diff != "" {
			t.Errorf("stop %d: left (-got +want):\n%s", stop, diff)
		}
		if err == nil {
			if stop < 4 {
				t.Errorf("only %d points", stop)
			}
			return
		}
	}
}

// TestSaveAtOnce has several confirm at once: each comes through, and one is confirmed with all its texts.
func TestSaveAtOnce(t *testing.T) {
	t.Parallel()
	s := Store{Dir: filepath.Join(t.TempDir(), "trusted")}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for range 20 {
				if err := s.Save("me", []map[string]Content{before, after}[i%2], noSecret); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for path, sum := range must.Get(s.Load())(t).Sums {
		if _, err := s.Text(sum); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func sums(contents map[string]Content) map[string]string {
	r := map[string]string{}
	for path, content := range contents {
		r[path] = content.Sum
	}
	return r
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		record    Record
		path, sum string
		want      Verdict
	}{
		"nothing was ever": {Record{}, "/a", "1", Trusted},
		"the same":         {Record{Sums: map[string]string{"/a": "1"}}, "/a", "1", Trusted},
		"changed":          {Record{Sums: map[string]string{"/a": "1"}}, "/a", "2", Changed},
		"new":              {Record{Sums: map[string]string{"/a": "1"}}, "/b", "1", Unknown},
		"nothing is":       {Record{Sums: map[string]string{}}, "/a", "1", Unknown},
	} {
		if got := test.record.Judge(test.path, test.sum); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func TestGuard(t *testing.T) {
	t.Parallel()
	ws, tree, out := t.TempDir(), t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		ws + "/run": "x", ws + "/conf": "y", ws + "/new": "z", ws + "/changed": "other", tree + "/run": "x", tree + "/conf": "other", out + "/run": "free", ws + "/bin/tool": "t",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o700)); err != nil { //nolint:gosec // programs
			t.Fatal(err)
		}
	}
	must.Do(t, errors.Join(syscall.Mkfifo(ws+"/pipe", 0o600), syscall.Mkfifo(ws+"/data", 0o600), os.Symlink(out+"/run", ws+"/link"), os.Symlink(ws+"/new", out+"/link")))
	g := Guard{
		Record: Record{By: "ann", Sums: map[string]string{ws + "/pipe": "1", ws + "/run": Sum([]byte("x")), ws + "/conf": Sum([]byte("y")), ws + "/changed": Sum([]byte("x"))}},
		Reach:  Of(ws), Workspace: ws, Environment: []string{"PATH=" + ws + "/bin:/usr/bin:/bin"},
	}
	for name, test := range map[string]struct {
		argv []string
		dir  string
		want string // in the error; empty: none
	}{
		"program":                  {[]string{"./run"}, ws, ""},
		"changed program":          {[]string{"./changed"}, ws, "/changed changed since it was trusted by ann (SHA-256 "},
		"new program":              {[]string{ws + "/new"}, ws, "/new never trusted"},
		"of the system":            {[]string{"sh", "-c", "exit"}, ws, ""},
		"in a shell":               {[]string{"sh", "-c", "./new"}, ws, "/new never trusted"},
		"script":                   {[]string{"sh", "run"}, ws, ""},
		"changed script":           {[]string{"sh", "changed"}, ws, "/changed changed since"},
		"behind a flag":            {[]string{"sh", "--rc=new"}, ws, "/new never trusted"},
		"pipe":                     {[]string{"sh", "pipe"}, ws, "not a regular file"},
		"pipe of data":             {[]string{"sh", "data"}, ws, ""},
		"folder":                   {[]string{"sh", "."}, ws, ""},
		"data":                     {[]string{"cat", "new"}, ws, ""},
		"out of reach":             {[]string{out + "/run"}, ws, ""},
		"link in reach":            {[]string{"./link"}, ws, "/link never trusted"},
		"link into it":             {[]string{out + "/link"}, ws, "/link never trusted"},
		"by PATH":                  {[]string{"tool"}, ws, "/bin/tool never trusted"},
		"same in the worktree":     {[]string{"./run"}, tree, ""},
		"changed in the worktree":  {[]string{"./conf"}, tree, "/conf changed since"},
		"absolute in the worktree": {[]string{"sh", tree + "/conf"}, tree, "/conf changed since"},
		"of the workspace, though": {[]string{ws + "/conf"}, tree, ""},
	} {
		err := g.Check(test.argv, test.dir)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
	g.Record = Record{}
	if err := g.Check([]string{"./changed"}, ws); err != nil {
		t.Errorf("before anything was confirmed: %v", err)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	s := Store{Dir: filepath.Join(t.TempDir(), "trusted")}
	if r, err := s.Load(); r.Sums != nil || err != nil {
		t.Errorf("got %v, %v, want nothing yet", r, err)
	}
	must.Do(t, s.Save("me", before, func(path string) bool { return path == "/ws/prompt" }))
	if _, err := s.Text(before["/ws/prompt"].Sum); err == nil {
		t.Error("the text of a secret file was kept")
	}
	if info, err := os.Stat(s.Dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v, want mode 0700", info, err)
	}
	path := filepath.Join(s.Dir, before["/ws/stint.toml"].Sum)
	must.Do(t, os.WriteFile(path, []byte("else"), 0o600))
	if _, err := s.Text(before["/ws/stint.toml"].Sum); err == nil {
		t.Error("another text is believed")
	}
	must.Do(t, os.WriteFile(filepath.Join(s.Dir, list), []byte("null"), 0o600))
	if _, err := s.Load(); err == nil {
		t.Error("an empty list counts as none")
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ before, after, want string }{
		"same":    {"a\nb\n", "a\nb\n", ""},
		"new":     {"", "a\n", "  +a\n"},
		"changed": {"1\n2\n3\n4\n5\n6\n7\n", "1\n2\n3\n4\nx\n6\n7\n", "   2\n   3\n   4\n  -5\n  +x\n   6\n   7\n"},
		"NUL":     {"a\n", "a\nevil\x00\n", "   a\n  +evil\\0\n"},
		"ELF":     {"a\n", "\x7fELF", "  -a\n  +an ELF program of 4 bytes, SHA-256 " + text("\x7fELF").Sum + "\n"},
		"newer":   {"\x7fELF", "\x7fELF\x00", "  -an ELF program of 4 bytes, SHA-256 " + text("\x7fELF").Sum + "\n  +an ELF program of 5 bytes, SHA-256 " + text("\x7fELF\x00").Sum + "\n"},
	} {
		must.Equal(t, name, Diff(text(test.before), text(test.after)), test.want)
	}
	if got := Diff(Content{Sum: "1"}, text("a\n")); got != "  -a program that was not kept, SHA-256 1\n  +a\n" {
		t.Errorf("not kept: got %q", got)
	}
	// Millions of lines are not compared with each other: the table would not fit into any memory.
	many := strings.Repeat("\n", 1<<20)
	if got := Diff(text(many), text(many+"evil\n")); !strings.HasSuffix(got, "  +evil\n") {
		t.Errorf("many lines: got %.40q…", got)
	}
}

// TestRead gives it what a session may put in the place of a program.
func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, begins := range map[string]string{"script": "#!", "sparse": "#!", "program": elf, "huge": elf} {
		must.Do(t, os.WriteFile(at(name), []byte(begins), 0o600))
	}
	must.Do(t, errors.Join(os.WriteFile(at("empty"), nil, 0o600), os.Symlink("script", at("link")), os.Symlink("loop", at("loop")), syscall.Mkfifo(at("pipe"), 0o600),
		os.Truncate(at("sparse"), 60<<30), os.Truncate(at("program"), maxText+1), os.Truncate(at("huge"), 60<<30)))
	for name, test := range map[string]struct {
		size int64
		text []byte
		err  string
	}{
		"script":  {2, []byte("#!"), ""},
		"empty":   {0, []byte{}, ""},
		"link":    {2, []byte("#!"), ""},
		"program": {maxText + 1, nil, ""},
		"sparse":  {0, nil, "cannot be trusted: it has more than 16 MiB"},
		"huge":    {0, nil, "cannot be trusted: it has more than 1024 MiB"},
		"pipe":    {0, nil, "cannot be trusted: it is not a regular file"},
		"loop":    {0, nil, "too many links"},
		"missing": {0, nil, "no such file"},
		".":       {0, nil, "not a regular file"},
	} {
		c, err := Read(at(name))
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: got %v, want %q", name, err, test.err)
			}
			continue
		}
		if err != nil || c.Size != test.size || cmp.Diff(c.Text, test.text) != "" || c.Text != nil && c.Sum != Sum(c.Text) || len(c.Sum) != 64 {
			t.Errorf("%s: got %d bytes, %q, %v", name, c.Size, c.Text, err)
		}
	}
}
