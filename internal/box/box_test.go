package box_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stint/internal/box"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// places are those of a session in the workspace, or in a worktree of its own.
func places(worktree bool) box.Places {
	p := box.Places{
		Home: "/h", State: "/s", Config: "/w/stint.toml", Guarded: []string{"/w/prompts/code.md", "/opt/rank"},
		Dir: "/w", GitDir: "/w/.git", GitCommon: "/w/.git", Files: fleet.FilesOf("/s", "r"),
		Programs: []string{"/h/.nvm/bin/claude"}, Path: []string{"/usr/bin", "/h", "bin", "/h/bin"},
		Own:  own("/h/.claude"),
		Read: []string{"/srv/data"}, Write: []string{"/srv/cache"},
	}
	if worktree {
		p.Dir, p.GitDir = "/s/worktrees/r", "/w/.git/worktrees/r"
	}
	return p
}

// own are what a program keeps in a folder.
func own(folder string) fleet.Own {
	return fleet.Own{
		Private: []string{folder}, Copied: []string{folder + ".json"}, Shared: []string{folder + "/projects"}, Fixed: []string{folder + "/settings.json"},
	}
}

func TestForTheWorkspace(t *testing.T) {
	t.Parallel()
	b := box.For(fleet.BoxWorkspace, places(false))
	want := []string{"/h/.claude", "/h/.claude.json", "/h/.claude/projects", "/s/cache", "/s/runs/r/out", "/srv/cache", "/w", "/w/.git"}
	must.Equal(t, "write", b.Write, want)
	want = []string{
		"/h/.claude/settings.json", "/w/.git/config", "/w/.git/config.worktree", "/w/.git/hooks", "/w/.git/info", "/w/.git/modules",
		"/w/.git/worktrees", "/w/prompts/code.md", "/w/stint.toml",
	}
	must.Equal(t, "fixed", b.Fixed, want)
	// Neither the home folder, which is in the PATH, nor a relative one is read as a whole.
	for path, want := range map[string]bool{
		"/h": false, "bin": false, "/h/bin": true, "/h/go": true, "/h/.ssh": false, "/h/.codex": false, "/srv/data": true, "/s": false,
		"/s/runs/r/prompt": true, "/opt": true, "/run": false, "/var/lib": false,
	} {
		if got := slices.Contains(b.Read, path); got != want {
			t.Errorf("reads %s: got %t, want %t", path, got, want)
		}
	}
}

func TestForAWorktree(t *testing.T) {
	t.Parallel()
	b := box.For(fleet.BoxWorkspace, places(true))
	want := []string{
		"/h/.claude", "/h/.claude.json", "/h/.claude/projects", "/s/cache", "/s/runs/r/out", "/s/worktrees/r", "/srv/cache", "/w/.git/logs", "/w/.git/objects", "/w/.git/refs", "/w/.git/worktrees/r",
	}
	must.Equal(t, "write", b.Write, want)
	want = []string{
		"/h/.claude/settings.json", "/s/worktrees/r/.git",
		"/w/.git/worktrees/r/commondir", "/w/.git/worktrees/r/config.worktree", "/w/.git/worktrees/r/gitdir",
	}
	must.Equal(t, "fixed", b.Fixed, want)
	if !slices.Contains(b.Read, "/w/.git") || slices.Contains(b.Read, "/w") {
		t.Errorf("reads %q, want git's data of the workspace, and not the workspace", b.Read)
	}
}

func TestForStrict(t *testing.T) {
	t.Parallel()
	b := box.For(fleet.BoxStrict, places(false))
	for path, want := range map[string]bool{
		"/usr": true, "/etc": false, "/etc/passwd": true, "/opt": false, "/h/go": false, "/h/bin": false, "/srv/data": true, "/h/.nvm/bin/claude": true,
	} {
		if got := slices.Contains(b.Read, path); got != want {
			t.Errorf("reads %s: got %t, want %t", path, got, want)
		}
	}
}

func TestForOpen(t *testing.T) {
	t.Parallel()
	if b := box.For(fleet.BoxOpen, places(false)); !b.Open() || b.Write != nil || box.Refusal(b) != "" {
		t.Errorf("got %+v, want no box", b)
	}
}

func TestFault(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/": "/ holds the home folder or the state folder", "/h/": "/h/ holds the home folder or the state folder", "/s": "/s holds the home folder or the state folder",
		"/h/data": "", "/srv": "", "/home": "",
	} {
		read, write := places(false), places(false)
		read.Read, write.Write = []string{path}, []string{path}
		if got := read.Fault(); got != want {
			t.Errorf("read %s: got %q, want %q", path, got, want)
		}
		if got := write.Fault(); got != want {
			t.Errorf("write %s: got %q, want %q", path, got, want)
		}
	}
}

// TestJudging leaves what judges a session nothing of its agent's.
func TestJudging(t *testing.T) {
	t.Parallel()
	b := box.Judging(box.For(fleet.BoxWorkspace, places(false)), "/j", []string{"/h/judge", "an argument"}, fleet.Own{})
	if slices.Contains(b.Write, "/h/.claude") || slices.Contains(b.Fixed, "/h/.claude/settings.json") {
		t.Errorf("got %q and %q, want nothing of the agent's", b.Write, b.Fixed)
	}
	if got := box.Writable(b); b.Tmp != "/j" || !slices.Contains(got, "/j") || slices.Contains(got, places(false).Files.Tmp) {
		t.Errorf("got %s for /tmp and %q by Landlock alone, want a folder in which the agent was not", b.Tmp, got)
	}
	if !slices.Contains(b.Read, "/h/judge") || slices.Contains(b.Read, "an argument") || !slices.Contains(b.Fixed, "/w/stint.toml") {
		t.Errorf("got %+v, want the judge to be read, and the rest as it was", b)
	}
	asking := box.Judging(box.For(fleet.BoxWorkspace, places(false)), "/j", nil, own("/h/.codex"))
	if !slices.Contains(asking.Write, "/h/.codex") || !slices.Contains(asking.Fixed, "/h/.codex/settings.json") || slices.Contains(asking.Write, "/h/.claude") {
		t.Errorf("got %q and %q, want the folders of the program that the grader asks by, and no others", asking.Write, asking.Fixed)
	}
}

// TestNamespace mounts the outer before the inner, and what is fixed or hidden with all folders
// on the way to it: one that is mounted cannot be moved away.
func TestNamespace(t *testing.T) {
	t.Parallel()
	b := fleet.Box{
		Profile: fleet.BoxWorkspace, Read: []string{"/usr", "/usr/bin", "/dev", "/dev/dri", "/w/bin", "/w/state/prompt"}, Write: []string{"/w", "/w/state/out"},
		Fixed: []string{"/w/conf/a/stint.toml"}, Hidden: []string{"/w/state"}, Tmp: "/w/state/tmp", Network: &[]int{},
		Layers: fleet.BoxLayers{Namespaces: "bwrap"},
	}
	want := "bwrap --unshare-pid --unshare-ipc --proc /proc --dev /dev --unshare-net --bind /w/state/tmp /tmp" +
		" --dev-bind-try /dev/dri /dev/dri --ro-bind-try /usr /usr --bind-try /w /w --bind-try /w/conf /w/conf --bind-try /w/conf/a /w/conf/a" +
		" --ro-bind-try /w/conf/a/stint.toml /w/conf/a/stint.toml --tmpfs /w/state --bind-try /w/state/out /w/state/out" +
		" --ro-bind-try /w/state/prompt /w/state/prompt --remount-ro / --remount-ro /w/state --chdir /w -- a b"
	if diff := cmp.Diff(strings.Join(box.Namespace(b, "/w", []string{"a", "b"}), " "), want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

// TestNamespaceOfOwn shows an agent its own folder as an empty one with its settings and what is shared, and a copy of its file.
// What a person lets it write it may write.
func TestNamespaceOfOwn(t *testing.T) {
	t.Parallel()
	p := places(false)
	b := box.For(fleet.BoxWorkspace, p)
	if slices.Contains(b.Made, "/h/.claude/settings.json") {
		t.Errorf("made: got %q, with what is lost anyway", b.Made)
	}
	b.Layers.Namespaces = "bwrap"
	line := strings.Join(box.Namespace(b, "/w", nil), " ")
	want := " --tmpfs /h/.claude --bind /s/runs/r/tmp-h-.claude.json /h/.claude.json --bind-try /h/.claude/projects /h/.claude/projects" +
		" --ro-bind-try /h/.claude/settings.json /h/.claude/settings.json "
	if !strings.Contains(line, want) {
		t.Errorf("got %s, want %s in it", line, want)
	}
	b.Layers = fleet.BoxLayers{Landlock: 7}
	if missing := strings.Join(box.Missing(b), ""); !strings.Contains(missing, "an agent can change /h/.claude") {
		t.Errorf("got %q by Landlock alone, want what it can change", missing)
	}
	p.Own.Fixed = append(p.Own.Fixed, "/h/.claude/projects/memory")
	if b = box.For(fleet.BoxWorkspace, p); !slices.Contains(b.Made, "/h/.claude/projects/memory") {
		t.Errorf("made: got %q, want what a session could make in what stays", b.Made)
	}
	p.Write = append(p.Write, "/h/.claude")
	if b = box.For(fleet.BoxWorkspace, p); len(b.Own.Private) > 0 {
		t.Errorf("got %q, want that a person said so", b.Own.Private)
	}
}

// TestJudgingLeavesTheAgentsOwn gives a check nothing of what is the agent's, and a grader what is of the programs by which it asks.
func TestJudgingLeavesTheAgentsOwn(t *testing.T) {
	t.Parallel()
	b := box.Judging(box.For(fleet.BoxWorkspace, places(false)), "/tmp/judge", nil, fleet.Own{})
	for _, path := range slices.Concat(b.Write, b.Fixed) {
		if strings.HasPrefix(path, "/h/.claude") {
			t.Errorf("got %s for a check, want nothing of the agent's own", path)
		}
	}
	b = box.Judging(b, "/tmp/judge", nil, own("/h/.codex").And(own("/h/.pi")))
	for _, path := range []string{"/h/.codex", "/h/.codex.json", "/h/.codex/projects", "/h/.pi", "/h/.pi.json", "/h/.pi/projects"} {
		if !slices.Contains(b.Write, path) {
			t.Errorf("got %q for a grader, want %s in it", b.Write, path)
		}
	}
}

// TestNamespaceOfNested has the folder on the way to a nested file of settings stay the session's own.
func TestNamespaceOfNested(t *testing.T) {
	t.Parallel()
	p := places(false)
	p.Own.Fixed = append(p.Own.Fixed, "/h/.claude/plugins/list.json")
	b := box.For(fleet.BoxWorkspace, p)
	b.Layers.Namespaces = "bwrap"
	line := strings.Join(box.Namespace(b, "/w", nil), " ")
	if !strings.Contains(line, "--ro-bind-try /h/.claude/plugins/list.json ") || strings.Contains(line, "/h/.claude/plugins /h/.claude/plugins ") {
		t.Errorf("got %s, want the file there, and its folder not", line)
	}
}

// TestNamespaceLinks makes a link for one that may be read, unless something is mounted below it. It mounts nothing on a link that is
// there, unless the link is fixed.
func TestNamespaceLinks(t *testing.T) {
	t.Parallel()
	b := fleet.Box{
		Read: []string{"/bin", "/tools", "/usr", "/w/link"}, Write: []string{"/tools/cache", "/w", "/w/h/a.json", "/w/a"}, Fixed: []string{"/w/link"},
		Own:    fleet.Own{Copied: []string{"/w/h/a.json", "/w/a"}},
		Links:  map[string]string{"/bin": "/usr/bin", "/tools": "/usr/tools", "/w/link": "/usr/w", "/w/h/a.json": "/w/a"},
		Tmp:    "/r",
		Layers: fleet.BoxLayers{Namespaces: "bwrap"},
	}
	want := " --bind /r /tmp --symlink /usr/bin /bin --ro-bind-try /tools /tools --bind-try /tools/cache /tools/cache --ro-bind-try /usr /usr" +
		" --bind-try /w /w --bind /r-w-a /w/a --ro-bind-try /w/link /w/link --remount-ro / "
	if got := strings.Join(box.Namespace(b, "/w", nil), " "); !strings.Contains(got, want) {
		t.Errorf("got %s, want %s in it", got, want)
	}
}

// TestRefusal lets a box do without namespaces only where its configuration says so.
func TestRefusal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		profile fleet.BoxProfile
		layers  fleet.BoxLayers
		want    string
	}{
		{fleet.BoxWorkspace, fleet.BoxLayers{Landlock: 7, Refused: "no"}, `box = "workspace" needs a namespace: no`},
		{fleet.BoxStrict, fleet.BoxLayers{Landlock: 7, Refused: "no"}, `box = "strict" needs a namespace: no`},
		{fleet.BoxLandlock, fleet.BoxLayers{Landlock: 7}, ""},
		{fleet.BoxLandlock, fleet.BoxLayers{}, `neither Landlock nor namespaces: box = "landlock" asks for none`},
		{fleet.BoxWorkspace, fleet.BoxLayers{Namespaces: "bwrap"}, ""},
		{fleet.BoxOpen, fleet.BoxLayers{}, ""},
	} {
		must.Equal(t, string(tt.profile), box.Refusal(fleet.Box{Profile: tt.profile, Layers: tt.layers}), tt.want)
	}
}

// TestNoNamespaces names the setting of the kernel that is in the way.
func TestNoNamespaces(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{
		"kernel.apparmor_restrict_unprivileged_userns=1": "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0, or a profile of AppArmor for bwrap that allows userns",
		"kernel.unprivileged_userns_clone=0":             "sudo sysctl kernel.unprivileged_userns_clone=1",
		"user.max_user_namespaces=0":                     "sudo sysctl user.max_user_namespaces=15000",
		"user.max_user_namespaces=9":                     "have the machine, or the host of this container, allow user namespaces: bwrap --ro-bind / / true",
	} {
		l := box.NoNamespaces(fleet.BoxLayers{Landlock: 7, Namespaces: "bwrap"}, "no", func(name string) string {
			value, _ := strings.CutPrefix(setting, name+"=")
			return strings.TrimSuffix(value, setting)
		})
		must.Equal(t, setting, l, fleet.BoxLayers{Landlock: 7, Refused: "no", Fix: want})
	}
}

// TestMissing names what each set of layers lacks.
func TestMissing(t *testing.T) {
	t.Parallel()
	const sockets = "an agent can " + string(box.WallSockets)
	const memory = "an agent can " + string(box.WallMemory)
	const names = "an agent can " + string(box.WallNames)
	for name, test := range map[string]struct {
		change func(*fleet.Box)
		want   []string
	}{
		"both":          {func(*fleet.Box) {}, nil},
		"Debian 12":     {func(b *fleet.Box) { b.Layers.Landlock = 2 }, []string{"an agent can " + string(box.WallAbstract)}},
		"no namespaces": {func(b *fleet.Box) { b.Layers.Namespaces = "" }, []string{sockets, memory, names}},
		"no namespaces, in a shared folder": {func(b *fleet.Box) {
			b.Layers.Namespaces, b.Fixed = "", []string{"/w/stint.toml", "/w/.git/hooks"}
		}, []string{sockets, memory, names, "an agent can change /w/stint.toml, /w/.git/hooks"}},
		"no namespaces, Debian 12": {func(b *fleet.Box) { b.Layers = fleet.BoxLayers{Landlock: 2} }, []string{
			"an agent can " + string(box.WallTruncation), "an agent can " + string(box.WallSignals), "an agent can " + string(box.WallAbstract), sockets, memory, names,
		}},
		"no Landlock": {func(b *fleet.Box) { b.Layers.Landlock = 0 }, []string{"an agent can " + string(box.WallAbstract)}},
	} {
		b := fleet.Box{Profile: fleet.BoxWorkspace, Layers: fleet.BoxLayers{Landlock: 7, Namespaces: "bwrap"}}
		test.change(&b)
		must.Equal(t, name, box.Missing(b), test.want)
		// Every wall that is not missing is promised, and tried.
		for _, w := range box.Promised(b) {
			if slices.Contains(box.Missing(b), "an agent can "+string(w)) {
				t.Errorf("%s: %s is promised and missing", name, w)
			}
		}
	}
}
