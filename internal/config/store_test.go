package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stint/internal/config"
	"stint/internal/fleet"
)

func TestParseStore(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]config.Store{
		"sqlite":                {Kind: config.SQLite},
		"postgres":              {Kind: config.Postgres, Service: "stint_bob", DSN: "service=stint_bob"},
		"postgres:service=main": {Kind: config.Postgres, Service: "main", DSN: "service=main"},

		// On this machine nobody sits between.
		"postgres:///stint?host=/run/postgresql": {Kind: config.Postgres, DSN: "postgres:///stint?host=%2Frun%2Fpostgresql"},
		"postgres://localhost:5433/stint":        {Kind: config.Postgres, DSN: "postgres://localhost:5433/stint"},
		"postgres://me@127.0.0.1/stint":          {Kind: config.Postgres, DSN: "postgres://me@127.0.0.1/stint"},
		"postgres://[::1]:5432/stint":            {Kind: config.Postgres, DSN: "postgres://[::1]:5432/stint"},

		"postgres://db/stint": {Kind: config.Postgres, DSN: "postgres://db/stint?sslmode=verify-full"},
		"postgresql://me@h1:5432,h2:5433/stint?target_session_attrs=read-write": {
			Kind: config.Postgres, DSN: "postgresql://me@h1:5432,h2:5433/stint?sslmode=verify-full&target_session_attrs=read-write",
		},
		"postgres://localhost,db/stint":            {Kind: config.Postgres, DSN: "postgres://localhost,db/stint?sslmode=verify-full"},
		"postgres:///stint?host=db.example.org":    {Kind: config.Postgres, DSN: "postgres:///stint?host=db.example.org&sslmode=verify-full"},
		"postgres://db/stint?sslmode=verify-full":  {Kind: config.Postgres, DSN: "postgres://db/stint?sslmode=verify-full"},
		"postgres://db/stint?sslmode=require":      {Kind: config.Postgres, DSN: "postgres://db/stint?sslmode=require", WeakTLS: "require"},
		"postgres://[fe80::1]/stint?sslmode=allow": {Kind: config.Postgres, DSN: "postgres://[fe80::1]/stint?sslmode=allow", WeakTLS: "allow"},
		"postgres://127.0.0.1/stint?sslmode=allow": {Kind: config.Postgres, DSN: "postgres://127.0.0.1/stint?sslmode=allow"},
	} {

		got, err := config.ParseStore(text, "bob", environment())
		if diff := cmp.Diff(got, want); err != nil || diff != "" {
			t.Errorf("%s: %v (-got +want):\n%s", text, err, diff)
		}
	}
}

// TestStoreOfAnEnvironment has a variable name the service, and a unit load a file.
func TestStoreOfAnEnvironment(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"postgres":              "service=other",
		"postgres:service=main": "service=main",
		"postgres://localhost/stint?passfile=credential:pg": "postgres://localhost/stint?passfile=%2Frun%2Fc%2Fpg",
	} {
		s, err := config.ParseStore(text, "bob", environment("PGSERVICE", "other", "CREDENTIALS_DIRECTORY", "/run/c"))
		if err != nil || s.DSN != want {
			t.Errorf("%s: got %s, %v, want %s", text, s.DSN, err, want)
		}
	}
	s, err := config.ParseStore("postgres://localhost/stint?passfile=credential:pg", "bob", environment())
	if err != nil || s.DSN != "postgres://localhost/stint" {
		t.Errorf("of a person: got %s, %v", s.DSN, err)
	}
}

// TestStoreOfAService has the section of the service file say what the address does not.
func TestStoreOfAService(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ host, mode, dsn, weak string }{
		{"", "", "service=main", ""},
		{"/run/postgresql", "", "service=main", ""},
		{"db", "", "service=main sslmode=verify-full", ""},
		{"localhost,db", "", "service=main sslmode=verify-full", ""},
		{"db", "verify-full", "service=main", ""},
		{"db", "verify-ca", "service=main", "verify-ca"},
	} {
		s, err := config.ParseStore("postgres:service=main", "bob", environment())
		if s = s.With(map[string]string{"host": test.host, "sslmode": test.mode}); err != nil || s.DSN != test.dsn || s.WeakTLS != test.weak {
			t.Errorf("%v: got %+v, %v", test, s, err)
		}
	}
}

func TestParseStoreRefuses(t *testing.T) {
	t.Parallel()
	const password = "a password in this file can be read by every session"
	for text, want := range map[string]string{
		"":                                       `not ""`,
		"postgres:":                              `not "postgres:"`,
		"postgres:service=":                      `not "postgres:service="`,
		"postgres:service=a b":                   `not "postgres:service=a b"`,
		"postgres:main":                          `not "postgres:main"`,
		"mysql://me:hush@db/stint":               `not "mysql:…"`,
		"postgres://me:hush@db/stint":            password,
		"postgres://me:@db/stint":                password,
		"postgres://db/stint?password=hush":      password,
		"postgres://db/stint?a=b&Password=hush":  password,
		"postgres://db/stint?sslpassword=hush":   password,
		"postgres://db/stint?%70assword=hush":    password,
		"postgres:service=x password=hush":       password,
		"postgres://me:hu#sh@db/stint":           "that is no address of a database",
		"postgres://db/stint?x=%zz":              "after the ? it has no list of settings",
		"postgres://db/stint?sslmode=verify-ful": `there is no sslmode "verify-ful"`,
	} {
		_, err := config.ParseStore(text, "bob", environment())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want: %s", text, err, want)
			continue
		}
		if said := err.Error() + fleet.Hint(err); strings.Contains(said, "hush") || strings.Contains(said, "hu#") {
			t.Errorf("%s: the error quotes the password: %s", text, said)
		}
	}
}
