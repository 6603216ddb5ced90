package config

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"stint/internal/fleet"
	"stint/internal/tomlfile"
)

// SampleOptions are what a first configuration says of its own. The caller
// guarantees that State is absolute, that agents have names and commands, and that
// all of it is UTF-8 without NUL, which is all that TOML can hold.
type SampleOptions struct {
	Fleet  fleet.Name
	Store  string // empty: a file in the state folder
	State  string
	Agents []SampleAgent // none: claude

	TaskDir    string           // relative to the workspace; empty: the default
	TaskFormat fleet.TaskFormat // empty: stint's
}

// SampleAgent is an agent of a first configuration.
type SampleAgent struct {
	Name    string
	Preset  string // one of [PresetNames]; empty: [DefaultPreset]
	Command []string
	Path    string // the PATH to set for it; empty: that which it is given
}

// Sample is a configuration for a newcomer to read from top to bottom: it has every
// key, those with a fitting default as a comment that shows it.
func Sample(o SampleOptions) []byte {
	if len(o.Agents) == 0 {
		o.Agents = []SampleAgent{{Name: "claude", Preset: "claude", Command: Preset("claude").Command}}
	}
	var b strings.Builder
	set := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s = %s\n", key, tomlfile.Literal(value))
		}
	}
	set("fleet", string(o.Fleet))
	set("store", o.Store)
	set("state", o.State)
	set("tasks.dir", o.TaskDir)
	set("tasks.format", string(o.TaskFormat))
	var names []string
	for _, a := range o.Agents {
		fmt.Fprintf(&b, "[%s]\ncommand = %s\n", tomlfile.Dotted("agent", a.Name), tomlfile.Literal(a.Command))
		set("preset", a.Preset)
		set("environment.PATH", a.Path)
		names = append(names, a.Name)
	}
	for _, category := range []string{"code", "research", "cleanup"} {
		b.WriteString("[category." + category + "]\n")
		if len(names) > 1 {
			b.WriteString("agents = " + tomlfile.Literal(names) + "\n")
		}
	}
	c, err := Parse("/stint.toml", []byte(b.String()), Options{})
	if err != nil {
		return []byte(b.String()) // the caller reads it next, and finds what is wrong with it
	}
	schema := url.URL{Scheme: "file", Path: filepath.Join(o.State, SchemaFile)}
	return []byte("#:schema " + schema.String() + "\n" + head + c.file.Sample(c.keys(Options{})))
}

// SchemaFile is the JSON Schema in a fleet's state folder.
//
// A sample names it in its first line, as taplo and with it the extensions of editors want
// it: an address of a file, for nothing is to be asked of a network. It is in the state
// folder because the sample names that by an absolute path anyway, because it is no file of the
// repository, and because any installation of stint has such a folder, packaged or not. It is
// the schema of the stint that wrote it: "stint init" brings it up to date, as it does unit files.
const SchemaFile = "stint.schema.json"

const head = `# The work of one fleet of agent sessions, and its limits. A line like "# name = value"
# shows a default: take the "# " away to change it. Then: stint config check
# Editors with a TOML extension take the keys from the file in the first line.

`
