package doctor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stint/internal/fleet"
)

func now() time.Time { return time.Date(2026, 7, 1, 12, 10, 0, 0, time.UTC) }

// healthy is a fleet with a pool beside its own in which nothing is amiss.
func healthy() Facts {
	timer := func(pool, instance string) Timer {
		return Timer{
			Pool: pool, Unit: "stint@" + instance + ".timer", Load: "loaded", Enabled: "enabled", Active: "active",
			Last: now().Add(-10 * time.Minute), Next: now().Add(20 * time.Minute), Again: true,
			Service: Service{
				Unit: "stint@" + instance + ".service", Load: "loaded", Active: "inactive", Result: "success",
				Binary: "/bin/stint", Found: true, Ours: true, Config: "/w/stint.toml", Program: "/bin/stint",
			},
		}
	}
	return Facts{
		Now: now(), UID: 1000,
		Config:  Config{Path: "/w/stint.toml"},
		Manager: Manager{RuntimeDir: "/run/user/1000"},
		Linger:  Linger{On: true},
		Timers:  []Timer{timer("", "bob"), timer("watch", "bob-watch")},
		State:   Folder{Path: "/s", Mode: 0o700, Owner: 1000, User: 1000, Magic: 0xef53},
		Store:   Store{Path: "/s/stint.db", Size: 3 << 20},
		Record:  Record{Live: 1, LastFire: now().Add(-10 * time.Minute), Latest: now().Add(-time.Minute)},
		Agents: []Agent{{
			Name: "claude", Preset: "claude", Program: "claude", Path: "/bin/claude", Manager: true,
			Known: true, Login: "/h/.claude/.credentials.json", Command: "claude /login",
		}},
		Commands: []Command{{Key: "category.code.check", Program: "make"}},
		Boxes: Boxes{
			Layers: fleet.BoxLayers{Landlock: 7, Namespaces: "/usr/bin/bwrap"},
			Agents: []AgentBox{{"claude", fleet.Box{Profile: fleet.BoxWorkspace}}},
		},
		Workspace: Workspace{Path: "/w", Git: true, Changed: 2, Untracked: 1},
		Tasks:     Tasks{Read: 4},
		Clock:     Clock{Synced: true},
		Disks:     []Disk{{Of: "state folder", Path: "/s", Free: 50 << 30, Size: 100 << 30}},
	}
}

func TestHealthy(t *testing.T) {
	t.Parallel()
	var got []string
	for _, f := range Examine(healthy()) {
		if f.State != OK || f.Why != "" || f.Fix != "" || f.Repair != "" {
			t.Errorf("got %+v, want nothing but ok", f)
		}
		got = append(got, f.Check+": "+f.What)
	}
	want := []string{
		"config: /w/stint.toml",
		"bus: the user's service manager answers",
		"linger: on: the service manager runs from boot to shutdown",
		"timer: stint@bob.timer, next fire 2026-07-01T12:30:00Z",
		"unit_files: stint@bob.service runs /bin/stint",
		"fires: the last at 2026-07-01T12:00:00Z",
		"timer: stint@bob-watch.timer, next fire 2026-07-01T12:30:00Z",
		"unit_files: stint@bob-watch.service runs /bin/stint",
		"fires: stint@bob-watch.timer fired at 2026-07-01T12:00:00Z",
		"controllers: every limit of the configuration can be enforced",
		"state_folder: /s",
		"file_system: local: ext4",
		"store: /s/stint.db, 3.0 MiB, whole",
		"runs: 1 session under way, nothing left behind",
		"lanes: none held twice in the last day",
		"figures: beliefs, accounts, budgets and epochs add up by the record",
		"agent: claude: /bin/claude",
		"login: claude: /h/.claude/.credentials.json",
		"command: 1 command looked at",
		"box: claude: workspace by Landlock 7 and namespaces",
		"agent_rest: none",
		"workspace: /w, 2 changed files while sessions work, 1 untracked file",
		"tasks: 4 tasks read",
		"clock: kept in time",
		"disk: state folder: 50.0 GiB free of 100.0 GiB (/s)",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	if got, want := Summary(Examine(healthy())), "25 ok, 0 warnings, 0 problems, 0 unknown"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestExamine breaks one thing at a time: the findings that are not ok are those, and no
// others.
func TestExamine(t *testing.T) {
	t.Parallel()
	own := func(f *Facts) *Timer { return &f.Timers[0] }
	tests := []struct {
		name  string
		spoil func(*Facts)
		want  []string // "check state fix: what | fix"
	}{
		{"config warns", func(f *Facts) { f.Config.Warnings = []string{"a", "b"} }, []string{
			"config warning: a | stint config check", "config warning: b | stint config check",
		}},
		{"held", func(f *Facts) { f.Config.Held, f.Config.Broken = []string{"a", "b"}, "b" }, []string{
			"config warning: a | stint config trust", "config warning: b | stint config check",
		}},
		{"no plain path", func(f *Facts) {
			f.Config.Path, f.Timers = "/sp ace/stint.toml", []Timer{{Unit: "stint@bob.timer", Load: "not-found"}}
		}, []string{
			`config warning: "/sp ace/stint.toml" cannot be handed to systemd: only letters, digits and _ . / = : - are safe there | ` + plainPath,
			"timer warning: stint@bob.timer is not installed | " + plainPath,
		}},
		{"no program of a check", func(f *Facts) { f.Commands[0].Missing = "not found" }, []string{
			"command warning: category.code.check: make: not found | install make, or name it by its path in stint.toml, category.code.check",
		}},
		{"no program at a path", func(f *Facts) { f.Commands[0] = Command{Key: "hosts.ssh", Program: "./ssh", Missing: "no such file"} }, []string{
			"command warning: hosts.ssh: ./ssh: no such file | correct stint.toml, hosts.ssh",
		}},
		{"no interpreter", func(f *Facts) {
			f.Commands[0] = Command{Key: "notice.command", Program: "./tell", Missing: "needs node", Wanting: true}
		}, []string{
			"command warning: notice.command: ./tell: needs node | install the interpreter, or correct stint.toml, notice.command",
		}},
		{"no box", func(f *Facts) { f.Boxes.Agents[0].Box.Profile = fleet.BoxOpen }, []string{
			`box warning: claude: open | write in stint.toml, [agent.claude]: box = "workspace"`,
		}},
		{"no bubblewrap", func(f *Facts) {
			f.Boxes.Layers = fleet.BoxLayers{Landlock: 7, Refused: "not installed", Fix: "install it"}
		}, []string{
			`box problem: claude: box = "workspace" needs a namespace: not installed | install it`,
		}},
		{"Landlock by choice", func(f *Facts) {
			f.Boxes.Layers = fleet.BoxLayers{Landlock: 7, Refused: "not installed", Fix: "install it"}
			f.Boxes.Agents[0].Box.Profile = fleet.BoxLandlock
		}, []string{
			"box warning: claude: landlock by Landlock 7; an agent can connect to the user bus, where systemd-run --user is a way out of the box, to agents for ssh and gpg keys, and to containers; " +
				"an agent can read and change memory that other processes share, such as files in /dev/shm; " +
				`an agent can see the names of files outside, and change their modes and times | write box = "workspace", which takes namespaces`,
		}},
		{"no namespaces", func(f *Facts) {
			f.Boxes.Layers = fleet.BoxLayers{Landlock: 7, Refused: "not permitted", Fix: "permit it"}
			f.Boxes.Agents[0].Box.Profile = fleet.BoxStrict
		}, []string{
			`box problem: claude: box = "strict" needs a namespace: not permitted | permit it`,
		}},
		{"no layer", func(f *Facts) {
			f.Boxes.Layers = fleet.BoxLayers{Refused: "not permitted", Fix: "permit it"}
		}, []string{"box problem: claude: neither Landlock nor namespaces: not permitted | permit it"}},
		{"an older Landlock", func(f *Facts) { f.Boxes.Layers.Landlock = 2 }, []string{
			"box warning: claude: workspace by Landlock 2 and namespaces; an agent can connect to abstract sockets | boot a newer kernel: Linux 6.12 has all of Landlock that is used",
		}},
		{"ports on an older Landlock", func(f *Facts) {
			f.Boxes.Layers.Landlock = 3
			f.Boxes.Agents[0].Box.Network = &[]int{443}
		}, []string{
			"box problem: claude: network: this kernel's Landlock has version 3, and ports take version 4 (Linux 6.7) | boot a newer kernel: Linux 6.12 has all of Landlock that is used",
		}},
		{"no bus", func(f *Facts) { f.Manager.Unseen = "refused" }, []string{
			"bus problem: refused | sudo loginctl enable-linger 1000 && sudo systemctl start user@1000.service",
		}},
		{"another's bus", func(f *Facts) { f.Manager = Manager{Unseen: "refused", BusAddress: "unix:path=/run/user/0/bus"} }, []string{
			"bus problem: refused | export XDG_RUNTIME_DIR=/run/user/1000 DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus",
		}},
		{"another's folder of sockets", func(f *Facts) { f.Manager = Manager{Unseen: "refused", RuntimeDir: "/run/user/10001"} }, []string{
			"bus problem: refused | export XDG_RUNTIME_DIR=/run/user/1000 DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus",
		}},
		{"no variables of a login", func(f *Facts) { f.Manager = Manager{Unseen: "refused"} }, []string{
			"bus problem: refused | sudo loginctl enable-linger 1000 && sudo systemctl start user@1000.service",
		}},
		{"no linger", func(f *Facts) { f.Linger.On = false }, []string{
			"linger warning linger: off: the service manager ends with your last session | loginctl enable-linger || sudo loginctl enable-linger $(id -un)",
		}},
		{"linger unseen", func(f *Facts) { f.Linger = Linger{Unseen: "denied"} }, []string{"linger unknown: denied"}},
		{"timer unseen", func(f *Facts) { f.Timers = []Timer{{Unit: "t", Unseen: "asleep"}} }, []string{"timer unknown: t: asleep"}},
		{"no timer", func(f *Facts) { own(f).Load = "not-found" }, []string{
			"timer warning: stint@bob.timer is not installed | stint init --systemd /w",
		}},
		{"no timer beside those of another fleet", func(f *Facts) {
			own(f).Enabled, own(f).Active, own(f).Service.Config = "disabled", "inactive", ""
		}, []string{
			"timer warning: stint@bob.timer is not installed | stint init --systemd /w",
		}},
		{"switched off", func(f *Facts) { own(f).Enabled, own(f).Active = "disabled", "inactive" }, []string{
			"timer problem: stint@bob.timer is inactive and disabled | stint init --systemd /w",
		}},
		{"switched off, and its binary gone", func(f *Facts) {
			own(f).Enabled, own(f).Active, own(f).Service.Found = "disabled", "inactive", false
		}, []string{
			"timer problem: stint@bob.timer is inactive and disabled | stint init --systemd /w",
			"unit_files problem timer: stint@bob.service runs /bin/stint, which is not there | stint init --systemd /w",
		}},
		{"failed", func(f *Facts) { own(f).Active = "failed" }, []string{
			"timer problem timer: stint@bob.timer is failed | stint init --systemd /w",
		}},
		{"masked", func(f *Facts) { own(f).Load = "masked" }, []string{
			"timer problem: stint@bob.timer is masked | systemctl --user unmask stint@bob.timer",
		}},
		{"former pools", func(f *Facts) {
			f.Former = []Timer{
				{Unit: "stint@bob-a.timer", Enabled: "enabled", Active: "active"},
				{Unit: "stint@bob-b.timer", Enabled: "enabled-runtime", Active: "inactive", Runtime: true},
				{Unit: "stint@bob-c.timer", Enabled: "disabled", Active: "inactive"},
				{Unit: "/units", Unseen: "denied"},
			}
		}, []string{
			"timer warning: stint@bob-a.timer fires a pool that the configuration does not have here | systemctl --user disable --now stint@bob-a.timer",
			"timer warning: stint@bob-b.timer fires a pool that the configuration does not have here | systemctl --user disable --runtime --now stint@bob-b.timer",
			"timer unknown: /units: denied",
		}},
		{"bad timer", func(f *Facts) { own(f).Load = "bad-setting" }, []string{
			"timer problem timer: stint@bob.timer cannot be loaded: bad-setting | stint init --systemd /w",
		}},
		{"stopped", func(f *Facts) { f.Timers[1].Active = "inactive"; f.Timers[1].Runtime = true }, []string{
			"timer problem timer: stint@bob-watch.timer is inactive | stint init --systemd --runtime /w",
		}},
		{"disabled", func(f *Facts) {
			own(f).Enabled = "disabled"
			f.Timers = f.Timers[:1]
		}, []string{
			"timer warning: stint@bob.timer is active and disabled | stint init --systemd /w",
		}},
		{"no next", func(f *Facts) { own(f).Next, own(f).Again = time.Time{}, false }, []string{
			"timer problem: stint@bob.timer has no next fire | systemctl --user edit stint@bob.timer",
		}},
		{"fires now", func(f *Facts) { own(f).Next, own(f).Firing = time.Time{}, true }, nil},
		{"not by the calendar", func(f *Facts) { own(f).Next = time.Time{} }, nil},
		{"no service", func(f *Facts) { own(f).Service.Load = "not-found" }, []string{
			"unit_files problem timer: stint@bob.service cannot be loaded: not-found | stint init --systemd /w",
		}},
		{"no drop-in", func(f *Facts) { own(f).Service.Config = "" }, []string{
			"unit_files problem timer: stint@bob.service names no configuration: its drop-in is missing | stint init --systemd /w",
		}},
		{"another's", func(f *Facts) { own(f).Service.Config = "/x/stint.toml" }, []string{
			"unit_files problem: stint@bob.service fires another configuration: /x/stint.toml | give one of the two fleets another name",
		}},
		{"moved", func(f *Facts) { own(f).Service.Config, own(f).Service.Moved = "/x/stint.toml", true }, []string{
			"unit_files problem: stint@bob.service fires another configuration: /x/stint.toml, which is not there | stint init --systemd /w",
		}},
		{"no binary", func(f *Facts) { own(f).Service.Found, own(f).Service.Ours = false, false }, []string{
			"unit_files problem timer: stint@bob.service runs /bin/stint, which is not there | stint init --systemd /w",
		}},
		{"other binary", func(f *Facts) { own(f).Service.Ours, own(f).Service.Program = false, "/opt/stint" }, []string{
			"unit_files warning timer: stint@bob.service runs /bin/stint, and this is /opt/stint | stint init --systemd /w",
		}},
		{"stale", func(f *Facts) { own(f).Service.Stale = true }, []string{
			"unit_files warning timer: stint@bob.service: its files were changed since the service manager read them | systemctl --user daemon-reload",
		}},
		{"fire failed", func(f *Facts) { own(f).Service.Active, own(f).Service.Result = "failed", "exit-code" }, []string{
			"fires problem: stint@bob.service failed at its last fire: exit-code | journalctl --user -n 50 -u stint@bob.service",
		}},
		{"nothing on record", func(f *Facts) {
			f.Record.LastFire, own(f).Last = now().Add(-40*time.Minute), now().Add(-20*time.Minute)
		}, []string{
			"fires problem: stint@bob.timer fired at 2026-07-01T11:50:00Z, and no fire since then is on record | journalctl --user -n 50 -u stint@bob.service",
		}},
		{"nothing ever on record", func(f *Facts) { f.Record.LastFire, own(f).Last = time.Time{}, now().Add(-20*time.Minute) }, []string{
			"fires problem: stint@bob.timer fired at 2026-07-01T11:50:00Z, and no fire since then is on record | journalctl --user -n 50 -u stint@bob.service",
		}},
		{"the first is under way", func(f *Facts) { f.Record.LastFire, own(f).Last = time.Time{}, now().Add(-time.Minute) }, nil},
		{"never fired", func(f *Facts) { f.Record.LastFire, own(f).Last = time.Time{}, time.Time{} }, nil},
		{"overdue", func(f *Facts) { own(f).Last, own(f).Next = now().Add(-time.Hour), now().Add(-30*time.Minute) }, []string{
			"fires problem: stint@bob.timer was to fire at 2026-07-01T11:40:00Z, and did not | journalctl --user -n 50 -u stint@bob.service",
		}},
		{"under way", func(f *Facts) { own(f).Last, own(f).Next = now().Add(-time.Second), now().Add(-time.Second) }, nil},
		{"of last week", func(f *Facts) { own(f).Last, f.Record.LastFire = now().Add(-99*time.Hour), now().Add(-99*time.Hour) }, nil},
		{"no controllers", func(f *Facts) { f.Controllers.Unseen = "no manager" }, []string{"controllers unknown: no manager"}},
		{"limit not enforced", func(f *Facts) {
			f.Controllers = Controllers{NoMemory: "MemoryMax cannot", Broken: []Unlimited{{"code", "MemoryMax cannot"}}}
		}, []string{"controllers problem: category code: MemoryMax cannot | " + delegating}},
		{"no memory controller", func(f *Facts) { f.Controllers.NoMemory = "MemoryMax cannot" }, []string{
			"controllers warning: MemoryMax cannot | " + delegating,
		}},
		{"state unseen", func(f *Facts) { f.State = Folder{Unseen: "denied"} }, []string{"state_folder unknown: denied"}},
		{"no state", func(f *Facts) { f.State = Folder{Path: "/s", Missing: true, Magic: 0xef53} }, nil},
		{"another's folder", func(f *Facts) { f.State.Owner = 0 }, []string{
			"state_folder problem: /s belongs to user 0, not 1000 | sudo chown -R 1000 /s",
		}},
		{"read-only", func(f *Facts) { f.State.Unwritable = "read-only file system" }, []string{
			"state_folder problem: /s cannot be written: read-only file system | findmnt -T /s",
		}},
		{"of a mode that keeps its owner out", func(f *Facts) { f.State.Unwritable, f.State.Mode = "permission denied", 0o500 }, []string{
			"state_folder problem: /s has mode 0500: permission denied | chmod u+rwx /s",
		}},
		{"readable by others", func(f *Facts) { f.State.Mode = 0o755 }, []string{
			"state_folder warning state_folder: /s has mode 0755 | chmod 700 /s",
		}},
		{"writable by others", func(f *Facts) { f.State.Mode, f.State.Path = 0o770, "/it's" }, []string{
			`state_folder problem state_folder: /it's has mode 0770 | chmod 700 '/it'\''s'`,
		}},
		{"nfs", func(f *Facts) { f.State.Magic = 0x6969 }, []string{
			`file_system problem: /s is on nfs | give the fleet another "state" folder in stint.toml, on a disk of this machine`,
		}},
		{"tmpfs", func(f *Facts) { f.State.Magic = 0x01021994 }, []string{
			`file_system warning: /s is on tmpfs | give the fleet another "state" folder in stint.toml, on a disk of this machine`,
		}},
		{"strange file system", func(f *Facts) { f.State.Magic = 1 }, []string{
			"file_system unknown: /s is on a file system that is not known here",
		}},
		{"no store", func(f *Facts) {
			f.Store = Store{Missing: true}
			f.Record = Record{}
			f.Workspace.Changed = 0
			f.Timers = nil
		}, nil},
		{"store refused", func(f *Facts) { f.Store.Fault, f.Store.Hint = "malformed", "restore it" }, []string{"store problem: malformed | restore it"}},
		{"store refused, no hint", func(f *Facts) { f.Store.Fault = "denied" }, []string{"store problem: denied | ls -la /s/stint.db"}},
		{"store damaged", func(f *Facts) { f.Store.Damage = []string{"a", "b"} }, []string{
			"store problem: /s/stint.db: a; b | restore it from a backup, or save what can be read: sqlite3 /s/stint.db .recover | sqlite3 recovered.db",
		}},
		{"server", func(f *Facts) {
			f.Store.Server = &Server{Name: "postgres", Version: 130004, Schema: 1, Latest: 1}
		}, []string{"store problem: PostgreSQL 13.4 is too old | use version 14 or newer"}},
		{"standby", func(f *Facts) {
			f.Store.Server = &Server{Name: "postgres", Version: 150018, Schema: 1, Latest: 1, Standby: true, Writes: true}
		}, []string{"store problem: postgres is a standby | name the primary, or all of them"}},
		{"no schema", func(f *Facts) { f.Store.Server = &Server{Name: "postgres", Version: 150018, Latest: 1} }, []string{
			"store problem: postgres has no schema of this fleet | stint store migrate",
		}},
		{"older schema", func(f *Facts) { f.Store.Server = &Server{Name: "postgres", Version: 150018, Schema: 1, Latest: 2} }, []string{
			"store problem: its schema is version 1, not 2 yet | stint store migrate",
		}},
		{"newer schema", func(f *Facts) {
			f.Store.Server = &Server{Name: "postgres", Version: 150018, Schema: 4, Compat: 3, Latest: 2, Writes: true}
		}, []string{
			"store problem: its schema is version 4, for programs that know 3 or newer, and this one knows 2 | upgrade stint on this host",
		}},
		{"newer schema that will do", func(f *Facts) {
			f.Store.Server = &Server{Name: "postgres", Version: 150018, Schema: 4, Compat: 2, Latest: 2, Writes: true}
		}, nil},
		{"other machines", func(f *Facts) {
			f.Store.Server = &Server{Name: "postgres", Version: 150018, Schema: 1, Latest: 1, Writes: true, Hosts: []Host{
				{Host: fleet.Host{Name: "here", Version: "v2", Config: "a"}, Here: true, Unheard: 48 * time.Hour},
				{Host: fleet.Host{Name: "well", Version: "v2", Config: "a", Ahead: -5000}, Unheard: 23 * time.Hour},
				{Host: fleet.Host{Name: "other", Version: "v2", Config: "b", Ahead: -5001}},
				{Host: fleet.Host{Name: "gone", Version: "v1", GoneAt: time.Unix(1, 0)}, Unheard: 48 * time.Hour},
				{Host: fleet.Host{Name: "old", Version: "v1"}},
				{Host: fleet.Host{Name: "quiet", Version: "v2"}, Unheard: 25 * time.Hour},
				{Host: fleet.Host{Name: "dead", Version: "v2"}, Working: true, Unheard: 11 * time.Minute},
			}}
		}, []string{
			"hosts warning: host other has another stint.toml than this one | bring both to one commit; what is to differ belongs into [host.NAME]",
			"hosts warning: the clock of host other was 5s from the server's when it fired last | let a time service set it",
			"hosts warning: host old has stint v1, and this one v2 | install one version on all hosts, then stint store check",
			"hosts warning: host quiet is silent: nothing was heard of it for 1d01h | look at it; if it is off for good: stint host gone quiet",
			"hosts warning: host dead is silent, with sessions at work: nothing was heard of it for 11m00s | look at it; if it is off for good: stint host gone dead",
		}},
		{"ends not delivered", func(f *Facts) {
			f.Store.Server = &Server{Name: "postgres", Version: 150018, Schema: 1, Latest: 1, Writes: true, Unsent: 2, UnsentFor: 6 * time.Minute}
		}, []string{
			"store warning: it has not heard that 2 sessions ended here, the first 6m00s ago | stint reap delivers what is written down in the folders of the runs",
		}},
		{"owner", func(f *Facts) {
			f.Store.Server = &Server{Name: "postgres", Version: 150018, Schema: 1, Latest: 1, Role: "bob", Owner: true, Deletes: true, Writes: true}
		}, []string{"store warning: the role bob owns the fleet's schema | connect as the fleet's role, which is neither: stint help hosts"}},
		{"deletes claims", func(f *Facts) {
			f.Store.Server = &Server{Name: "postgres", Version: 150018, Schema: 1, Latest: 1, Role: "bob", Deletes: true, Writes: true}
		}, []string{
			"store warning: the role bob may delete claims | stint store migrate, as the owner of the schema, grants what is needed and no more",
		}},
		{"reader on a standby", func(f *Facts) {
			f.Store.Server = &Server{Name: "postgres", Version: 150018, Schema: 1, Latest: 1, Standby: true, Role: "bob_ro"}
		}, []string{
			"store warning: postgres: the role bob_ro only reads | for a host that is to work, connect as the fleet's role: stint help hosts",
		}},
		{"weak server", func(f *Facts) {
			f.Store.Server = &Server{
				Name: "postgres", Version: 150018, Schema: 1, Latest: 1, Weak: "require", Role: "bob", Superuser: true, Owner: true, Deletes: true, Writes: true, NoSync: true, NoFullPages: true, Late: 2,
				Ahead: -7 * time.Second, Connections: 100, Busy: 91,
			}
		}, []string{
			"store problem: sslmode require proves nothing of who the server is | write sslmode=verify-full, and sslrootcert where the authority is the house's own",
			"store warning: the role bob is a superuser | connect as the fleet's role, which is neither: stint help hosts",
			"store problem: fsync is off | write fsync = on in postgresql.conf",
			"store problem: full_page_writes is off | write full_page_writes = on in postgresql.conf",
			"store warning: 2 standby servers may lack what was acknowledged | set synchronous_standby_names, with Patroni: synchronous_mode",
			"store warning: its clock is 7s from this host's | let a time service set both",
			"store warning: 91 of its 100 connections are in use | raise max_connections, or put a pooler before it",
		}},
		{"record unseen", func(f *Facts) { f.Record = Record{Unseen: "store"}; f.Workspace.Changed = 0 }, []string{
			"runs unknown: store", "lanes unknown: store", "figures unknown: store", "agent_rest unknown: store",
		}},
		{"dead runs", func(f *Facts) {
			f.Record.Leftovers = []Leftover{{Run: "r1", Category: "code"}, {Run: "r2", Category: "docs", Ended: true}, {Run: "r3", Category: "code"}}
		}, []string{
			"runs warning runs: 2 runs open, and no session of it lives: r1 (code), r3 (code); 1 run ended, and did not give back a claim or lane: r2 (docs) | stint reap",
		}},
		{"many dead runs", func(f *Facts) {
			for range 7 {
				f.Record.Leftovers = append(f.Record.Leftovers, Leftover{Run: "r", Category: "c"})
			}
		}, []string{"runs warning runs: 7 runs open, and no session of it lives: r (c), r (c), r (c), r (c), r (c), and 2 more | stint reap"}},
		{"lane held twice", func(f *Facts) { f.Record.Violations = 1 }, []string{
			"lanes problem: 1 time in the last day two runs held one lane at once | stint audit --since 24h",
		}},
		{"no agent", func(f *Facts) { f.Agents[0].Path, f.Agents[0].Missing = "", "not found" }, []string{
			"agent problem: claude: claude: not found, as the service manager finds it | install claude, or name it by its path in stint.toml, [agent.claude] command",
		}},
		{"no agent for this process", func(f *Facts) { f.Agents[0] = Agent{Name: "a", Program: "p", Missing: "not found"} }, []string{
			"agent problem: a: p: not found, as this process finds it, for no service manager could be asked | install p, or name it by its path in stint.toml, [agent.a] command",
			"login unknown: a: nothing is known of its login, as it has no preset",
		}},
		{"no agent at its path", func(f *Facts) {
			f.Agents[0].Path, f.Agents[0].Program, f.Agents[0].Missing = "", "/x/claude", "no such file"
		}, []string{
			"agent problem: claude: /x/claude: no such file | correct stint.toml, [agent.claude] command",
		}},
		{"agent in another PATH", func(f *Facts) { f.Agents[0].Path, f.Agents[0].Here = "", "/h/bin/claude" }, []string{
			"agent problem: claude: claude is in your PATH and not in that of the service manager | name it by its path in stint.toml, [agent.claude] command: /h/bin/claude",
		}},
		{"not logged in", func(f *Facts) { f.Agents[0].Login, f.Agents[0].Logins = "", []string{"$A", "/b"} }, []string{
			"login warning: claude: none found, not any of $A, /b | claude /login",
		}},
		{"model without a price", func(f *Facts) {
			f.Record.Unpriced = []Unpriced{{Agent: "codex", Models: []string{"m"}, Why: "no price is configured for model m"}}
		}, []string{
			`price warning: codex: no price is configured for model m | write [price."m"] with input and output into stint.toml: stint help agents`,
		}},
		{"usage limit", func(f *Facts) { f.Record.Rests = []Rest{{Agent: "claude", Why: "usage limit"}} }, nil},
		{"failing agent", func(f *Facts) {
			f.Record.Rests = []Rest{{Agent: "claude", Why: "it failed 5 times", Fix: "stint resume"}}
		}, []string{
			"agent_rest warning: claude: it failed 5 times | stint resume",
		}},
		{"no workspace", func(f *Facts) { f.Workspace = Workspace{Path: "/w", Missing: true, Unseen: "stat"} }, []string{
			`workspace problem: /w is not there | correct "workspace" in stint.toml`,
		}},
		{"workspace unseen", func(f *Facts) { f.Workspace.Unseen = "no git" }, []string{"workspace unknown: no git"}},
		{"no repository", func(f *Facts) { f.Workspace = Workspace{Path: "/w"} }, []string{
			"workspace warning: /w is in no work tree of git | git init /w",
		}},
		{"no repository where one is needed", func(f *Facts) { f.Workspace = Workspace{Path: "/w", Needed: []fleet.Category{"code"}} }, []string{
			"workspace problem: /w is in no work tree of git | git init /w",
		}},
		{"locked", func(f *Facts) { f.Workspace.Lock, f.Workspace.LockAge = "/w/.git/index.lock", time.Hour }, []string{
			"workspace problem: /w/.git/index.lock was left behind 1h0m0s ago | rm /w/.git/index.lock",
		}},
		{"git at work", func(f *Facts) { f.Workspace.Lock, f.Workspace.LockAge = "/w/.git/index.lock", time.Minute }, nil},
		{"midway", func(f *Facts) { f.Workspace.Midway = "rebase" }, []string{
			"workspace problem: /w is in the middle of a rebase | git -C /w status",
		}},
		{"uncommitted", func(f *Facts) { f.Record.Live = 0 }, []string{
			"workspace warning: /w: 2 changed files not committed, and no session is at work | git -C /w status",
		}},
		{"diverged", func(f *Facts) {
			f.Workspace.Left, f.Workspace.Pull = "main and origin/main have diverged", "git -C /w pull"
		}, []string{
			"workspace warning: main and origin/main have diverged | git -C /w pull",
		}},
		{"tasks unseen", func(f *Facts) { f.Tasks = Tasks{Unseen: "no folder", Hint: "stint init"} }, []string{"tasks problem: no folder | stint init"}},
		{"bad tasks", func(f *Facts) { f.Tasks.Faults = []string{"a.md:1: bad"} }, []string{"tasks warning: a.md:1: bad | stint task list"}},
		{"from the future", func(f *Facts) { f.Record.Latest = now().Add(time.Hour) }, []string{
			"clock problem: the record has times from the future: 2026-07-01T13:10:00Z, 1h0m0s from now | timedatectl",
		}},
		{"clock set", func(f *Facts) { f.Store.Ahead = -2 * time.Hour }, []string{
			"clock warning: the store's clock is 2h0m0s from this machine's, which was set | stint fanout, or wait for the next fire, which sets it",
		}},
		{"clock unseen", func(f *Facts) { f.Clock = Clock{Unseen: "denied"} }, []string{"clock unknown: denied"}},
		{"not kept in time", func(f *Facts) { f.Clock.Synced = false }, []string{
			"clock warning: nothing keeps it in time | sudo timedatectl set-ntp true || sudo apt install systemd-timesyncd",
		}},
		{"disk unseen", func(f *Facts) { f.Disks[0].Unseen = "denied" }, []string{"disk unknown: state folder: denied"}},
		{"disk of no size", func(f *Facts) { f.Disks[0].Free, f.Disks[0].Size = 0, 0 }, []string{
			"disk unknown: state folder: its file system does not say how large it is: /s",
		}},
		{"disk full", func(f *Facts) { f.Disks[0].Free = 99 << 20 }, []string{
			"disk problem: state folder: 99.0 MiB free of 100.0 GiB (/s) | df -h /s",
		}},
		{"disk nearly full", func(f *Facts) { f.Disks[0].Free = 4 << 30 }, []string{
			"disk warning: state folder: 4.0 GiB free of 100.0 GiB (/s) | df -h /s",
		}},
		{"small disk", func(f *Facts) { f.Disks[0].Free, f.Disks[0].Size = 900<<20, 2<<30 }, []string{
			"disk warning: state folder: 900.0 MiB free of 2.0 GiB (/s) | df -h /s",
		}},
		{"no configuration", func(f *Facts) {
			*f = Facts{Now: now(), UID: 7, Config: Config{Fault: "none found", Hint: "stint init"}, Linger: Linger{On: true}, Clock: Clock{Synced: true}}
		}, []string{"config problem: none found | stint init"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			facts := healthy()
			tt.spoil(&facts)
			if diff := cmp.Diff(amiss(t, Examine(facts)), tt.want); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
		})
	}
}

const delegating = "sudo mkdir -p /etc/systemd/system/user@.service.d && " +
	`printf '[Service]\nDelegate=cpu io memory pids\n' | sudo tee /etc/systemd/system/user@.service.d/delegate.conf && ` +
	"sudo systemctl daemon-reload && sudo systemctl restart user@1000.service"

// amiss is what is not ok, a line each. Each says why it matters and what fixes it.
func amiss(t *testing.T, list []Finding) (lines []string) {
	t.Helper()
	for _, f := range list {
		line := f.Check + " " + string(f.State)
		switch f.State {
		case OK:
			continue
		case Unknown:
			lines = append(lines, line+": "+f.What)
			continue
		case Warning, Problem:
		}
		if f.Why == "" || f.Fix == "" {
			t.Errorf("%s: got why %q and fix %q, want both", f.What, f.Why, f.Fix)
		}
		if f.Repair != "" {
			line += " " + string(f.Repair)
		}
		lines = append(lines, fmt.Sprintf("%s: %s | %s", line, f.What, f.Fix))
	}
	return lines
}

func TestRepairs(t *testing.T) {
	t.Parallel()
	list := []Finding{{Repair: RepairTimers}, {}, {Repair: RepairReap}, {Repair: RepairTimers}, {Repair: RepairMode}}
	if got, want := Repairs(list), []Repair{RepairTimers, RepairReap, RepairMode}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Repairs(Examine(healthy())); len(got) > 0 {
		t.Errorf("healthy: got %q, want none", got)
	}
}

func TestFileSystem(t *testing.T) {
	t.Parallel()
	for magic, want := range map[int64]string{
		0xef53: "ext4 local", 0x58465342: "xfs local", 0x9123683e: "btrfs local", 0x2fc12fc1: "zfs local", 0x794c7630: "overlay local",
		0x858458f6: "ramfs memory", 0xff534d42: "cifs remote", 0x65735546: "fuse remote", 0x01021997: "9p remote", 0x6a656a63: "virtiofs remote",
		0x00c36400: "ceph remote",
	} {
		name, where := fileSystem(magic)
		if got := name + " " + string(where); got != want {
			t.Errorf("%#x: got %s, want %s", magic, got, want)
		}
	}
}

func TestWord(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{"/a/b-c": "/a/b-c", "": "''", "a b": "'a b'", "$(x)": "'$(x)'", "it's": `'it'\''s'`, "ü": "'ü'"} {
		if got := fleet.ShellWord(s); got != want {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
	}
	if strings.Contains(fleet.ShellWord("a\nb"), `\n`) {
		t.Error("a newline is written as it is, within quotes")
	}
}
