package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stint/internal/agent/rundir"
	"stint/internal/fleet"
	"stint/internal/machine"
	"stint/internal/plain"
	"stint/internal/store"
	"stint/internal/store/postgres"
	"stint/internal/store/sqlite"
)

// Store checks the store alone: its file, or the server.
func (d *Doctor) Store(ctx context.Context) []Finding {
	if d.Config.Store.Shared() {
		return d.examineServer(ctx)
	}
	path := filepath.Join(d.Config.State, sqlite.File)
	var damage []string
	db, err := sqlite.OpenRead(ctx, d.File)
	if err == nil {
		damage, err = db.Damage(ctx)
		if _, at, unread := db.Hosts(ctx); unread == nil { // otherwise the damage tells
			d.ahead = at.Sub(d.Now())
		}
		err = cmp.Or(errors.Join(err, db.Close()), d.mistaken())
	}
	if errors.Is(err, fleet.ErrNotFound) {
		if err = d.Gone(); err == nil {
			return []Finding{ok("store", "not there yet: nothing has run")}
		}
	}
	if err != nil {
		return []Finding{d.fault(path, err)}
	}
	var size int64
	if info, err := os.Stat(path); err == nil {
		size = info.Size()
	}
	return []Finding{judgeFile(path, size, damage)}
}

// mistaken returns an error if the state folder is a copy of another machine's.
func (d *Doctor) mistaken() error {
	return machine.Check(d.Config.State, machine.This(os.DirFS("/")), false)
}

// fault tells why the store cannot be used.
func (d *Doctor) fault(path string, err error) Finding {
	d.faulty = true
	return Finding{
		Check: "store", State: Problem, What: err.Error(), Why: "no claim can be taken, and no session starts",
		Fix: cmp.Or(fleet.Hint(err), "ls -la "+fleet.ShellWord(path)),
	}
}

// judgeFile judges the file by the damage found in it.
func judgeFile(path string, size int64, damage []string) Finding {
	if len(damage) == 0 {
		return ok("store", "%s, %s, whole", path, plain.Bytes(size))
	}
	return Finding{
		Check: "store", State: Problem, What: path + ": " + strings.Join(damage, "; "),
		Why: "the file is damaged: what stint reads may be wrong, and each write may lose more",
		Fix: "restore it from a backup, or save what can be read: sqlite3 " + fleet.ShellWord(path) + " .recover | sqlite3 recovered.db",
	}
}

// server describes a PostgreSQL server to a fleet on many hosts.
type server struct {
	postgres.Condition
	name      string        // of the store, as configured
	weak      string        // an sslmode that lets another host pose as the server; empty: none
	ahead     time.Duration // by which the server's clock leads this machine's
	answers   time.Duration // the time of one answer
	unsent    int           // ended sessions of this machine that the store does not know of
	unsentFor time.Duration // since the first of them ended
}

func (d *Doctor) examineServer(ctx context.Context) []Finding {
	db, err := postgres.Open(d.Server)
	if err != nil {
		return []Finding{d.fault(d.Config.StoreText, err)}
	}
	began, s := d.Now(), server{name: d.Config.StoreText, weak: d.WeakTLS}
	s.Condition, err = db.Condition(ctx)
	s.answers, s.ahead = d.Now().Sub(began), s.Now.Sub(began)
	var hosts []Finding
	if err == nil && s.Schema == s.Known {
		hosts, err = d.examineHosts(ctx, db, &s)
	}
	if err = cmp.Or(errors.Join(err, db.Close()), d.mistaken()); err != nil {
		return []Finding{d.fault(d.Config.StoreText, err)}
	}
	return append(s.judge(), hosts...)
}

// examineHosts looks at the fleet's other hosts, and at the sessions that this one has not delivered.
func (d *Doctor) examineHosts(ctx context.Context, db store.Store, s *server) ([]Finding, error) {
	hosts, now, err := db.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	standing, err := db.List(ctx, store.Listing{})
	if err != nil {
		return nil, err
	}
	own, folders, working := d.Self(), rundir.Folders{State: d.Config.State}, map[string]bool{}
	for _, r := range standing.Open {
		working[r.Host] = working[r.Host] || !r.StartedAt.IsZero()
		if end, err := folders.End(r.ID); err == nil && r.Host == own.ID {
			s.unsent++
			s.unsentFor = max(s.unsentFor, d.Now().Sub(end.EndedAt))
		}
	}
	if !slices.ContainsFunc(hosts, func(h fleet.Host) bool { return h.ID == own.ID }) {
		own.Version, own.Config = "", "" // it never fired: there is nothing to compare
	}
	return judgeHosts(hosts, own, working, now), nil
}

// judgeHosts compares the hosts with own, which describes this host now, not at its last fire. Working holds the hosts
// with open sessions.
func judgeHosts(hosts []fleet.Host, own fleet.Host, working map[string]bool, now time.Time) (list []Finding) {
	add := func(what, why, fix string) {
		list = append(list, Finding{Check: "hosts", State: Warning, What: what, Why: why, Fix: fix})
	}
	for _, h := range hosts {
		if h.ID == own.ID || h.Gone() {
			continue
		}
		if wrong := h.Trouble(working[h.ID], now); wrong != "" {
			add(fmt.Sprintf("host %s is %s: nothing was heard of it for %s", h.Name, wrong, plain.Span(now.Sub(h.HeardAt))),
				"its sessions keep their claims until these have expired", "look at it; if it is off for good: stint host gone "+fleet.ShellWord(h.Name))
		}
		if own.Version != "" && h.Version != own.Version {
			add(fmt.Sprintf("host %s has stint %s, and this one %s", h.Name, h.Version, own.Version),
				"one version may ignore what the other writes", "install one version on all hosts, then stint doctor")
		}
		if own.Config != "" && h.Config != "" && h.Config != own.Config {
			add(fmt.Sprintf("host %s has another stint.toml than this one", h.Name),
				"the hosts may rank and limit differently", "bring both to one commit; [host.NAME] holds what differs")
		}
		if ahead := time.Duration(h.Ahead) * time.Millisecond; ahead.Abs() > maxAhead {
			add(fmt.Sprintf("the clock of host %s was %s from the server's when it fired last", h.Name, ahead.Abs().Round(time.Second)),
				"leases go by the server's clock, and people read that host's", "let a time service set it")
		}
	}
	return list
}

const (
	oldestServer = 140000
	maxAhead     = 5 * time.Second // the margin of leases between two machines
	longUnsent   = 5 * time.Minute // a session retries until its lease ends, and then the next fire does
)

const ownRole = "connect as the fleet's role, which is neither: stint help hosts"

func (s server) version() string { return fmt.Sprintf("%d.%d", s.Version/10000, s.Version%10000) }

// judge judges a server that answers.
func (s server) judge() []Finding {
	const check = "store"
	list := []Finding{s.usable(check)}
	for _, f := range []struct {
		found bool
		state State
		what  string
		why   string
		fix   string
	}{
		{
			s.weak != "", Problem, "sslmode " + s.weak + " proves nothing of who the server is",
			"somebody in between could pose as the server and grant any claim", "write sslmode=verify-full, and sslrootcert if the authority is your own",
		},
		{
			s.Superuser, Warning, "the role " + s.Role + " is a superuser",
			"whoever reads its password, such as an agent in an open box, may do anything with the server", ownRole,
		},
		{
			s.Owner && !s.Superuser, Warning, "the role " + s.Role + " owns the fleet's schema",
			"whoever reads its password, such as an agent in an open box, may drop the whole record", ownRole,
		},
		{
			s.DeletesClaims && !s.Owner && !s.Superuser, Warning, "the role " + s.Role + " may delete claims",
			"a deleted epoch is granted again, and then proves nothing", "stint store migrate, as the owner of the schema, grants what is needed and no more",
		},
		{
			s.NoSync, Problem, "fsync is off",
			"after a power cut claims that were granted may be gone", "write fsync = on in postgresql.conf",
		},
		{
			s.NoFullPages, Problem, "full_page_writes is off",
			"after a power cut the record may be damaged", "write full_page_writes = on in postgresql.conf",
		},
		{
			s.Late > 0, Warning, fmt.Sprintf("%s may lack what was acknowledged", plain.Plural(s.Late, "standby server")),
			"a failover to one of them may lose writes that were acknowledged", "set synchronous_standby_names, with Patroni: synchronous_mode",
		},
		{
			s.Lineage.Reason() != "", Warning, s.Lineage.Reason() + ", on " + s.Lineage.Since.UTC().Format(time.DateOnly),
			"two sessions may have worked at one task until the first had its heartbeat", "stint help hosts has what prevents it: synchronous replication",
		},
		{
			s.ahead.Abs() > maxAhead, Warning, fmt.Sprintf("its clock is %s from this host's", s.ahead.Abs().Round(time.Second)),
			"leases go by the server's clock, and people read this host's", "let a time service set both",
		},
		{
			s.unsentFor > longUnsent, Warning, fmt.Sprintf("it does not know yet that %s ended here, the first %s ago", plain.Plural(s.unsent, "session"), plain.Span(s.unsentFor)),
			"their claims last until they expire, and their grades do not count yet", "stint reap delivers the results in the folders of the runs",
		},
		{
			s.Connections > 0 && s.Busy*10 > s.Connections*9, Warning, fmt.Sprintf("%d of its %d connections are in use", s.Busy, s.Connections),
			"without a free one no claim can be taken", "raise max_connections, or put a pooler before it",
		},
	} {
		if f.found {
			list = append(list, Finding{Check: check, State: f.state, What: f.what, Why: f.why, Fix: f.fix})
		}
	}
	return list
}

// usable judges whether the store can be used at all.
func (s server) usable(check string) Finding {
	bad := Finding{Check: check, State: Problem, Why: "no claim can be taken, and no session starts", Fix: "stint store migrate"}
	switch {
	case s.Version < oldestServer:
		bad.What, bad.Fix = "PostgreSQL "+s.version()+" is too old", "use version 14 or newer"
	case s.Standby && s.Writes:
		bad.What, bad.Fix = s.name+" is a standby", "name the primary, or all of them"
	case s.Schema == 0:
		bad.What = s.name + " has no schema of this fleet"
	case s.Schema < s.Known:
		bad.What = fmt.Sprintf("its schema is version %d, not %d yet", s.Schema, s.Known)
	case s.Compat > s.Known:
		bad.What = fmt.Sprintf("its schema is version %d, for programs that know %d or newer, and this one knows %d", s.Schema, s.Compat, s.Known)
		bad.Fix = "upgrade stint on this host"
	case !s.Writes:
		bad.State, bad.What = Warning, fmt.Sprintf("%s: the role %s only reads", s.name, s.Role)
		bad.Why, bad.Fix = "status, reports and pages work; no session starts from here", "for a host that is to work, connect as the fleet's role: stint help hosts"
	default:
		return ok(check, "%s: PostgreSQL %s, schema %d, answers in %d ms", s.name, s.version(), s.Schema, s.answers.Milliseconds())
	}
	return bad
}
