package config

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"stint/internal/agent/preset"
	"stint/internal/fleet"
)

// Options are the inputs of a reading beside the file.
type Options struct {
	// CheckUnit checks one entry of a [category.NAME.unit]. Its error may carry a hint,
	// and says no "wrong usage": each fault of a file is one. nil accepts any.
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

func (o Options) checkUnit(name string, value any) error {
	if o.CheckUnit == nil {
		return nil
	}
	return o.CheckUnit(name, value)
}

// Load reads the file at path. Every error is a [fleet.ErrUsage] with a hint. A file that is
// not TOML is reported at its first fault, any other with its first twenty, in its order, each
// with line and column.
func Load(path string, o Options) (*Config, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, usagef("name the file by its absolute path", "read config: %w", err)
	}
	data, err := read(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data, o)
}

// Parse reads a configuration's text as if it stood in the file path, which must be
// absolute.
func Parse(path string, data []byte, o Options) (*Config, error) {
	f, err := newFile(path, data)
	if err != nil {
		return nil, err
	}
	c := &Config{Path: f.Path, file: f}
	d := decoder{f, map[string]any{}}
	d.table("", reflect.ValueOf(c).Elem(), f.tree)
	if !f.Has("state") {
		c.State = DefaultState(o.getenv, c.Fleet)
	}
	c.findHost(o)
	if c.State == "" && !f.Has("state") {
		f.missing("", "state", `write state = "/var/lib/stint/`+string(c.Fleet)+`", as neither $XDG_STATE_HOME nor $HOME is set`)
	}
	c.findStore(o)
	c.findPaths()
	c.fillAgents(o)
	c.addDefaultPool()
	c.fillCategories(o)
	c.fillPrices()
	c.checkBudgets()
	for i, credential := range c.Credentials {
		if err := o.checkUnit("LoadCredential", credential); err != nil {
			f.Report(element("credentials", i), err, `write it like "pgpass:/home/me/pgpass"`)
		}
	}
	c.readSecrets(o.getenv)
	return c, f.Err()
}

func (c *Config) findStore(o Options) {
	var err error
	if c.Store, err = ParseStore(c.StoreText, c.Fleet, o.getenv); err != nil {
		c.file.Report("store", err, `write store = "sqlite"`)
	}
}

// findPaths makes relative paths absolute, by the folder that each counts from.
func (c *Config) findPaths() {
	from := func(folder string, path *string) {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(folder, *path)
		}
	}
	from(filepath.Dir(c.Path), &c.Workspace)
	if !c.file.Has("tasks.dir") {
		c.Tasks.Dir = taskFormats(c.Tasks.Format).dir
	}
	from(c.Workspace, &c.Tasks.Dir)
	from(c.Workspace, &c.Lessons.Dir)
	for name, category := range c.Categories {
		from(filepath.Dir(c.Path), &category.Prompt)
		c.Categories[name] = category
	}
}

// fillAgents sets what an agent has by its other keys.
func (c *Config) fillAgents(o Options) {
	for name, a := range c.Agents {
		key := dotted("agent", name)
		if at := key + ".cli"; c.file.Has(at) {
			var err error
			if a.CLI, err = preset.Parse(a.Table); err != nil {
				c.file.Report(at, err, cmp.Or(fleet.Hint(err), "see the tables of the presets: stint config show --defaults"))
			}
		}
		switch given := c.file.Has(dotted("agent", name, "command")); {
		case given:
		case len(a.Command) == 0:
			c.file.missing(key, key+".command", `write preset = "claude", or the command of your own: command = ["my-agent"]`)
		case a.Box == fleet.BoxOpen && len(a.CLI.Sandbox.Command) > 0: // it makes the sandbox that it has itself
			a.Command = a.CLI.Sandbox.Command
		}
		for _, paths := range [][]string{a.Read, a.Write} {
			for i, path := range paths {
				if paths[i] = preset.Home(path, cmp.Or(a.Environment["HOME"], o.getenv("HOME"))); paths[i] == "" {
					c.file.Report(key, fmt.Errorf("%s: the home folder is not known", path), "write its own path")
				}
			}
		}
		c.Agents[name] = a
	}
}

// fillCategories sets what categories have by other keys, and what is chosen among them.
func (c *Config) fillCategories(o Options) {
	for name, category := range c.Categories {
		key := dotted("category", string(name))
		switch given := c.file.Has(key + ".agents"); {
		case given:
		case len(c.Agents) > 1:
			c.file.missing(key, key+".agents", "say which of the agents may work on it: write agents = "+Literal(c.AgentNames()))
		default:
			category.Agents = c.AgentNames()
		}
		for property, value := range category.Unit {
			if err := o.checkUnit(property, value); err != nil {
				c.file.Report(under(key+".unit", property), err, "see man systemd.resource-control")
			}
		}
		c.Categories[name] = category
	}
	c.leaveOutAgents()
	c.divide()
	if !c.file.Has("fanout.allow") {
		c.Fanout.Allow = c.CategoryNames()
	}
	if !c.file.Has("tasks.default_category") {
		c.Tasks.DefaultCategory = c.firstCategory()
	}
	if !c.file.Has("notice.events") {
		c.Notice.Events = fleet.Events()
	}
	c.Tasks.addFormat()
}

// firstCategory is the one that the file names first.
func (c *Config) firstCategory() (first fleet.Category) {
	least := math.MaxInt
	for _, name := range c.CategoryNames() {
		if at := c.file.Offset(dotted("category", string(name))); at < least {
			first, least = name, at
		}
	}
	return first
}

// divide gives the categories without a share equal parts of what the others leave.
func (c *Config) divide() {
	rest, without := 1.0, []fleet.Category{}
	for _, name := range c.CategoryNames() {
		if c.file.Has(dotted("category", string(name), "share")) {
			rest -= c.Categories[name].Share
		} else {
			without = append(without, name)
		}
	}
	for _, name := range without {
		category := c.Categories[name]
		category.Share = max(0, rest) / float64(len(without))
		c.Categories[name] = category
	}
}

// fillPrices takes the price of input for what a cache has, where the file has no other.
func (c *Config) fillPrices() {
	for model, p := range c.Prices {
		if !c.file.Has(dotted("price", model, "cached_input")) {
			p.CachedInput = p.Input
		}
		if !c.file.Has(dotted("price", model, "cache_write")) {
			p.CacheWrite = p.Input
		}
		c.Prices[model] = p
	}
}

// Text is the file's, as it was read.
func (c *Config) Text() []byte { return c.file.data }

// Value is one value in effect. Key and Value are TOML: the lines "Key = Value" of all
// values are a file that says the same.
type Value struct {
	Key    string // dotted: category.code.ttl
	Value  string
	Origin string // "stint.toml:31", or "default"
}

// Values are all settings in effect, in the order of the fields, with agents and categories by name.
func (c *Config) Values() (list []Value) {
	add := func(key, at string, value any) {
		origin := "default"
		if offset, ok := c.file.at[at]; ok {
			line, _ := c.file.line(offset)
			origin = fmt.Sprintf("%s:%d", filepath.Base(c.Path), line)
		}
		list = append(list, Value{key, Literal(value), origin})
	}
	var walk func(at string, v reflect.Value)
	walk = func(at string, v reflect.Value) {
		for f := range settings(v.Type()) {
			name := f.Tag.Get("toml")
			key, field := under(at, name), v.FieldByIndex(f.Index)
			switch {
			case field.Kind() == reflect.Struct:
				walk(key, field)
			case field.Kind() != reflect.Map:
				from := cmp.Or(c.ofHost(key), key)
				if key != at && strings.HasPrefix(at, "host.") && !c.file.Has(key) {
					continue // a table of a host has no defaults
				}
				add(key, from, written(field, f.Tag))
			case f.Type.Elem().Kind() == reflect.Struct:
				for _, e := range sortedKeys(field) {
					if name != "host" || e.String() == c.Host.Name {
						walk(under(key, e.String()), field.MapIndex(e))
					}
				}
			case field.Len() == 0:
				add(key, key, map[string]any{})
			default:
				entries := written(field, f.Tag).(map[string]any)
				for _, e := range sortedKeys(field) {
					if at := under(key, e.String()); name != "cli" || c.file.Has(at) { // a preset's table is a page of its own
						add(at, at, entries[e.String()])
					}
				}
			}
		}
	}
	walk("", reflect.ValueOf(c).Elem())
	return list
}

// ofHost is the key in the table of this host that holds in place of a key; empty: none does.
func (c *Config) ofHost(key string) string {
	own := map[string]string{"fanout.workers": "workers", "fanout.slots": "slots"}[key]
	if at := dotted("host", c.Host.Name, own); own != "" && c.file.Has(at) {
		return at
	}
	return ""
}

func sortedKeys(m reflect.Value) []reflect.Value {
	return slices.SortedFunc(slices.Values(m.MapKeys()), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
}

// Hidden is shown in place of a value that nobody is to see.
const Hidden = "***"

// hidden reports whether the value of an entry is shown to nobody.
func hidden(tag reflect.StructTag, name string) bool {
	return tag.Get("hide") != "" && SecretName(name)
}

// written is a field's value, as [Literal] takes it.
func written(v reflect.Value, tag reflect.StructTag) any {
	switch v.Kind() { //nolint:exhaustive // the others are scalars
	case reflect.Slice:
		list := make([]string, v.Len())
		for i := range list {
			list[i] = v.Index(i).String()
		}
		return list
	case reflect.Map:
		entries := map[string]any{}
		for k, e := range v.Seq2() {
			value := scalarOf(e.Type(), tag).written(e)
			if hidden(tag, k.String()) && value != "" {
				value = Hidden
			}
			entries[k.String()] = value
		}
		return entries
	}
	return scalarOf(v.Type(), tag).written(v)
}
