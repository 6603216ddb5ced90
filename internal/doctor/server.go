package doctor

import (
	"fmt"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Server is what a PostgreSQL server says of itself, to a fleet on many machines.
type Server struct {
	Name        string // of the store, as the configuration has it
	Version     int    // of PostgreSQL, such as 150018
	Schema      int    // of the fleet: its version; 0: there is none
	Compat      int    // the oldest program that may use it, by the version that it knows
	Latest      int    // version of the schema that this program writes
	Standby     bool
	Role        string        // that is connected
	Weak        string        // the sslmode that lets another pose as the server; empty: none could
	Superuser   bool          // the role may do anything
	Owner       bool          // it owns the schema
	Deletes     bool          // it may delete claims
	Writes      bool          // it may
	Connections int           // that the server has room for
	Busy        int           // of these
	NoSync      bool          // fsync is off
	NoFullPages bool          // full_page_writes is off
	Late        int           // standbys that may lack what was acknowledged
	Ahead       time.Duration // of this machine's clock, the server's
	Lineage     fleet.Lineage
	Answers     time.Duration // in which it was asked
	Hosts       []Host        // of the fleet
	Unsent      int           // sessions of this machine that ended, of which the store has not heard
	UnsentFor   time.Duration // since the first of them ended
}

// Host is a machine of the fleet, as far as the store knows it.
type Host struct {
	fleet.Host
	Here    bool
	Working bool          // a session of it is open
	Unheard time.Duration // for which nothing was heard of it, by the server's clock
}

// examineHosts looks at the other machines of the fleet.
func examineHosts(hosts []Host) (list []Finding) {
	const check = "hosts"
	var here fleet.Host
	for _, h := range hosts {
		if h.Here {
			here = h.Host
		}
	}
	add := func(what, why, fix string) {
		list = append(list, Finding{Check: check, State: Warning, What: what, Why: why, Fix: fix})
	}
	for _, h := range hosts {
		if h.Here || h.Gone() {
			continue
		}
		if wrong := h.Trouble(h.Working, h.HeardAt.Add(h.Unheard)); wrong != "" {
			add(fmt.Sprintf("host %s is %s: nothing was heard of it for %s", h.Name, wrong, plain.Span(h.Unheard)),
				"its sessions keep their claims until these have expired", "look at it; if it is off for good: stint host gone "+fleet.ShellWord(h.Name))
		}
		if here.Version != "" && h.Version != here.Version {
			add(fmt.Sprintf("host %s has stint %s, and this one %s", h.Name, h.Version, here.Version),
				"what one version knows the other may ignore", "install one version on all hosts, then stint store check")
		}
		if here.Config != "" && h.Config != "" && h.Config != here.Config {
			add(fmt.Sprintf("host %s has another stint.toml than this one", h.Name),
				"what the one ranks or bounds the other may not", "bring both to one commit; what is to differ belongs into [host.NAME]")
		}
		if ahead := time.Duration(h.Ahead) * time.Millisecond; ahead.Abs() > mostAhead {
			add(fmt.Sprintf("the clock of host %s was %s from the server's when it fired last", h.Name, ahead.Abs().Round(time.Second)),
				"leases go by the server's clock, and people read that host's", "let a time service set it")
		}
	}
	return list
}

const (
	oldestServer = 140000
	mostAhead    = 5 * time.Second // as much as leases leave between two machines
	longUnsent   = 5 * time.Minute // a session tries as long as its lease lasts, and then the next fire does
)

const ownRole = "connect as the fleet's role, which is neither: stint help hosts"

func (s Server) version() string { return fmt.Sprintf("%d.%d", s.Version/10000, s.Version%10000) }

// examineServer looks at a server that answers.
func examineServer(s Server) []Finding {
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
			s.Weak != "", Problem, "sslmode " + s.Weak + " proves nothing of who the server is",
			"somebody between could pose as it and grant any claim", "write sslmode=verify-full, and sslrootcert where the authority is the house's own",
		},
		{
			s.Superuser, Warning, "the role " + s.Role + " is a superuser",
			"what reads its password, such as an agent in an open box, may do anything with the server", ownRole,
		},
		{
			s.Owner && !s.Superuser, Warning, "the role " + s.Role + " owns the fleet's schema",
			"what reads its password, such as an agent in an open box, may drop the whole record", ownRole,
		},
		{
			s.Deletes && !s.Owner && !s.Superuser, Warning, "the role " + s.Role + " may delete claims",
			"an epoch that was deleted is granted once more, and proves nothing", "stint store migrate, as the owner of the schema, grants what is needed and no more",
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
			s.Ahead.Abs() > mostAhead, Warning, fmt.Sprintf("its clock is %s from this host's", s.Ahead.Abs().Round(time.Second)),
			"leases go by the server's clock, and people read this host's", "let a time service set both",
		},
		{
			s.UnsentFor > longUnsent, Warning, fmt.Sprintf("it has not heard that %s ended here, the first %s ago", plain.Plural(s.Unsent, "session"), plain.Span(s.UnsentFor)),
			"their claims last until they expire, and their grades do not count yet", "stint reap delivers what is written down in the folders of the runs",
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

// usable is whether the store can be used at all.
func (s Server) usable(check string) Finding {
	bad := Finding{Check: check, State: Problem, Why: "no claim can be taken, and no session starts", Fix: "stint store migrate"}
	switch {
	case s.Version < oldestServer:
		bad.What, bad.Fix = "PostgreSQL "+s.version()+" is too old", "use version 14 or newer"
	case s.Standby && s.Writes:
		bad.What, bad.Fix = s.Name+" is a standby", "name the primary, or all of them"
	case s.Schema == 0:
		bad.What = s.Name + " has no schema of this fleet"
	case s.Schema < s.Latest:
		bad.What = fmt.Sprintf("its schema is version %d, not %d yet", s.Schema, s.Latest)
	case s.Compat > s.Latest:
		bad.What = fmt.Sprintf("its schema is version %d, for programs that know %d or newer, and this one knows %d", s.Schema, s.Compat, s.Latest)
		bad.Fix = "upgrade stint on this host"
	case !s.Writes:
		bad.State, bad.What = Warning, fmt.Sprintf("%s: the role %s only reads", s.Name, s.Role)
		bad.Why, bad.Fix = "status, reports and pages work; no session starts from here", "for a host that is to work, connect as the fleet's role: stint help hosts"
	default:
		return ok(check, "%s: PostgreSQL %s, schema %d, answers in %d ms", s.Name, s.version(), s.Schema, s.Answers.Milliseconds())
	}
	return bad
}
