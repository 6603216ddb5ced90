package config

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"stint/internal/fleet"
)

// SampleOptions are the variable parts of a first configuration. The caller
// guarantees that State is absolute, that agents have names and commands, and that
// all of it is UTF-8 without NUL, which is all that TOML can hold.
type SampleOptions struct {
	Fleet  fleet.Name
	Store  string // empty: a file in the state folder
	State  string
	Agents []SampleAgent    // none: claude
	Box    fleet.BoxProfile // of these agents; empty: the default

	TaskDir    string           // relative to the workspace; empty: the default
	TaskFormat fleet.TaskFormat // empty: stint's
	Categories []fleet.Category // none: one, work
	Shared     bool             // sessions share the workspace, which is no repository
}

// SampleAgent is an agent of a first configuration.
type SampleAgent struct {
	Name    string
	Preset  string // one of [preset.Names]; empty: [preset.Any]
	Command []string
	Path    string // the PATH to set for it; empty: that which it is given
}

// Sample is a configuration for a newcomer: what was found, and the first choices to make. All other
// settings have their defaults.
func Sample(o SampleOptions) []byte {
	if len(o.Agents) == 0 {
		o.Agents, o.Box = []SampleAgent{{Name: "claude", Preset: "claude", Command: Preset("claude").Command}}, ""
	}
	if len(o.Categories) == 0 {
		o.Categories = []fleet.Category{"work"}
	}
	var b strings.Builder
	set := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s = %s\n", key, Literal(value))
		}
	}
	schema := url.URL{Scheme: "file", Path: filepath.Join(o.State, SchemaFile)}
	b.WriteString("#:schema " + schema.String() + "\n" + head)
	set("fleet", string(o.Fleet))
	set("store", o.Store)
	set("state", o.State)
	if o.TaskDir != "" || o.TaskFormat != "" {
		b.WriteString("\n[tasks]\n")
	}
	set("dir", o.TaskDir)
	set("format", string(o.TaskFormat))
	var names []string
	for _, a := range o.Agents {
		fmt.Fprintf(&b, "\n[%s]\n", dotted("agent", a.Name))
		set("preset", a.Preset)
		fmt.Fprintf(&b, "command = %s\n", Literal(a.Command))
		if a.Path != "" {
			fmt.Fprintf(&b, "environment = { PATH = %s }\n", Literal(a.Path))
		}
		set("box", string(o.Box))
		names = append(names, a.Name)
	}
	b.WriteString("\n# A category is a kind of work. A task names its own, or is in the first.\n")
	if !o.Shared {
		b.WriteString("# Each session has a clone and a branch of its own, which waits in stint review, unless its\n" +
			"# category says workspace = \"shared\": then all work in this folder.\n")
	}
	for i, category := range o.Categories {
		b.WriteString("[category." + string(category) + "]\n")
		if len(names) > 1 {
			b.WriteString("agents = " + Literal(names) + "\n")
		}
		if !o.Shared {
			set("workspace", "clone")
		}
		if i == 0 {
			b.WriteString(choices)
		}
	}
	return []byte(b.String())
}

// SchemaFile is the JSON Schema in a fleet's state folder.
//
// A sample names it in its first line, as taplo and with it the extensions of editors want
// it: an address of a file, for nothing is to be asked of a network. It is in the state
// folder because the sample names that by an absolute path anyway, because it is no file of the
// repository, and because any installation of stint has such a folder, packaged or not. It is
// the schema of the stint that wrote it: "stint init" brings it up to date, as it does unit files.
const SchemaFile = "stint.schema.json"

const head = `# The work of one fleet of agent sessions. "stint help config" lists all settings, and
# "stint config show" those in force. After a change: stint config check
`

const choices = `# check = ["make", "test"]  # raises or lowers the grade of a session
# budget = { runs = 20 }    # sessions a day
`
