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
		"postgres":              {Kind: config.Postgres, Service: "own"},
		"postgres:service=main": {Kind: config.Postgres, Service: "main"},

		// On this machine nobody sits between.
		"postgres:///stint?host=/run/postgresql": {Kind: config.Postgres, URL: "postgres:///stint?host=/run/postgresql"},
		"postgres://localhost:5433/stint":        {Kind: config.Postgres, URL: "postgres://localhost:5433/stint"},
		"postgres://me@127.0.0.1/stint":          {Kind: config.Postgres, URL: "postgres://me@127.0.0.1/stint"},
		"postgres://[::1]:5432/stint":            {Kind: config.Postgres, URL: "postgres://[::1]:5432/stint"},

		"postgres://db/stint": {Kind: config.Postgres, URL: "postgres://db/stint?sslmode=verify-full"},
		"postgresql://me@h1:5432,h2:5433/stint?target_session_attrs=read-write": {
			Kind: config.Postgres, URL: "postgresql://me@h1:5432,h2:5433/stint?sslmode=verify-full&target_session_attrs=read-write",
		},
		"postgres://localhost,db/stint":            {Kind: config.Postgres, URL: "postgres://localhost,db/stint?sslmode=verify-full"},
		"postgres:///stint?host=db.example.org":    {Kind: config.Postgres, URL: "postgres:///stint?host=db.example.org&sslmode=verify-full"},
		"postgres://db/stint?sslmode=verify-full":  {Kind: config.Postgres, URL: "postgres://db/stint?sslmode=verify-full"},
		"postgres://db/stint?sslmode=require":      {Kind: config.Postgres, URL: "postgres://db/stint?sslmode=require", WeakTLS: "require"},
		"postgres://[fe80::1]/stint?sslmode=allow": {Kind: config.Postgres, URL: "postgres://[fe80::1]/stint?sslmode=allow", WeakTLS: "allow"},
		"postgres://127.0.0.1/stint?sslmode=allow": {Kind: config.Postgres, URL: "postgres://127.0.0.1/stint?sslmode=allow"},
	} {
		want.Text = text
		got, err := config.ParseStore(text, "own")
		if diff := cmp.Diff(got, want); err != nil || diff != "" {
			t.Errorf("%s: %v (-got +want):\n%s", text, err, diff)
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
		"postgres:service=x password=hush":       password,
		"postgres://me:hu#sh@db/stint":           "that is no address of a database",
		"postgres://db/stint?x=%zz":              "after the ? it has no list of settings",
		"postgres://db/stint?sslmode=verify-ful": `there is no sslmode "verify-ful"`,
	} {
		_, err := config.ParseStore(text, "own")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want: %s", text, err, want)
			continue
		}
		if said := err.Error() + fleet.Hint(err); strings.Contains(said, "hush") || strings.Contains(said, "hu#") {
			t.Errorf("%s: the error quotes the password: %s", text, said)
		}
	}
}
