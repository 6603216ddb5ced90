package task_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"stint/internal/fleet"
	"stint/internal/task"
	"stint/internal/testkit/must"
)

// later is a clock by which every file has settled.
func later() time.Time { return time.Now().Add(time.Hour) } //nolint:forbidigo // files are stamped by no other clock

// tester is a test, or one round of a property.
type tester interface {
	rapid.TB
	Context() context.Context
}

// cached is the folder with a cache in a folder of its own.
func cached(t testing.TB, f task.Folder) task.Folder {
	t.Helper()
	f.Cache = task.Cache{Path: filepath.Join(t.TempDir(), task.CacheFile), Writes: true, Now: later}
	return f
}

// list lists, and expects no error.
func list(t tester, f task.Folder) ([]fleet.Task, []fleet.TaskProblem) {
	t.Helper()
	tasks, problems, err := f.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tasks, problems
}

// sameAsUncached expects of a listing what one without a cache gives.
func sameAsUncached(t tester, f task.Folder) {
	t.Helper()
	tasks, problems := list(t, f)
	f.Cache = task.Cache{}
	wantTasks, wantProblems := list(t, f)
	must.Equal(t, "tasks", tasks, wantTasks)
	must.Equal(t, "problems", problems, wantProblems)
}

// manyKinds are files of every outcome.
func manyKinds() map[string]string {
	return map[string]string{
		"full.md": fullTask, "a.md": "---\ntags: docs\n---\n# A\n", "a-b.md": "---\ncreated: 0001-01-01\n---\n", "README.md": "# About\n",
		"bad.md": "---\ntags:\n- a\nstate: nope\n---\n", "no.md": "text\n", "a\nb.md": "---\n---\n", "caf\xe9.md": "---\n---\n",
		"big.md": "---\n---\n" + strings.Repeat("x", 1<<20), "end.md": "---\nwait: 9999-12-31T23:59:59.999999999Z\n---\n", "note.txt": "x",
	}
}

func TestCachedListIsTheSame(t *testing.T) {
	t.Parallel()
	f := cached(t, newFolder(t, manyKinds()))
	must.Do(t, os.Mkdir(filepath.Join(f.Dir, "sub.md"), 0o755))
	must.Do(t, syscall.Mkfifo(filepath.Join(f.Dir, "fifo.md"), 0o644))
	for link, target := range map[string]string{"gone.md": "nowhere", "link.md": "full.md", "folder.md": "sub.md", "loop.md": "loop.md"} {
		must.Do(t, os.Symlink(target, filepath.Join(f.Dir, link)))
	}
	sameAsUncached(t, f)
	written := readFile(t, f.Cache.Path)
	sameAsUncached(t, f)
	f.Tags, f.DefaultCategory = map[string]fleet.Category{"docs": "other"}, "rest"
	sameAsUncached(t, f)
	if readFile(t, f.Cache.Path) != written {
		t.Error("the cache was changed with nothing to change in it")
	}
	if info, err := os.Stat(f.Cache.Path); err != nil || info.Mode() != 0o600 {
		t.Errorf("cache: %v, %v; want it for its owner only", info.Mode(), err)
	}
}

// TestListBelievesTheCache gives a task another title in the cache alone.
func TestListBelievesTheCache(t *testing.T) {
	t.Parallel()
	f := cached(t, newFolder(t, map[string]string{"a.md": "---\n---\n# Old\n", "b.md": "---\n---\n# B\n"}))
	f.Cache.Writes = false
	list(t, f)
	if _, err := os.Stat(f.Cache.Path); err == nil {
		t.Error("a cache that is not to be written was")
	}
	f.Cache.Writes = true
	list(t, f)
	task.Retitle(f.Cache, f.Dir, "New")
	for _, want := range []string{"New", "New"} {
		if tasks, _ := list(t, f); len(tasks) != 2 || tasks[0].Title != want {
			t.Errorf("%v, want the title %q", tasks, want)
		}
	}
	writeFile(t, filepath.Join(f.Dir, "a.md"), "---\n---\n# Newest\n")
	if tasks, _ := list(t, f); tasks[0].Title != "Newest" || tasks[1].Title != "New" {
		t.Errorf("%v, want only the changed file read", tasks)
	}
}

// TestYoungFileIsReadAgain changes a file within a tick of the kernel's clock, so that nothing
// shows the change.
func TestYoungFileIsReadAgain(t *testing.T) {
	t.Parallel()
	f := cached(t, newFolder(t, map[string]string{"a.md": "---\n---\n# Old\n"}))
	changed := list1(t, f).Modified
	for _, test := range []struct {
		name       string
		age        time.Duration
		remembered bool
	}{
		{"of the future", -time.Second, false},
		{"of this moment", 0, false},
		{"young", 2 * time.Second, false},
		{"old", 2*time.Second + 1, true},
	} {
		f := cached(t, f)
		f.Cache.Now = func() time.Time { return changed.Add(test.age) }
		list(t, f)
		task.Retitle(f.Cache, f.Dir, "Remembered")
		if got := list1(t, f).Title == "Remembered"; got != test.remembered {
			t.Errorf("%s: remembered %v, want %v", test.name, got, test.remembered)
		}
	}
}

func list1(t testing.TB, f task.Folder) fleet.Task {
	t.Helper()
	tasks, _ := list(t, f)
	if len(tasks) != 1 {
		t.Fatalf("%v, want one task", tasks)
	}
	return tasks[0]
}

func TestCacheThatIsNone(t *testing.T) {
	t.Parallel()
	f := cached(t, newFolder(t, manyKinds()))
	list(t, f)
	good := []byte(readFile(t, f.Cache.Path))
	other := cached(t, newFolder(t, manyKinds()))
	list(t, other)
	for name, data := range map[string][]byte{
		"empty": nil, "short": good[:5], "truncated": good[:len(good)-1], "longer": append(bytes.Clone(good), 0),
		"newer": bytes.Replace(good, []byte("tasks 1"), []byte("tasks 9"), 1), "of another folder": []byte(readFile(t, other.Cache.Path)),
		"something else": []byte("SQLite format 3\x00"), "only a header": good[:len("stint tasks 1\n")+4],
	} {
		writeFile(t, f.Cache.Path, string(data))
		sameAsUncached(t, f)
		if got := readFile(t, f.Cache.Path); got != string(good) {
			t.Errorf("%s: not replaced", name)
		}
	}
}

func TestCacheThatIsDamaged(t *testing.T) {
	t.Parallel()
	f := cached(t, newFolder(t, map[string]string{"full.md": fullTask, "a.md": "---\n---\n# A\n", "bad.md": "---\nstate: nope\n---\n"}))
	list(t, f)
	good := readFile(t, f.Cache.Path)
	for i := range good {
		writeFile(t, f.Cache.Path, good[:i]+string([]byte{good[i] ^ 1})+good[i+1:])
		sameAsUncached(t, f)
	}
}

func TestCacheThatCannotBe(t *testing.T) {
	t.Parallel()
	f := newFolder(t, manyKinds())
	home := t.TempDir()
	for _, path := range []string{filepath.Join(home, "none", task.CacheFile), t.TempDir(), filepath.Join(f.Dir, "a.md", task.CacheFile)} {
		f.Cache = task.Cache{Path: path, Writes: true, Now: later}
		sameAsUncached(t, f)
	}
	if names := fileNames(t, home); len(names) > 0 {
		t.Errorf("a state folder was made: %v", names)
	}
}

// TestCacheHoldsEveryField fails for a field of a task that the cache would lose.
func TestCacheHoldsEveryField(t *testing.T) {
	t.Parallel()
	want := fleet.Task{ID: "x", Path: "/w/x.md"}
	v := reflect.ValueOf(&want).Elem()
	for i := range v.NumField() {
		switch field := v.Field(i); {
		case !field.IsZero():
		case field.Kind() == reflect.String:
			field.SetString("text " + fmt.Sprint(i))
		case field.Type() == reflect.TypeFor[[]string]():
			field.Set(reflect.ValueOf([]string{"", fmt.Sprint(i), "é"}))
		case field.Type() == reflect.TypeFor[*fleet.TaskMemory](): // no file has one
		case field.Type() == reflect.TypeFor[time.Time]():
			field.Set(reflect.ValueOf(time.Date(1+i, 2, 3, 4, 5, 6, 7, time.UTC)))
		default:
			t.Fatalf("%s: a field of type %s is unknown here", v.Type().Field(i).Name, field.Type())
		}
	}
	got, ok, err := task.DecodeOutcome(want.Path, task.EncodeOutcome(want, nil))
	if err != nil || !ok {
		t.Fatal(err, ok)
	}
	// The body is read when it is wanted, the time is part of the proof, and no file has a source.
	must.Equal(t, "task", got, want, cmpopts.IgnoreFields(fleet.Task{}, "Body", "Modified", "Source", "Item", "Listed"))
}

// TestCacheVersion fails when a program would read what an older one remembered and
// take it for its own.
func TestCacheVersion(t *testing.T) {
	t.Parallel()
	outcomes := []byte(task.CacheMagic)
	for _, text := range []string{fullTask, "---\n---\n", "---\ntags:\n- a\nstate: nope\n---\n", "text\n", "---\nfamily: [a]\n---\n"} {
		outcomes = append(outcomes, task.EncodeOutcome(task.Parse("/w/x.md", []byte(text)))...)
	}
	if got, want := crc32.ChecksumIEEE(outcomes), uint32(0xec345e7e); got != want {
		t.Errorf("%#x, want %#x: what is remembered of a file has changed: raise the number in the cache's first line, then expect this", got, want)
	}
}

func FuzzDecodeOutcome(f *testing.F) {
	for _, text := range []string{fullTask, "---\n---\n", "---\nstate: nope\n---\n"} {
		f.Add(task.EncodeOutcome(task.Parse("/w/x.md", []byte(text))))
	}
	f.Add("i")
	f.Add("t\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")
	f.Fuzz(func(t *testing.T, outcome string) {
		got, ok, err := task.DecodeOutcome("/w/x.md", outcome)
		if !ok {
			return
		}
		again, ok, err2 := task.DecodeOutcome("/w/x.md", task.EncodeOutcome(got, err))
		if diff := cmp.Diff(again, got); !ok || diff != "" || fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Errorf("again %v, %v; errors %v, %v:\n%s", again, ok, err, err2, diff)
		}
	})
}

func FuzzDecodeCache(f *testing.F) {
	f.Add([]byte("\x02/w\x01\x01a\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, body []byte) {
		entries := task.DecodeCache(task.WithHeader(body), "/w")
		again := task.DecodeCache(task.EncodeCache("/w", entries), "/w")
		if len(again) != len(entries) {
			t.Errorf("%v, then %v", entries, again)
		}
	})
}

// TestCacheIsNoticed changes a folder at random between listings that share a cache.
func TestCacheIsNoticed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		dir := t.TempDir()
		m := &changing{dir: filepath.Join(dir, "tasks"), probe: filepath.Join(dir, "probe")}
		m.folder = task.Folder{Dir: m.dir, DefaultCategory: "code"}
		m.folder.Cache = task.Cache{Path: filepath.Join(dir, task.CacheFile), Writes: true, Now: later}
		must.Do(r, os.Mkdir(m.dir, 0o755))
		r.Repeat(map[string]func(*rapid.T){
			"":        m.check,
			"write":   m.write,
			"rename":  m.rename,
			"touch":   m.touch,
			"remove":  m.remove,
			"same":    m.sameSize,
			"restore": m.restoreTime,
			"link":    m.link,
		})
	})
}

// changing is a folder that changes under its cache.
type changing struct {
	dir, probe string
	folder     task.Folder
}

// check lists with the cache, and lets the kernel's clock go on a tick: only the file's youth
// would show a second change within one.
func (m *changing) check(t *rapid.T) {
	m.folder.Cache.Writes = rapid.Bool().Draw(t, "writes")
	sameAsUncached(t, m.folder)
	first := m.stamp(t)
	for m.stamp(t) == first { //nolint:revive // The kernel's clock is asked, and nothing else is to do.
	}
}

func (m *changing) stamp(t *rapid.T) time.Time {
	must.Do(t, os.WriteFile(m.probe, nil, 0o600))
	now := time.Unix(0, 0)
	must.Do(t, os.Chtimes(m.probe, now, now))
	info := must.Get(os.Stat(m.probe))(t)
	return time.Unix(info.Sys().(*syscall.Stat_t).Ctim.Unix())
}

func (m *changing) path(t *rapid.T, label string) string {
	return filepath.Join(m.dir, rapid.SampledFrom([]string{"a.md", "a-b.md", "b.md", "README.md", "c\n.md", "x.txt"}).Draw(t, label))
}

func (m *changing) text(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		"---\nstate: todo\n---\n# One\n", "---\nstate: done\n---\n# Two\n", "---\nstate: nope\n---\n# Two\n", "---\ntags: [a, b]\n---\n", "text", "",
	}).Draw(t, "text")
}

// must forgives what is not there to be changed, and links that lead nowhere.
func (m *changing) must(t *rapid.T, err error) {
	for _, forgiven := range []error{nil, os.ErrNotExist, os.ErrExist, syscall.ELOOP} {
		if errors.Is(err, forgiven) {
			return
		}
	}
	t.Fatal(err)
}

func (m *changing) write(t *rapid.T) {
	m.must(t, os.WriteFile(m.path(t, "path"), []byte(m.text(t)), 0o644))
}

func (m *changing) rename(t *rapid.T) { m.must(t, os.Rename(m.path(t, "from"), m.path(t, "to"))) }

func (m *changing) touch(t *rapid.T) {
	at := time.Unix(rapid.Int64Range(-1<<32, 1<<32).Draw(t, "seconds"), 0)
	m.must(t, os.Chtimes(m.path(t, "path"), at, at))
}

func (m *changing) remove(t *rapid.T) { m.must(t, os.Remove(m.path(t, "path"))) }

// sameSize replaces a file by another of its size, with its old time of modification,
// in place or by a rename.
func (m *changing) sameSize(t *rapid.T) {
	path := m.path(t, "path")
	info, err := os.Stat(path)
	if err != nil {
		return
	}
	data, err := os.ReadFile(path)
	m.must(t, err)
	data = bytes.Map(swapped, data)
	target := path
	if rapid.Bool().Draw(t, "by rename") {
		target = m.probe
	}
	m.must(t, os.WriteFile(target, data, 0o644))
	m.must(t, os.Chtimes(target, info.ModTime(), info.ModTime()))
	m.must(t, os.Rename(target, path))
}

// swapped makes of a task another one of the same length.
func swapped(r rune) rune {
	switch r {
	case 'O':
		return 'T'
	case 'T':
		return 'O'
	}
	return r
}

// restoreTime changes a file and gives it its old time of modification.
func (m *changing) restoreTime(t *rapid.T) {
	path := m.path(t, "path")
	info, err := os.Stat(path)
	if err != nil {
		return
	}
	m.must(t, os.WriteFile(path, []byte(m.text(t)), 0o644))
	m.must(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
}

func (m *changing) link(t *rapid.T) {
	m.must(t, os.Symlink(filepath.Base(m.path(t, "to")), m.path(t, "link")))
}
