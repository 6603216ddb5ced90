package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"stint/internal/bandit"
	"stint/internal/tomlfile"
)

// Options are what reading a file needs from elsewhere.
type Options struct {
	// CheckUnit checks one entry of a [category.NAME.unit]; its error may carry
	// a hint. nil accepts any.
	CheckUnit func(name string, value any) error
	// Getenv looks up the environment, for the default state folder. nil is an
	// empty environment.
	Getenv func(string) string
	// Host is the name of this machine, by the identity that a state folder has: by none of the
	// empty path. nil: it has no name, and no section of a host holds.
	Host func(state string) string
}

func (o Options) host(state string) string {
	if o.Host == nil {
		return ""
	}
	return o.Host(state)
}

func (o Options) getenv(name string) string {
	if o.Getenv == nil {
		return ""
	}
	return o.Getenv(name)
}

func kind() tomlfile.Kind {
	return tomlfile.Kind{What: "config", Name: FileName, Write: "write one with: stint init", Again: "stint config check", Removed: replaced}
}

// replaced says what to write for a key of former versions.
func replaced(key string) string {
	parts := strings.Split(key, ".")
	if len(parts) >= 3 && parts[0] == "category" {
		parts[1] = "NAME"
	}
	if len(parts) == 4 && parts[0] == "tasks" {
		parts[2] = "NAME"
	}
	const timeout, variables = `write timeout = "1m" under [commands]`, `write pass_environment under [commands]`
	return map[string]string{
		"selector.timeout": timeout, "notice.timeout": timeout, "category.NAME.wip.timeout": timeout, "tasks.source.NAME.timeout": timeout,
		"review.publish_timeout": timeout, "review.outcome_timeout": timeout, "review.feedback_timeout": timeout,
		"fanout.max_pivots":            "remove it: a worker tries two other categories",
		"category.NAME.grader_timeout": "write check_timeout: it holds for both",
		"selector.pass_environment":    variables, "notice.pass_environment": variables, "review.pass_environment": variables,
		"tasks.pass_environment": variables, "category.NAME.wip.pass_environment": variables,
		"worktrees":              `write worktrees = "7d" under [keep]`,
		"runs":                   `write files = "30d" under [keep]`,
		"record":                 `write record = "400d" under [keep]`,
		"category.NAME.parallel": "remove it, and list the categories that fires start: allow = [\"code\"] under [fanout]",
	}[strings.Join(parts, ".")]
}

// Load reads the file at path. Every error is a [fleet.ErrUsage] with a hint. A file that is
// not TOML is reported at its first fault, any other with its first twenty, in its order, each
// with line and column.
func Load(path string, o Options) (*Config, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, tomlfile.Usagef("name the file by its absolute path", "read config: %w", err)
	}
	file, err := tomlfile.Load(path, kind())
	if err != nil {
		return nil, err
	}
	return of(file, o)
}

// Parse reads a configuration's text as if it stood in the file path, which must be
// absolute.
func Parse(path string, data []byte, o Options) (*Config, error) {
	file, err := tomlfile.Parse(path, data, kind())
	if err != nil {
		return nil, err
	}
	return of(file, o)
}

func of(file *tomlfile.File, o Options) (*Config, error) {
	name := o.host("")
	if file.Has("host") { // the identity, which may have another name, is where the section of this one says
		name = o.host(read(file.Unread(), o, name).State)
	}
	c := read(file, o, name)
	c.Host.Name = o.host(c.State)
	if c.Host.Name != name && file.Has("host") {
		file.Report(tomlfile.Dotted("host", name, "state"), fmt.Errorf("the state folder of host %s is another: its hostname is %s", name, o.host("")),
			"rename the section, or give the machine its name back")
	}
	c.leaveOutAgents()
	c.divide()
	c.addDefaultPool()
	c.checkPools()
	c.checkBudgets()
	c.readSecrets(o.getenv)
	return c, file.Err()
}

// read reads the file for the host of a name.
func read(file *tomlfile.File, o Options, host string) *Config {
	c := &Config{Path: file.Path, Host: Host{Name: host}, file: file}
	c.Selector.Settings = bandit.Defaults() // not all of them have a key
	c.keyList = c.keys(o)
	root := file.Root()
	tomlfile.Read(root, c.keyList)
	if c.State == "" && !root.Has("state") {
		root.Missing("state", `write state = "/var/lib/stint/`+string(c.Fleet)+`", as neither $XDG_STATE_HOME nor $HOME is set`)
	}
	if !file.Has("tasks.dir") {
		c.Tasks.Dir = filepath.Join(c.Workspace, taskFormats(c.Tasks.Format).dir)
	}
	c.Tasks.addFormat()
	return c
}

// Text is the file's.
func (c *Config) Text() []byte { return c.file.Text() }

// Values are all settings in effect, in the order in which a file has them, with agents and
// categories by name.
func (c *Config) Values() []tomlfile.Value { return c.file.Values(c.keyList) }

// Schema is the JSON Schema of a file, for editors.
func Schema() tomlfile.Schema {
	return tomlfile.SchemaOf(FileName, "The work of one fleet of agent sessions, and its limits.", new(Config).keys(Options{}))
}
