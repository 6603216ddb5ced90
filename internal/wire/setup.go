package wire

import (
	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/store"
)

// Init is stint/init@1.
type Init struct {
	Schema  string     `json:"schema"`
	Fleet   fleet.Name `json:"fleet"`
	DryRun  bool       `json:"dry_run"`
	Changes []Change   `json:"changes"`
	Missing []string   `json:"missing"`
	Notes   []string   `json:"notes"` // choices that somebody may want to change
}

// Change is what became, or would become, of one file, folder or unit.
type Change struct {
	Path   string `json:"path"`
	Action string `json:"action"` // created, updated, kept, enabled
}

// NewInit is what init did, as JSON.
func NewInit(f fleet.Name, dryRun bool, changes []Change, missing, notes []string) Init {
	return Init{"stint/init@1", f, dryRun, listed(changes), listed(missing), listed(notes)}
}

// Store is stint/store@1.
type Store struct {
	Schema string   `json:"schema"`
	Store  string   `json:"store"`
	To     string   `json:"to"` // the store that it was copied to; empty: it was not
	DryRun bool     `json:"dry_run"`
	Steps  []Step   `json:"steps"`  // that were made
	Roles  []string `json:"roles"`  // SQL by which an administrator makes those that there are not
	Tables []Copied `json:"tables"` // that were copied
}

// Step is one thing that was done to the schema of a store.
type Step struct {
	Name string `json:"name"`
	SQL  string `json:"sql"`
}

// Copied is a table that was copied.
type Copied struct {
	Table string `json:"table"`
	Rows  int    `json:"rows"`
}

// NewMigration is what became of a store's schema, as JSON.
func NewMigration(name string, dryRun bool, steps []Step, roles []string) Store {
	return Store{"stint/store@1", name, "", dryRun, listed(steps), listed(roles), []Copied{}}
}

// NewCopy is what became of a store's rows, as JSON.
func NewCopy(name, to string, dryRun bool, tables []store.Copied) Store {
	return Store{"stint/store@1", name, to, dryRun, []Step{}, []string{}, each(tables, func(t store.Copied) Copied { return Copied(t) })}
}

// Uninstall is stint/uninstall@1.
type Uninstall struct {
	Schema  string     `json:"schema"`
	Fleet   fleet.Name `json:"fleet"`
	DryRun  bool       `json:"dry_run"`
	Changes []Change   `json:"changes"`
	Running []string   `json:"running"` // the runs of sessions at work on this host, which go on
}

// NewUninstall is what uninstall did, as JSON.
func NewUninstall(f fleet.Name, dryRun bool, changes []Change, running []fleet.Run) Uninstall {
	ids := plain.Each(running, func(r fleet.Run) string { return string(r.ID) })
	return Uninstall{"stint/uninstall@1", f, dryRun, listed(changes), listed(ids)}
}

// ConfigCheck is stint/config-check@1.
type ConfigCheck struct {
	Schema   string    `json:"schema"`
	Path     string    `json:"path"`
	Warnings []Problem `json:"warnings"`
}

// Problem is what is allowed in a configuration, but odd.
type Problem struct {
	Position string `json:"position"`
	Text     string `json:"text"`
}

// NewConfigCheck is what was found of a configuration, as JSON.
func NewConfigCheck(path string, warnings []config.Problem) ConfigCheck {
	return ConfigCheck{"stint/config-check@1", path, each(warnings, func(p config.Problem) Problem { return Problem{p.Pos, p.Text} })}
}

// Config is stint/config@1.
type Config struct {
	Schema string  `json:"schema"`
	Path   string  `json:"path"`
	Values []Value `json:"values"`
}

// Value is a configuration key's value in force.
type Value struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// ConfigTrust is stint/config-trust@1.
type ConfigTrust struct {
	Schema  string        `json:"schema"`
	Path    string        `json:"path"`
	Changes []TrustChange `json:"changes"` // what was confirmed
}

// TrustChange is a file that has changed since it was confirmed.
type TrustChange struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
	Diff   string `json:"diff"` // empty: it holds secrets
}

// NewConfigTrust is a confirmation of no change.
func NewConfigTrust(path string) ConfigTrust {
	return ConfigTrust{Schema: "stint/config-trust@1", Path: path, Changes: []TrustChange{}}
}

// NewConfig is a configuration as JSON.
func NewConfig(c *config.Config) Config {
	return Config{"stint/config@1", c.Path, each(c.Values(), func(v config.Value) Value { return Value(v) })}
}
