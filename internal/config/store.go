package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"stint/internal/fleet"
	"stint/internal/tomlfile"
)

// StoreKind is what keeps claims and runs.
type StoreKind string

const (
	SQLite   StoreKind = "sqlite"   // a file in the state folder, of one machine
	Postgres StoreKind = "postgres" // a server, which many machines share
)

// Store is where claims and runs are kept, and how its driver gets there. It has no password:
// drivers find those where libpq does.
type Store struct {
	Kind    StoreKind
	Service string // the section of the service file that says where the server is; empty: URL says so
	URL     string // with an sslmode, if it leads beyond this machine
	WeakTLS string // the sslmode that lets another pose as the server; empty: none could
	Text    string // as the file has it
}

// DSN is what a driver of PostgreSQL connects by.
func (s Store) DSN() string {
	if s.URL != "" {
		return s.URL
	}
	return "service=" + s.Service
}

// Shared reports whether other machines may use the store, too.
func (s Store) Shared() bool { return s.Kind == Postgres }

// ParseStore reads the value of the key store. The service is the one where the value names none.
func ParseStore(text, service string) (Store, error) {
	scheme, rest, _ := strings.Cut(text, ":")
	named, isService := strings.CutPrefix(rest, "service=")
	switch {
	case strings.Contains(strings.ToLower(text), "password="): // of the server, or of a certificate's key
		return Store{}, errPassword()
	case text == string(SQLite):
		return Store{Kind: SQLite, Text: text}, nil
	case text == string(Postgres):
		return Store{Kind: Postgres, Service: service, Text: text}, nil
	case scheme == string(Postgres) && isService && named != "" && !strings.ContainsAny(named, " \t\n]"):
		return Store{Kind: Postgres, Service: named, Text: text}, nil
	case (scheme == string(Postgres) || scheme == "postgresql") && strings.HasPrefix(rest, "//"):
		return parseURL(text)
	}
	if strings.Contains(text, "@") { // there may be a password before it
		text = scheme + ":…"
	}
	return Store{}, tomlfile.Wanted(`"sqlite", "postgres", "postgres:service=NAME" or "postgres://HOST/DATABASE"`, text)
}

// parseURL quotes nothing of what it refuses, as a part of a password may be in it.
func parseURL(text string) (Store, error) {
	address, err := url.Parse(text)
	if err != nil {
		return Store{}, fleet.WithHint(errors.New("that is no address of a database"), `write it like "postgres://host1,host2:5433/stint?target_session_attrs=read-write"`)
	}
	if _, has := address.User.Password(); has {
		return Store{}, errPassword()
	}
	query, err := url.ParseQuery(address.RawQuery)
	if err != nil {
		return Store{}, fleet.WithHint(errors.New("after the ? it has no list of settings"), `write them like "?sslmode=verify-full&connect_timeout=5"`)
	}
	mode := query.Get("sslmode")
	if modes := []string{"disable", "allow", "prefer", "require", "verify-ca", verifyFull}; mode != "" && !slices.Contains(modes, mode) {
		return Store{}, fleet.WithHint(fmt.Errorf("there is no sslmode %s", tomlfile.Describe(mode)), tomlfile.Meant(mode, modes))
	}
	s := Store{Kind: Postgres, URL: text, Text: text}
	use, weak := SSLMode(append(strings.Split(address.Host, ","), strings.Split(query.Get("host"), ",")...), mode)
	if weak {
		s.WeakTLS = use
	}
	if use != mode {
		query.Set("sslmode", use)
		address.RawQuery = query.Encode()
		s.URL = address.String()
	}
	return s, nil
}

const verifyFull = "verify-full"

// SSLMode is the one to use with servers, and whether it is too weak for them: somebody between
// could pose as one that is not on this machine. A server is a name, an address or the
// folder of a socket, and may have a port; one without a name is a socket.
func SSLMode(servers []string, given string) (use string, weak bool) {
	if !slices.ContainsFunc(servers, remote) {
		return given, false
	}
	use = cmp.Or(given, verifyFull)
	return use, use != verifyFull
}

func remote(server string) bool {
	name := server
	if host, _, err := net.SplitHostPort(server); err == nil {
		name = host
	}
	if name == "" || name == "localhost" || strings.HasPrefix(name, "/") || strings.HasPrefix(name, "@") {
		return false
	}
	ip, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return err != nil || !ip.IsLoopback()
}

func errPassword() error {
	return fleet.WithHint(errors.New("a password in this file can be read by every session"),
		"write it into ~/.pgpass, or the file that PGPASSFILE or the service file's passfile names, such as one that the units get by LoadCredential=; a client certificate needs none")
}

// Service is the section of the service file that "postgres" alone means.
func Service(getenv func(string) string, name fleet.Name) string {
	return cmp.Or(getenv("PGSERVICE"), "stint_"+string(name))
}

// storeRule is that of the key store. The name of the fleet is read before it.
func (c *Config) storeRule(o Options) tomlfile.Rule[Store] {
	return tomlfile.Rule[Store]{
		Parse: func(value any) (Store, error) {
			text, is := value.(string)
			if !is {
				return Store{}, tomlfile.Wanted("a string", value)
			}
			return ParseStore(text, Service(o.getenv, c.Fleet))
		},
		Suggest: func(any, Store) any { return string(SQLite) },
		Write:   func(s Store) any { return s.Text },
		Schema: func() tomlfile.Schema {
			return tomlfile.Schema{"type": "string", "pattern": `^(sqlite|postgres|postgres:service=[^\s\]]+|postgres(ql)?://.*)$`}
		},
	}
}
