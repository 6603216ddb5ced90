// Package config owns the file stint.toml: finding it, reading it, saying what
// is wrong with it and where, and writing a first one.
//
// It only reads, and it looks at nothing but the file, the environment handed to it and
// the environment files that agents have: whether the workspace, the tasks, the agents and the prompts exist is for
// those who use them to find out. It runs no command and expands nothing but "~/" in what
// an agent may reach: elsewhere "~" and "$HOME" in a path are refused or taken as they are written.
//
// Each key is a field of [Config] or of a struct below it, whose tags are in decode.go. From there it is
// read, checked and shown, and so is the JSON Schema made.
//
// The caller guarantees that a Config is not changed once it is loaded.
package config

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"stint/internal/agent/preset"
	"stint/internal/fleet"
	"stint/internal/rank"
)

// FileName is the name of a configuration in the folder that it configures.
const FileName = "stint.toml"

// Config is one fleet's configuration, with every default filled in and every path absolute.
type Config struct {
	Path  string     // of the file
	Fleet fleet.Name `toml:"fleet" form:"fleet" required:"write fleet = \"bob\" in the first line"`
	// The repository that sessions work in. By default the file lies at its top.
	Workspace string `toml:"workspace" form:"path" default:"'.'"`
	// The folder of the store, the locks and the runs.
	State       string   `toml:"state" form:"absolute" default:"-"`
	StoreText   string   `toml:"store" form:"store" default:"'sqlite'"` // one machine needs no server
	Store       Store    // what that means
	Credentials []string `toml:"credentials"` // files that all units load, as NAME:PATH
	// At least one. The defaults of an agent depend on its preset.
	Agents     map[string]Agent            `toml:"agent" names:"agent" varies:"yes" required:"write [agent.claude] and in it preset = \"claude\""`
	Categories map[fleet.Category]Category `toml:"category" names:"category" required:"write [category.code]"`
	Fanout     Fanout                      `toml:"fanout"`
	Hosts      map[string]HostTable        `toml:"host" names:"host" varies:"yes"`
	Host       Host                        // this one
	Pools      map[string]Pool             `toml:"pool" names:"pool"` // at least [DefaultPool]
	Tasks      Tasks                       `toml:"tasks"`
	Command    Command                     `toml:"commands"`
	Lessons    Lessons                     `toml:"lessons"`
	Selector   Selector                    `toml:"selector"`
	Notice     Notice                      `toml:"notice"`
	Budget     Budget                      `toml:"budget"` // of all sessions
	Prices     Prices                      `toml:"price" names:"model"`
	Review     Review                      `toml:"review"`
	Keep       Keep                        `toml:"keep"`
	Trust      Trust                       // what of this waits for a person; the reader's to set

	file *file
}

// Fanout bounds what one fire starts.
type Fanout struct {
	// Sessions one fire starts at most: as many results as a person reviews between two fires.
	Workers int `toml:"workers" default:"3" min:"1"`
	// Sessions that run at once at most: two fires' worth, as they outlast the half hour between fires.
	Slots int              `toml:"slots" default:"6" min:"1"`
	Allow []fleet.Category `toml:"allow" known:"category" default:"-"` // what a fire may start, sorted by default
}

// Command has the settings of all commands that stint runs for itself.
type Command struct {
	// How long it may take: some calls of a forge. A fire waits for six, one after another: the slowest task source,
	// the slowest gate, selector, outcome, feedback and the pushes of answers. Its unit ends after 15 minutes, before
	// it has started anything.
	Timeout         time.Duration `toml:"timeout" default:"'1m'" max:"2m"`
	PassEnvironment []string      `toml:"pass_environment" form:"variable" default:"['PATH', 'HOME', 'LANG']"` // handed on to it
}

// Tasks says where the tasks are and which category they belong to.
type Tasks struct {
	Dir    string           `toml:"dir" form:"path" default:"'tasks'"` // the folder of task files
	Format fleet.TaskFormat `toml:"format" default:"'stint'"`          // by whose conventions they are kept
	// Other names for fields. An empty name: the files have no such field.
	Fields     map[fleet.TaskField]string `toml:"fields" names:"in file" form:"field"`
	States     map[string]fleet.TaskState `toml:"states"` // what words of their own mean
	Priorities map[string]fleet.Priority  `toml:"priorities"`
	// For tasks that name none. By default the first category in the file.
	DefaultCategory fleet.Category `toml:"default_category" known:"category" default:"-"`
	// The category, by tag, of tasks that name none.
	Tags map[string]fleet.Category `toml:"tags" known:"category"`
	// Other places that tasks are in, by name.
	Sources map[string]TaskSource `toml:"source" names:"source"`

	Foreign bool                       // stint's words for states are not known there
	Words   map[fleet.TaskState]string // the word to write for a state
}

// TaskSource is a command that prints tasks as JSON.
type TaskSource struct {
	Command []string `toml:"command" form:"command" min:"1" required:"write command = [\"bd\", \"ready\", \"--json\", \"--limit\", \"1000\"]"`
	Start   []string `toml:"start" form:"command"` // programs that report to a task's tracker; empty: no report
	Done    []string `toml:"done" form:"command"`
	Release []string `toml:"release" form:"command"`
	// For tasks that name none. Empty: their tags decide, or else the default category.
	Category   fleet.Category             `toml:"category" known:"category" zero:"none"`
	Fields     map[fleet.TaskField]string `toml:"fields" names:"in task" form:"field"` // where each is in an item; empty: nowhere
	States     map[string]fleet.TaskState `toml:"states"`                              // what its own words mean
	Priorities map[string]fleet.Priority  `toml:"priorities"`
}

// Lessons says where the lessons are.
type Lessons struct {
	Dir string `toml:"dir" form:"path" default:"'lessons'"` // where workspaces of this kind have them already; it need not exist
}

// Selector says who ranks, and within which shares.
type Selector struct {
	Command []string `toml:"command" form:"command"` // an external selector; empty: the built-in one
	Floor   float64  `toml:"floor" default:"0.5" max:"1"`
	Cap     float64  `toml:"cap" zero:"none" default:"1.8" min:"1" max:"1000"`
}

// Settings are those of the built-in selector.
func (s Selector) Settings() rank.Settings {
	b := rank.Defaults() // the others are constants
	b.Floor, b.Cap = s.Floor, s.Cap
	return b
}

// Review says where the work of sessions is to get to, and how much of it may wait.
type Review struct {
	Target string `toml:"target"` // a branch; empty: the one that the workspace has checked out
	// Results that may wait: a week's work of a person who looks through ten a day; 0: any number.
	Limit int `toml:"limit" default:"50"`
	// A result that waited longer is rotten: nobody remembers what it was for.
	MaxAge time.Duration `toml:"max_age" zero:"any" default:"'336h'"`
	// By which work lands; by default one that leaves a history that can be read.
	Method Method `toml:"method" default:"'rebase'"`
	// Says by its exit status whether work may land as it stands on the target; empty: nothing does.
	Check []string `toml:"check" form:"command"`
	// Opens a request for a branch that was pushed; empty: nothing does.
	Publish []string `toml:"publish" form:"command"`
	Push    bool     `toml:"push"`                   // the target, forward only, after landings and sessions of shared workspaces
	Outcome []string `toml:"outcome" form:"command"` // says what became of the work of runs; empty: git alone does
	// Says what was said of published items; empty: nobody is asked.
	Feedback  []string `toml:"feedback" form:"command"`
	Serialize []string `toml:"serialize" form:"glob"` // patterns of files that one task at a time may change
}

// Method is a way to put work on top of the target.
type Method string

const (
	MethodRebase Method = "rebase" // its commits are made anew there
	MethodMerge  Method = "merge"  // a commit merges them
)

// Keep bounds what stays of sessions that are over; 0: for ever.
type Keep struct {
	// Of the folder of a run, and of what it left uncommitted: what nobody asked about for a month is answered by the
	// record. Commits that are merged nowhere stay.
	Files time.Duration `toml:"files" form:"days" default:"'30d'"`
}

// What stays at most, whatever its age, so that no fleet fills its disk.
const (
	KeepFolders     = 1000     // of runs: some weeks of sessions, most of which leave a megabyte
	KeepUncommitted = 20       // a disk holds some clones of most things
	KeepOut         = 16 << 20 // bytes of what an agent wrote into a folder: a report, a patch, some pictures
)

// Budget bounds the use in a day, which begins at midnight UTC. A bound of 0 is none.
type Budget struct {
	Runs   int     `toml:"runs"`
	Tokens int64   `toml:"tokens"`
	USD    float64 `toml:"usd" max:"1e9"`
}

// Amounts are the bounds of what the ranking can price.
func (b Budget) Amounts() rank.Amounts {
	return rank.Amounts{rank.USD: b.USD, rank.Tokens: float64(b.Tokens)}
}

// Agent is a named command that does the work. Its defaults are those of its preset.
type Agent struct {
	Preset string           `toml:"preset" form:"preset"`
	Box    fleet.BoxProfile `toml:"box"` // how far it is closed in
	// What it may reach beside what its box has by itself. "~/" is its home folder.
	Read  []string `toml:"read" form:"home" example:"/srv/data"`
	Write []string `toml:"write" form:"home" example:"/srv/data"`
	// The TCP ports that it may connect to; nil: anything.
	Network *[]int `toml:"network"`
	// The program and its arguments, at least the program.
	Command     []string          `toml:"command" form:"command" min:"1"`
	Prompt      fleet.PromptMode  `toml:"prompt"`                                      // how it is given the prompt
	Environment map[string]string `toml:"environment" names:"variable" hide:"secrets"` // set for it
	// With more of it, which nobody is shown: a path, or "credential:NAME"; empty: none.
	EnvironmentFile string   `toml:"environment_file" form:"secrets"`
	PassEnvironment []string `toml:"pass_environment" form:"variable"` // handed on from the environment of stint
	// Sessions of it at once; 0: no limit of its own.
	Slots  int    `toml:"slots"`
	Pace   bool   `toml:"pace"` // no window of its plan is to be used up before its reset
	Budget Budget `toml:"budget"`
	Trust  bool   `toml:"trust"` // its own grade counts in full where no grader is asked
	// How its program is to be understood, over what the preset says of it: [preset.Parse].
	Table map[string]any `toml:"cli"`
	CLI   preset.CLI     // what that means

	secrets []string // of the environment file, as NAME=value
	fault   error    // why that cannot be read; nil: there is none, or it was
}

func (a *Agent) start(table map[string]any) {
	name, _ := table["preset"].(string)
	command, _ := table["command"].([]any)
	program, _ := append(command, "")[0].(string)
	*a = presetOf(name, program)
}

// Category is a kind of work.
type Category struct {
	Pool   string   `toml:"pool" known:"pool" default:"'autonomous'"` // whose fires start it
	Share  float64  `toml:"share" default:"-" max:"1"`                // the target share of all sessions
	Agents []string `toml:"agents" known:"agent" min:"1" default:"-"` // who may work on it, at least one
	// That its sessions run on: patterns of names, and labels; none: all.
	Hosts []string `toml:"hosts" form:"hosts"`
	// Sessions of it that may run at once: two of one kind meet in the same files.
	Lanes int `toml:"lanes" default:"1" min:"1" max:"99"`
	// How long a claim lasts that is not renewed: the time-out, and ten minutes to grade and to commit.
	TTL time.Duration `toml:"ttl" default:"'1h'"`
	// How long a session may take: past this it has lost its thread. Its check and its grader may take as long, each.
	Timeout  time.Duration `toml:"timeout" default:"'50m'"`
	Cooldown time.Duration `toml:"cooldown" zero:"none" default:"'3m'"` // the wait after a session: lets its commits arrive first
	// Its sessions work each on a branch and in a folder of their own.
	OwnClone bool `toml:"workspace" words:"shared clone"`
	// The workspace, or the target of clones, is brought up to date with its remote before each.
	Sync bool `toml:"sync"`
	// The grade from which one more session follows: well above the mean of most.
	Respawn float64 `toml:"respawn" default:"0.65" max:"1"`
	// How many sessions may follow one another so, then fires decide again; 0: none.
	MaxChain int    `toml:"max_chain" default:"1" max:"9"`
	Budget   Budget `toml:"budget"`

	SelfDirected bool   `toml:"self_directed"`      // its sessions may run without a task
	Prompt       string `toml:"prompt" form:"file"` // the file with its instructions; empty: none
	// Says by its exit status whether what a session left is in order; empty: nothing does.
	Check  []string `toml:"check" form:"command"`
	Grader []string `toml:"grader" form:"command"` // judges each session; empty: by evidence alone

	// Unit holds properties of its transient units, as decoded: a value is a
	// string, int64, float64, bool, list, table or time.
	Unit   map[string]any `toml:"unit"`
	Review bool           `toml:"review" default:"true"` // a person is to look at what its sessions leave
	WIP    WIP            `toml:"wip"`                   // results that wait for review elsewhere
}

// GradingTime bounds judging a session of the category.
func (c Category) GradingTime() (d time.Duration) {
	if len(c.Check) > 0 {
		d += c.Timeout
	}
	if len(c.Grader) > 0 {
		d += c.Timeout
	}
	return d
}

// Room is the room in review for the sessions of a category. Only those with a clone of
// their own leave work that somebody has to merge.
func (c *Config) Room(name fleet.Category) fleet.Room {
	category := c.Categories[name]
	return fleet.Room{Takes: category.OwnClone && category.Review, Limit: c.Review.Limit, Away: 2 * c.Review.Limit}
}

// WantsTasks reports whether any category works on tasks only.
func (c *Config) WantsTasks() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(c.Categories)), func(category Category) bool { return !category.SelfDirected })
}

// CategoryNames are the names of the categories, sorted.
func (c *Config) CategoryNames() []fleet.Category {
	return slices.Sorted(maps.Keys(c.Categories))
}

// Unplaced says why no session takes an open task whose category the configuration lacks, and what to do; "": it has it.
func (c *Config) Unplaced(t fleet.Task) string {
	if _, has := c.Categories[t.Category]; has || !t.State.Workable() {
		return ""
	}
	return fmt.Sprintf("no [category.%s] in the configuration: add it, or correct the task", t.Category)
}

// AgentNames are the names of the agents, sorted.
func (c *Config) AgentNames() []string { return slices.Sorted(maps.Keys(c.Agents)) }

// Properties are those of a category's units, with the files that all units of the fleet load.
func (c *Config) Properties(name fleet.Category) map[string]any {
	const load = "LoadCredential"
	own := c.Categories[name].Unit
	if len(c.Credentials) == 0 {
		return own
	}
	var files []any
	for _, file := range c.Credentials {
		files = append(files, file)
	}
	switch more := own[load].(type) {
	case nil:
	case []any:
		files = append(files, more...)
	default:
		files = append(files, more)
	}
	return merged(own, map[string]any{load: files})
}
