package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stint/internal/agent/preset"
	"stint/internal/config"
	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	"stint/internal/store/postgres"
	"stint/internal/systemd"
	"stint/internal/testkit/must"
	"stint/internal/workspace"
)

func now() time.Time { return time.Date(2026, 7, 1, 12, 10, 0, 0, time.UTC) }

// fired is a fleet's timer in which nothing is amiss, with a change.
func fired(t *testing.T, change func(*timer)) timer {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tm := timer{
		unit: "stint@bob.timer", config: "/w/stint.toml",
		Installed: systemd.Installed{Load: "loaded", Enabled: "enabled", Active: "active"},
		fires:     systemd.TimerState{Last: now().Add(-10 * time.Minute), Next: now().Add(20 * time.Minute), Active: true},
		service:   systemd.Installed{Load: "loaded", Active: "inactive", Result: "success", Argv: []string{program}},
	}
	change(&tm)
	return tm
}

// timers returns the findings about a timer whose last fire is on record.
func timers(t *testing.T, change func(*timer)) []Finding {
	t.Helper()
	tm := fired(t, change)
	list := []Finding{tm.judge("/w/stint.toml")}
	if tm.Load == "loaded" && tm.installed() {
		list = append(list, tm.judgeFiles("/w/stint.toml"), tm.judgeFires(now(), now().Add(-10*time.Minute), true))
	}
	return list
}

// servers returns the findings about a server, with a change.
func servers(change func(*server)) []Finding {
	s := server{name: "postgres", Condition: postgres.Condition{Version: 150018, Schema: 1, Known: 1, Writes: true, Role: "bob"}}
	change(&s)
	return s.judge()
}

func boxed(profile fleet.BoxProfile, layers fleet.BoxLayers, network *[]int) []Finding {
	return []Finding{examineBox("claude", fleet.Box{Profile: profile, Network: network, Layers: layers})}
}

func folder(path string, mode fs.FileMode, owner int, unwritable error, foreign ...string) []Finding {
	return []Finding{judgeFolder(path, mode, owner, 1000, foreign, unwritable)}
}

func worked(w workspace.Condition, needing []fleet.Category, unready error, live int) []Finding {
	return []Finding{judgeWorkspace("/w", w, needing, unready, live, now())}
}

func bus(env map[string]string) []Finding {
	return []Finding{examineBus(1000, errors.New("refused"), func(name string) string { return env[name] })}
}

// TestHealthy has nothing but ok where nothing is amiss.
func TestHealthy(t *testing.T) {
	t.Parallel()
	full := fleet.BoxLayers{Landlock: 7, Namespaces: "/usr/bin/bwrap"}
	list := slices.Concat(
		judgeConfig("/w/stint.toml", nil, "", nil), []Finding{examineBus(1000, nil, nil), examineLinger(true, nil)},
		timers(t, func(tm *timer) { tm.service.Argv = []string{selfPath(t)} }), judgeControllers(1000, nil, ""),
		folder("/s", 0o700, 1000, nil), []Finding{judgeFileSystem("/s", 0xef53), judgeFile("/s/stint.db", 3<<20, nil), judgeRuns(1, nil), judgeLanes(0), judgeFigures(nil)},
		boxed(fleet.BoxWorkspace, full, nil), judgeRests(nil), worked(workspace.Condition{Repository: true, Changed: 2, Untracked: 1}, nil, nil, 1),
		worked(workspace.Condition{Repository: true}, nil, nil, 0), judgeTasks(4, nil, nil, nil), []Finding{judgeDisk("state folder", "/s", 50<<30, 100<<30)},
	)
	var got []string
	for _, f := range list {
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
		"unit_files: stint@bob.service runs " + selfPath(t),
		"fires: the last at 2026-07-01T12:00:00Z",
		"controllers: every limit of the configuration can be enforced",
		"state_folder: /s",
		"file_system: local: ext4",
		"store: /s/stint.db, 3.0 MiB, whole",
		"runs: 1 session under way, nothing left behind",
		"lanes: none held twice in the last day",
		"figures: beliefs, accounts, budgets and epochs add up by the record",
		"box: claude: workspace by Landlock 7 and namespaces",
		"agent_rest: none",
		"workspace: /w, 2 changed files while sessions work, 1 untracked file",
		"workspace: /w, clean",
		"tasks: 4 tasks read",
		"disk: state folder: 50.0 GiB free of 100.0 GiB (/s)",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	if got, want := Summary(list), "19 ok, 0 warnings, 0 problems, 0 unknown"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func selfPath(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestExamine breaks one thing at a time: the findings that are not ok are those, and no
// others.
func TestExamine(t *testing.T) {
	t.Parallel()
	landlock := fleet.BoxLayers{Landlock: 7, Refused: "not installed", Fix: "install it"}
	full := fleet.BoxLayers{Landlock: 7, Namespaces: "/usr/bin/bwrap"}
	elsewhere := filepath.Join(t.TempDir(), "stint.toml")
	if err := os.WriteFile(elsewhere, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(name string, unheard time.Duration) fleet.Host {
		return fleet.Host{ID: name, Name: name, Version: "v2", HeardAt: now().Add(-unheard)}
	}
	tests := []struct {
		name string
		list []Finding
		want []string // "check state fix: what | fix"
	}{
		{"config warns", judgeConfig("/w/stint.toml", nil, "", []string{"a", "b"}), []string{
			"config warning: a | stint config check", "config warning: b | stint config check",
		}},
		{"held", judgeConfig("/w/stint.toml", []string{"a", "b"}, "b", nil), []string{
			"config warning: a | stint config trust", "config warning: b | stint config check",
		}},
		{"no plain path", append(judgeConfig("/sp ace/stint.toml", nil, "", nil), timer{unit: "stint@bob.timer", Installed: systemd.Installed{Load: "not-found"}}.judge("/sp ace/stint.toml")), []string{
			`config warning: "/sp ace/stint.toml" cannot be handed to systemd: only letters, digits and _ . / = : @ + - are safe there | ` + plainPath,
			"timer warning: stint@bob.timer is not installed | " + plainPath,
		}},
		{"no box", boxed(fleet.BoxOpen, full, nil), []string{
			`box warning: claude: open | write in stint.toml, [agent.claude]: box = "workspace"`,
		}},
		{"no bubblewrap", boxed(fleet.BoxWorkspace, landlock, nil), []string{
			`box problem: claude: box = "workspace" needs a namespace: not installed | install it`,
		}},
		{"Landlock by choice", boxed(fleet.BoxLandlock, landlock, nil), []string{
			"box warning: claude: landlock by Landlock 7; an agent can connect to the user bus, where systemd-run --user is a way out of the box, to agents for ssh and gpg keys, and to containers; " +
				"an agent can read and change memory that other processes share, such as files in /dev/shm; " +
				`an agent can see the names of files outside, and change their modes and times | write box = "workspace", which takes namespaces`,
		}},
		{"no namespaces", boxed(fleet.BoxStrict, fleet.BoxLayers{Landlock: 7, Refused: "not permitted", Fix: "permit it"}, nil), []string{
			`box problem: claude: box = "strict" needs a namespace: not permitted | permit it`,
		}},
		{"no layer", boxed(fleet.BoxWorkspace, fleet.BoxLayers{Refused: "not permitted", Fix: "permit it"}, nil), []string{"box problem: claude: neither Landlock nor namespaces: not permitted | permit it"}},
		{"an older Landlock", boxed(fleet.BoxWorkspace, fleet.BoxLayers{Landlock: 2, Namespaces: "/usr/bin/bwrap"}, nil), []string{
			"box warning: claude: workspace by Landlock 2 and namespaces; an agent can connect to abstract sockets | boot a newer kernel: Linux 6.12 has all of Landlock that is used",
		}},
		{"ports on an older Landlock", boxed(fleet.BoxWorkspace, fleet.BoxLayers{Landlock: 3, Namespaces: "/usr/bin/bwrap"}, &[]int{443}), []string{
			"box problem: claude: network: this kernel's Landlock has version 3, and ports take version 4 (Linux 6.7) | boot a newer kernel: Linux 6.12 has all of Landlock that is used",
		}},
		{"no bus", bus(map[string]string{"XDG_RUNTIME_DIR": "/run/user/1000"}), []string{
			"bus problem: refused | sudo loginctl enable-linger 1000 && sudo systemctl start user@1000.service",
		}},
		{"another's bus", bus(map[string]string{"DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/0/bus"}), []string{
			"bus problem: refused | export XDG_RUNTIME_DIR=/run/user/1000 DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus",
		}},
		{"another's folder of sockets", bus(map[string]string{"XDG_RUNTIME_DIR": "/run/user/10001"}), []string{
			"bus problem: refused | export XDG_RUNTIME_DIR=/run/user/1000 DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus",
		}},
		{"no variables of a login", bus(nil), []string{
			"bus problem: refused | sudo loginctl enable-linger 1000 && sudo systemctl start user@1000.service",
		}},
		{"no linger", []Finding{examineLinger(false, nil)}, []string{
			"linger warning linger: off: the service manager ends with your last session | loginctl enable-linger || sudo loginctl enable-linger $(id -un)",
		}},
		{"linger unseen", []Finding{examineLinger(false, errors.New("denied"))}, []string{"linger unknown: denied"}},
		{"no timer", timers(t, func(tm *timer) { tm.Load = "not-found" }), []string{
			"timer warning: stint@bob.timer is not installed | stint init --systemd /w",
		}},
		{"no timer beside those of another fleet", timers(t, func(tm *timer) { tm.Enabled, tm.Active, tm.config = "disabled", "inactive", "" }), []string{
			"timer warning: stint@bob.timer is not installed | stint init --systemd /w",
		}},
		{"switched off", timers(t, func(tm *timer) { tm.Enabled, tm.Active = "disabled", "inactive" }), []string{
			"timer problem: stint@bob.timer is inactive and disabled | stint init --systemd /w",
		}},
		{"switched off, and its binary gone", timers(t, func(tm *timer) {
			tm.Enabled, tm.Active, tm.service.Argv = "disabled", "inactive", []string{"/gone/stint"}
		}), []string{
			"timer problem: stint@bob.timer is inactive and disabled | stint init --systemd /w",
			"unit_files problem timer: stint@bob.service runs /gone/stint, which is not there | stint init --systemd /w",
		}},
		{"failed", timers(t, func(tm *timer) { tm.Active = "failed" }), []string{
			"timer problem timer: stint@bob.timer is failed | stint init --systemd /w",
		}},
		{"masked", timers(t, func(tm *timer) { tm.Load = "masked" }), []string{
			"timer problem: stint@bob.timer is masked | systemctl --user unmask stint@bob.timer",
		}},
		{"bad timer", timers(t, func(tm *timer) { tm.Load = "bad-setting" }), []string{
			"timer problem timer: stint@bob.timer cannot be loaded: bad-setting | stint init --systemd /w",
		}},
		{"stopped", timers(t, func(tm *timer) {
			tm.unit, tm.pool, tm.Active, tm.Fragment = "stint@bob-watch.timer", "watch", "inactive", "/run/user/1000/systemd"
		}), []string{
			"timer problem timer: stint@bob-watch.timer is inactive | stint init --systemd --runtime /w",
		}},
		{"disabled", timers(t, func(tm *timer) { tm.Enabled = "disabled" }), []string{
			"timer warning: stint@bob.timer is active and disabled | stint init --systemd /w",
		}},
		{"no next", timers(t, func(tm *timer) { tm.fires.Next, tm.fires.Active = time.Time{}, false }), []string{
			"timer problem: stint@bob.timer has no next fire | systemctl --user edit stint@bob.timer",
		}},
		{"fires now", timers(t, func(tm *timer) { tm.fires.Next, tm.fires.Firing = time.Time{}, true }), nil},
		{"not by the calendar", timers(t, func(tm *timer) { tm.fires.Next = time.Time{} }), nil},
		{"no service", timers(t, func(tm *timer) { tm.service.Load = "not-found" }), []string{
			"unit_files problem timer: stint@bob.service cannot be loaded: not-found | stint init --systemd /w",
		}},
		{"no drop-in", timers(t, func(tm *timer) { tm.config = "" }), []string{
			"unit_files problem timer: stint@bob.service names no configuration: its drop-in is missing | stint init --systemd /w",
		}},
		{"another's", timers(t, func(tm *timer) { tm.config = elsewhere }), []string{
			"unit_files problem: stint@bob.service fires another configuration: " + elsewhere + " | give one of the two fleets another name",
		}},
		{"moved", timers(t, func(tm *timer) { tm.config = "/x/stint.toml" }), []string{
			"unit_files problem: stint@bob.service fires another configuration: /x/stint.toml, which is not there | stint init --systemd /w",
		}},
		{"no binary", timers(t, func(tm *timer) { tm.service.Argv = []string{"/gone/stint"} }), []string{
			"unit_files problem timer: stint@bob.service runs /gone/stint, which is not there | stint init --systemd /w",
		}},
		{"other binary", timers(t, func(tm *timer) { tm.service.Argv = []string{"/bin/sh"} }), []string{
			"unit_files warning timer: stint@bob.service runs /bin/sh, and this is " + selfPath(t) + " | stint init --systemd /w",
		}},
		{"stale", timers(t, func(tm *timer) { tm.service.Stale = true }), []string{
			"unit_files warning timer: stint@bob.service: its files were changed since the service manager read them | systemctl --user daemon-reload",
		}},
		{"fire failed", timers(t, func(tm *timer) { tm.service.Active, tm.service.Result = "failed", "exit-code" }), []string{
			"fires problem: stint@bob.service failed at its last fire: exit-code | journalctl --user -n 50 -u stint@bob.service",
		}},
		{"nothing on record", []Finding{fired(t, func(tm *timer) { tm.fires.Last = now().Add(-20 * time.Minute) }).judgeFires(now(), now().Add(-40*time.Minute), true)}, []string{
			"fires problem: stint@bob.timer fired at 2026-07-01T11:50:00Z, and no fire since then is on record | journalctl --user -n 50 -u stint@bob.service",
		}},
		{"nothing ever on record", []Finding{fired(t, func(tm *timer) { tm.fires.Last = now().Add(-20 * time.Minute) }).judgeFires(now(), time.Time{}, true)}, []string{
			"fires problem: stint@bob.timer fired at 2026-07-01T11:50:00Z, and no fire since then is on record | journalctl --user -n 50 -u stint@bob.service",
		}},
		{"the first is under way", []Finding{fired(t, func(tm *timer) { tm.fires.Last = now().Add(-time.Minute) }).judgeFires(now(), time.Time{}, true)}, nil},
		{"never fired", []Finding{fired(t, func(tm *timer) { tm.fires.Last = time.Time{} }).judgeFires(now(), time.Time{}, true)}, nil},
		{"overdue", timers(t, func(tm *timer) { tm.fires.Last, tm.fires.Next = now().Add(-time.Hour), now().Add(-30*time.Minute) }), []string{
			"fires problem: stint@bob.timer was to fire at 2026-07-01T11:40:00Z, and did not | journalctl --user -n 50 -u stint@bob.service",
		}},
		{"under way", timers(t, func(tm *timer) { tm.fires.Last, tm.fires.Next = now().Add(-time.Second), now().Add(-time.Second) }), nil},
		{"of last week", []Finding{fired(t, func(tm *timer) { tm.fires.Last = now().Add(-99 * time.Hour) }).judgeFires(now(), now().Add(-99*time.Hour), true)}, nil},
		{"limit not enforced", judgeControllers(1000, []string{"category code: MemoryMax cannot"}, "MemoryMax cannot"), []string{"controllers problem: category code: MemoryMax cannot | " + delegating}},
		{"no memory controller", judgeControllers(1000, nil, "MemoryMax cannot"), []string{
			"controllers warning: MemoryMax cannot | " + delegating,
		}},
		{"another's folder", folder("/s", 0o700, 0, nil), []string{
			"state_folder problem: /s belongs to user 0, not 1000 | sudo chown -R 1000 /s",
		}},
		{"read-only", folder("/s", 0o700, 1000, errors.New("read-only file system")), []string{
			"state_folder problem: /s cannot be written: read-only file system | findmnt -T /s",
		}},
		{"of a mode that keeps its owner out", folder("/s", 0o500, 1000, errors.New("permission denied")), []string{
			"state_folder problem: /s has mode 0500: permission denied | chmod u+rwx /s",
		}},
		{"readable by others", folder("/s", 0o755, 1000, nil), []string{
			"state_folder warning state_folder: /s has mode 0755 | chmod 700 /s",
		}},
		{"writable by others", folder("/it's", 0o770, 1000, nil), []string{
			`state_folder problem state_folder: /it's has mode 0770 | chmod 700 '/it'\''s'`,
		}},
		{"nfs", []Finding{judgeFileSystem("/s", 0x6969)}, []string{
			`file_system problem: /s is on nfs | give the fleet another "state" folder in stint.toml, on a disk of this machine`,
		}},
		{"tmpfs", []Finding{judgeFileSystem("/s", 0x01021994)}, []string{
			`file_system warning: /s is on tmpfs | give the fleet another "state" folder in stint.toml, on a disk of this machine`,
		}},
		{"strange file system", []Finding{judgeFileSystem("/s", 1)}, []string{
			"file_system unknown: /s is on a file system that is not known here",
		}},
		{"store refused", []Finding{(&Doctor{}).fault("/s/stint.db", fleet.WithHint(errors.New("malformed"), "restore it"))}, []string{"store problem: malformed | restore it"}},
		{"store refused, no hint", []Finding{(&Doctor{}).fault("/s/stint.db", errors.New("denied"))}, []string{"store problem: denied | ls -la /s/stint.db"}},
		{"store damaged", []Finding{judgeFile("/s/stint.db", 1, []string{"a", "b"})}, []string{
			"store problem: /s/stint.db: a; b | restore it from a backup, or save what can be read: sqlite3 /s/stint.db .recover | sqlite3 recovered.db",
		}},
		{"server", servers(func(s *server) { s.Version = 130004 }), []string{"store problem: PostgreSQL 13.4 is too old | use version 14 or newer"}},
		{"standby", servers(func(s *server) { s.Standby = true }), []string{"store problem: postgres is a standby | name the primary, or all of them"}},
		{"no schema", servers(func(s *server) { s.Schema = 0 }), []string{
			"store problem: postgres has no schema of this fleet | stint store migrate",
		}},
		{"older schema", servers(func(s *server) { s.Known = 2 }), []string{
			"store problem: its schema is version 1, not 2 yet | stint store migrate",
		}},
		{"newer schema", servers(func(s *server) { s.Schema, s.Compat, s.Known = 4, 3, 2 }), []string{
			"store problem: its schema is version 4, for programs that know 3 or newer, and this one knows 2 | upgrade stint on this host",
		}},
		{"newer schema that will do", servers(func(s *server) { s.Schema, s.Compat, s.Known = 4, 2, 2 }), nil},
		{"other machines", judgeHosts([]fleet.Host{
			{ID: "here", Name: "here", Version: "v1", Config: "z", HeardAt: now().Add(-48 * time.Hour)},
			{ID: "well", Name: "well", Version: "v2", Config: "a", Ahead: -5000, HeardAt: now().Add(-23 * time.Hour)},
			{ID: "other", Name: "other", Version: "v2", Config: "b", Ahead: -5001, HeardAt: now()},
			{ID: "gone", Name: "gone", Version: "v1", GoneAt: time.Unix(1, 0), HeardAt: now().Add(-48 * time.Hour)},
			{ID: "old", Name: "old", Version: "v1", HeardAt: now()},
			at("quiet", 25*time.Hour), at("dead", 11*time.Minute),
		}, fleet.Host{ID: "here", Version: "v2", Config: "a"}, map[string]bool{"dead": true}, now()), []string{
			"hosts warning: host other has another stint.toml than this one | bring both to one commit; [host.NAME] holds what differs",
			"hosts warning: the clock of host other was 5s from the server's when it fired last | let a time service set it",
			"hosts warning: host old has stint v1, and this one v2 | install one version on all hosts, then stint doctor",
			"hosts warning: host quiet is silent: nothing was heard of it for 1d01h | look at it; if it is off for good: stint host gone quiet",
			"hosts warning: host dead is silent, with sessions at work: nothing was heard of it for 11m00s | look at it; if it is off for good: stint host gone dead",
		}},
		{"ends not delivered", servers(func(s *server) { s.unsent, s.unsentFor = 2, 6*time.Minute }), []string{
			"store warning: it does not know yet that 2 sessions ended here, the first 6m00s ago | stint reap delivers the results in the folders of the runs",
		}},
		{"owner", servers(func(s *server) { s.Owner, s.DeletesClaims = true, true }), []string{"store warning: the role bob owns the fleet's schema | connect as the fleet's role, which is neither: stint help hosts"}},
		{"deletes claims", servers(func(s *server) { s.DeletesClaims = true }), []string{
			"store warning: the role bob may delete claims | stint store migrate, as the owner of the schema, grants what is needed and no more",
		}},
		{"reader on a standby", servers(func(s *server) { s.Standby, s.Role, s.Writes = true, "bob_ro", false }), []string{
			"store warning: postgres: the role bob_ro only reads | for a host that is to work, connect as the fleet's role: stint help hosts",
		}},
		{"weak server", servers(func(s *server) {
			s.weak, s.Superuser, s.Owner, s.DeletesClaims, s.NoSync, s.NoFullPages, s.Late = "require", true, true, true, true, true, 2
			s.ahead, s.Connections, s.Busy = -7*time.Second, 100, 91
		}), []string{
			"store problem: sslmode require proves nothing of who the server is | write sslmode=verify-full, and sslrootcert if the authority is your own",
			"store warning: the role bob is a superuser | connect as the fleet's role, which is neither: stint help hosts",
			"store problem: fsync is off | write fsync = on in postgresql.conf",
			"store problem: full_page_writes is off | write full_page_writes = on in postgresql.conf",
			"store warning: 2 standby servers may lack what was acknowledged | set synchronous_standby_names, with Patroni: synchronous_mode",
			"store warning: its clock is 7s from this host's | let a time service set both",
			"store warning: 91 of its 100 connections are in use | raise max_connections, or put a pooler before it",
		}},
		{"dead runs", []Finding{judgeRuns(1, []fleet.Run{{ID: "r1", Category: "code"}, {ID: "r2", Category: "docs", EndedAt: now()}, {ID: "r3", Category: "code"}})}, []string{
			"runs warning runs: 2 runs open without a living session: r1 (code), r3 (code); 1 run ended with a claim or lane still held: r2 (docs) | stint reap",
		}},
		{"many dead runs", []Finding{judgeRuns(0, slices.Repeat([]fleet.Run{{ID: "r", Category: "c"}}, 7))}, []string{"runs warning runs: 7 runs open without a living session: r (c), r (c), r (c), r (c), r (c), and 2 more | stint reap"}},
		{"lane held twice", []Finding{judgeLanes(1)}, []string{
			"lanes problem: 1 time in the last day two runs held one lane at once | stint audit --since 24h",
		}},
		{"usage limit", judgeRests([]inspect.StoppedAgent{{AgentState: fleet.AgentState{Agent: "claude"}, Why: "usage limit"}}), nil},
		{"failing agent", judgeRests([]inspect.StoppedAgent{{AgentState: fleet.AgentState{Agent: "claude"}, Why: "it failed 5 times", Fix: "stint resume"}}), []string{
			"agent_rest warning: claude: it failed 5 times | stint resume",
		}},
		{"no repository", worked(workspace.Condition{}, nil, nil, 0), []string{
			"workspace warning: /w is in no work tree of git | git init /w",
		}},
		{"no repository where one is needed", worked(workspace.Condition{}, []fleet.Category{"code"}, nil, 0), []string{
			"workspace problem: /w is in no work tree of git | git init /w",
		}},
		{"locked", worked(workspace.Condition{Repository: true, Lock: "/w/.git/index.lock", LockedAt: now().Add(-time.Hour)}, nil, nil, 0), []string{
			"workspace problem: /w/.git/index.lock was left behind 1h0m0s ago | rm /w/.git/index.lock",
		}},
		{"git at work", worked(workspace.Condition{Repository: true, Lock: "/w/.git/index.lock", LockedAt: now().Add(-time.Minute)}, nil, nil, 0), nil},
		{"midway", worked(workspace.Condition{Repository: true, Midway: "rebase"}, nil, nil, 0), []string{
			"workspace problem: /w is in the middle of a rebase | git -C /w status",
		}},
		{"uncommitted", worked(workspace.Condition{Repository: true, Changed: 2}, nil, nil, 0), []string{
			"workspace warning: /w: 2 changed files not committed, and no session is at work | git -C /w status",
		}},
		{"tasks unseen", judgeTasks(0, nil, fleet.WithHint(errors.New("no folder"), "stint init"), nil), []string{"tasks problem: no folder | stint init"}},
		{"bad tasks", judgeTasks(1, []fleet.TaskProblem{{Path: "a.md", Line: 1, Reason: "bad"}}, nil, nil), []string{"tasks warning: a.md:1: bad | stint task list"}},
		{"from the future", clocks(now().Add(time.Hour), 0), []string{
			"clock problem: the record has times from the future: 2026-07-01T13:10:00Z, 1h0m0s from now | timedatectl",
		}},
		{"clock set", clocks(now(), -2*time.Hour), []string{
			"clock warning: the store's clock is 2h0m0s from this machine's, which was set | stint fanout, or wait for the next fire, which sets it",
		}},
		{"disk of no size", []Finding{judgeDisk("state folder", "/s", 0, 0)}, []string{
			"disk unknown: state folder: its file system does not say how large it is: /s",
		}},
		{"disk full", []Finding{judgeDisk("state folder", "/s", 99<<20, 100<<30)}, []string{
			"disk problem: state folder: 99.0 MiB free of 100.0 GiB (/s) | df -h /s",
		}},
		{"disk nearly full", []Finding{judgeDisk("state folder", "/s", 4<<30, 100<<30)}, []string{
			"disk warning: state folder: 4.0 GiB free of 100.0 GiB (/s) | df -h /s",
		}},
		{"small disk", []Finding{judgeDisk("state folder", "/s", 900<<20, 2<<30)}, []string{
			"disk warning: state folder: 900.0 MiB free of 2.0 GiB (/s) | df -h /s",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(amiss(t, tt.list), tt.want); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
		})
	}
}

const delegating = "sudo mkdir -p /etc/systemd/system/user@.service.d && " +
	`printf '[Service]\nDelegate=cpu io memory pids\n' | sudo tee /etc/systemd/system/user@.service.d/delegate.conf && ` +
	"sudo systemctl daemon-reload && sudo systemctl restart user@1000.service"

// amiss lists the findings that are not ok, a line each. Each says why it matters and what fixes it.
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

func clocks(latest time.Time, ahead time.Duration) []Finding {
	bad, _ := judgeClock(now(), latest, ahead)
	return []Finding{bad}
}

// TestRepair does each thing once, says in a dry run what it would do, and reports what failed.
func TestRepair(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // which is to be repaired
		t.Fatal(err)
	}
	d := &Doctor{Config: &config.Config{State: dir}}
	list := []Finding{{Repair: repairMode}, {}, {Repair: repairMode}}
	for _, dryRun := range []bool{true, false} {
		want := []Repaired{{Repair: repairMode, Done: []string{"chmod 700 " + dir}}}
		if diff := cmp.Diff(d.Repair(t.Context(), list, dryRun), want); diff != "" {
			t.Errorf("dry run %v: (-got +want):\n%s", dryRun, diff)
		}
		mode := map[bool]fs.FileMode{true: 0o755, false: 0o700}[dryRun]
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != mode {
			t.Errorf("dry run %v: got %v, %v, want mode %v", dryRun, info.Mode(), err, mode)
		}
	}
	d.Config.State = filepath.Join(dir, "gone")
	if got := d.Repair(t.Context(), list, false); len(got) != 1 || got[0].Done != nil || !errors.Is(got[0].Err, fs.ErrNotExist) {
		t.Errorf("got %+v, want an error and nothing done", got)
	}
}

// TestFolder looks at real folders: one that is not there, a file, and one that is in order.
func TestFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := errors.Join(os.Chmod(dir, 0o700), os.WriteFile(file, nil, 0o600)); err != nil { //nolint:gosec // a folder of its owner's
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir:                        "state_folder ok " + dir,
		file:                       "state_folder unknown " + file + " is not a folder",
		filepath.Join(dir, "a/b"):  "state_folder ok " + dir + "/a/b: not there yet, the first run makes it",
		filepath.Join(file, "sub"): "state_folder unknown stat " + file + "/sub: not a directory",
	} {
		f := examineFolder(path)[0]
		if got := f.Check + " " + string(f.State) + " " + f.What; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestProgram looks for programs that are there or not, for a unit and for this process.
func TestProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"claude": "#!/bin/sh\n", "tell": "#!/usr/bin/env nosuchnode\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	unit, here := []string{"PATH=/nowhere"}, func(string) string { return dir + ":/usr/bin:/bin" }
	tests := []struct {
		command     string
		environment []string
		want        string
	}{
		{"claude", []string{"PATH=" + dir}, "ok a: " + dir + "/claude"},
		{"claude", unit, "problem a: claude is in your PATH and not in that of the service manager | name it by its path in stint.toml, [agent.a] command: " + dir + "/claude"},
		{"p", unit, "problem a: p: not found in its PATH \"/nowhere\", as the service manager finds it | install p, or name it by its path in stint.toml, [agent.a] command"},
		{"p", nil, "problem a: p: not found in its PATH \"" + dir + "\" and 2 more, as this process finds it, for no service manager could be asked | install p, or name it by its path in stint.toml, [agent.a] command"},
		{"/x/claude", unit, "problem a: /x/claude: no such file or directory | correct stint.toml, [agent.a] command"},
	}
	for _, tt := range tests {
		d := &Doctor{Getenv: here, Environment: tt.environment}
		f, _ := d.Program("a", config.Agent{Command: []string{tt.command}, PassEnvironment: []string{"PATH"}}, dir)
		got := string(f.State) + " " + f.What
		if f.Fix != "" {
			got += " | " + f.Fix
		}
		if got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
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

// TestLoginIsAFile has a program's folder without a login be none.
func TestLoginIsAFile(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	cli := preset.CLI{Folders: []preset.Folder{{Path: "~/.local"}, {Path: "~/.tool", Login: "login.json"}}}
	must.Do(t, errors.Join(os.MkdirAll(home+"/.local", 0o700), os.MkdirAll(home+"/.tool", 0o700)))
	if got := examineLogin("tool", cli, []string{"HOME=" + home}); got.State != Warning {
		t.Errorf("got %+v without a login, want a warning", got)
	}
	must.Do(t, os.WriteFile(home+"/.tool/login.json", nil, 0o600))
	if got := examineLogin("tool", cli, []string{"HOME=" + home}); got.State != OK {
		t.Errorf("got %+v with a login, want it found", got)
	}
}
