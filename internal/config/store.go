package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"stint/internal/fleet"
)

// StoreKind is a kind of database for claims and runs.
type StoreKind string

const (
	SQLite   StoreKind = "sqlite"   // a file in the state folder, of one machine
	Postgres StoreKind = "postgres" // a server, which many machines share
)

// Store names the database of claims and runs, and has the settings of its driver. It has no password:
// drivers find those where libpq does.
type Store struct {
	Kind    StoreKind
	DSN     string // for the driver, as libpq has them
	Service string // the section of the service file that says the rest: see [Store.With]; empty: none does
	WeakTLS string // the sslmode that lets another pose as the server; empty: none could
}

// Shared reports whether other machines may use the store, too.
func (s Store) Shared() bool { return s.Kind == Postgres }

// ParseStore reads the value of the key store of a fleet.
func ParseStore(text string, f fleet.Name, getenv func(string) string) (Store, error) {
	scheme, rest, _ := strings.Cut(text, ":")
	named, isService := strings.CutPrefix(rest, "service=")
	s := Store{Kind: Postgres}
	switch {
	case strings.Contains(strings.ToLower(text), "password="): // of the server, or of a certificate's key
		return Store{}, errPassword()
	case text == string(SQLite):
		s.Kind = SQLite
		return s, nil
	case text == string(Postgres):
		return s.of(cmp.Or(getenv("PGSERVICE"), "stint_"+string(f))), nil
	case scheme == string(Postgres) && isService && named != "" && !strings.ContainsAny(named, " \t\n'\\]"):
		return s.of(named), nil
	case (scheme == string(Postgres) || scheme == "postgresql") && strings.HasPrefix(rest, "//"):
		return s.at(text, getenv)
	}
	if strings.Contains(text, "@") { // there may be a password before it
		text = scheme + ":…"
	}
	return Store{}, wanted(`"sqlite", "postgres", "postgres:service=NAME" or "postgres://HOST/DATABASE"`, text)
}

func (s Store) of(service string) Store {
	s.Service, s.DSN = service, "service="+service
	return s
}

// With adds what follows from the section of the service file, which the driver reads, too.
func (s Store) With(section map[string]string) Store {
	given := section["sslmode"]
	mode, weak := SSLMode(strings.Split(section["host"], ","), given)
	if weak {
		s.WeakTLS = mode
	}
	if mode != given {
		s.DSN += " sslmode=" + mode
	}
	return s
}

// at reads an address. It quotes nothing of what it refuses, as a part of a password may be in it.
func (s Store) at(text string, getenv func(string) string) (Store, error) {
	address, err := url.Parse(text)
	if err != nil {
		return Store{}, fleet.WithHint(errors.New("that is no address of a database"), `write it like "postgres://host1,host2:5433/stint"`)
	}
	if _, has := address.User.Password(); has {
		return Store{}, errPassword()
	}
	query, err := url.ParseQuery(address.RawQuery)
	if err != nil {
		return Store{}, fleet.WithHint(errors.New("after the ? it has no list of settings"), `write them like "?sslmode=verify-full&connect_timeout=5"`)
	}
	if query.Has("password") || query.Has("sslpassword") { // in other letters
		return Store{}, errPassword()
	}
	given := query.Get("sslmode")
	if modes := []string{"disable", "allow", "prefer", "require", "verify-ca", verifyFull}; given != "" && !slices.Contains(modes, given) {
		return Store{}, fleet.WithHint(fmt.Errorf("there is no sslmode %s", describe(given)), meant(given, modes))
	}
	mode, weak := SSLMode(append(strings.Split(address.Host, ","), strings.Split(query.Get("host"), ",")...), given)
	if weak {
		s.WeakTLS = mode
	}
	if mode != "" {
		query.Set("sslmode", mode)
	}
	for name := range query { // files that a unit loads; a person has none, and the driver's own places count
		if file, is := strings.CutPrefix(query.Get(name), credentialPrefix); is {
			query.Del(name)
			if folder := getenv("CREDENTIALS_DIRECTORY"); folder != "" {
				query.Set(name, filepath.Join(folder, file))
			}
		}
	}
	address.RawQuery = query.Encode()
	s.DSN = address.String()
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
		"write it into ~/.pgpass, or the file that PGPASSFILE or the service file's passfile names, or with passfile=credential:NAME a unit's LoadCredential=; a client certificate needs none")
}
