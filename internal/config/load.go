package config

import (
	"path/filepath"

	"stint/internal/bandit"
	"stint/internal/tomlfile"
)

// Options are what reading a file needs from elsewhere.
type Options struct {
	// CheckUnit checks one entry of a [category.NAME.unit]; its error may carry
	// a hint. nil accepts any.
	CheckUnit func(name string, value any) error
	// CheckWebhook checks the address of notices; its error may carry a hint. nil
	// accepts any.
	CheckWebhook func(address string) error
	// Getenv looks up the environment, for the default state folder. nil is an
	// empty environment.
	Getenv func(string) string
}

func (o Options) getenv(name string) string {
	if o.Getenv == nil {
		return ""
	}
	return o.Getenv(name)
}

func kind() tomlfile.Kind {
	return tomlfile.Kind{What: "config", Name: FileName, Write: "write one with: stint init", Again: "stint config check"}
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
	c := &Config{Path: file.Path, file: file}
	c.Selector.Settings = bandit.Defaults() // not all of them have a key
	root := file.Root()
	tomlfile.Read(root, c.keys(o))
	if c.State == "" && !root.Has("state") {
		root.Missing("state", `write state = "/var/lib/stint/`+string(c.Fleet)+`", as neither $XDG_STATE_HOME nor $HOME is set`)
	}
	c.divide()
	c.addDefaultPool()
	if !file.Has("tasks.dir") {
		c.Tasks.Dir = filepath.Join(c.Workspace, taskFormats(c.Tasks.Format).dir)
	}
	c.Tasks.addFormat()
	c.checkPools()
	c.checkBudgets()
	c.readSecrets(o.getenv)
	return c, file.Err()
}

// Text is the file's.
func (c *Config) Text() []byte { return c.file.Text() }

// Values are all settings in effect, in the order in which a file has them, with agents and
// categories by name.
func (c *Config) Values() []tomlfile.Value { return c.file.Values(c.keys(Options{})) }

// Schema is the JSON Schema of a file, for editors.
func Schema() tomlfile.Schema {
	return tomlfile.SchemaOf(FileName, "The work of one fleet of agent sessions, and its limits.", new(Config).keys(Options{}))
}
