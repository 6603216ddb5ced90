// Package config owns the file stint.toml: finding it, reading it, saying what
// is wrong with it and where, and writing a first one.
//
// It only reads, and it looks at nothing but the file, the environment handed to it and
// the environment files that agents have: whether the workspace, the tasks, the agents and the prompts exist is for
// those who use them to find out. It runs no command and expands nothing: "~" and
// "$HOME" in a path are refused or taken as they are written.
//
// Each key is written down once: [Config.keys] and the lists below it. From there it is
// read, checked and shown, and so are the sample and the JSON Schema made.
//
// The caller guarantees that a Config is not changed once it is loaded.
package config

import (
	"maps"
	"slices"
	"time"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/pressure"
	"stint/internal/tomlfile"
	"stint/internal/transcript"
)

// FileName is what a configuration is called in the folder it configures.
const FileName = "stint.toml"

// Config is one fleet's configuration, with every default filled in and every
// path absolute.
type Config struct {
	Path        string // of the file
	Fleet       fleet.Name
	Workspace   string // the repository the sessions work in
	State       string // the folder of the store, the locks and the runs
	Store       Store
	Credentials []string // files that all units load, as NAME:PATH
	Host        Host
	Fanout      Fanout
	Tasks       Tasks
	Command     Command
	Lessons     Lessons
	Selector    Selector
	Notice      Notice
	Budget      Budget // of all sessions
	Prices      Prices
	Review      Review
	Keep        Keep
	Agents      map[string]Agent // by name, at least one
	Pools       map[string]Pool  // by name, at least [DefaultPool]
	Categories  map[fleet.Category]Category
	Trust       Trust // what of this waits for a person; the reader's to set

	file    *tomlfile.File
	keyList []tomlfile.Key // by which it was read
}

// Fanout bounds what one fire starts.
type Fanout struct {
	Workers int              // sessions one fire starts at most
	Slots   int              // sessions that run at once at most
	Allow   []fleet.Category // what a fire may start, sorted by default
	Limits  pressure.Limits  // what the machine must keep to for a fire to start anything
}

// Command is what holds for each command that stint runs for itself.
type Command struct {
	Timeout         time.Duration // how long it may take
	PassEnvironment []string      // handed on to it from the environment of stint
}

// Tasks says where the tasks are and which category they belong to.
type Tasks struct {
	Dir             string                     // the folder of task files
	Format          fleet.TaskFormat           // by whose conventions they are kept
	Fields          map[fleet.TaskField]string // what is called otherwise in them; empty: nowhere
	States          map[string]fleet.TaskState // what words of their own mean
	Priorities      map[string]fleet.Priority
	Foreign         bool                       // stint's words for states are not known there
	Words           map[fleet.TaskState]string // the word to write for a state
	DefaultCategory fleet.Category             // of a task that names none; by default the first in the file
	Tags            map[string]fleet.Category  // the category of a task that names none, by its tag
	Sources         map[string]TaskSource      // other places that tasks are in, by name
	After           string                     // the state of a task of which a productive session said nothing, or [KeepState]
	RaiseAfter      time.Duration              // a task that has waited so long counts as one class of priority higher; 0: never
	MostSessions    int                        // a task that took more and is still open is reported; 0: none is
}

// TaskSource is a command that prints tasks as JSON.
type TaskSource struct {
	Command    []string                   // the program and its arguments, at least the program
	Category   fleet.Category             // of a task that names none; empty: by its tags, or else the default category
	Fields     map[fleet.TaskField]string // where each is in an item; empty: nowhere
	States     map[string]fleet.TaskState // what its own words mean
	Priorities map[string]fleet.Priority
	Start      []string // programs that report to a task's tracker; empty: no report
	Done       []string
	Release    []string
}

// KeepState leaves tasks in their state.
const KeepState = "keep"

// Lessons says where the lessons are and how their effect is found out.
type Lessons struct {
	Dir      string  // the folder of lesson files; it need not exist
	Withhold float64 // the probability that a session does without a lesson that matches, in [0,1)
}

// Selector says who ranks, and by which constants.
type Selector struct {
	Command  []string        // an external selector; empty: the built-in one
	Settings bandit.Settings // of the built-in one
}

// Review says where the work of sessions is to get to, and how much of it may wait.
type Review struct {
	Target       string        // a branch; empty: the one that the workspace has checked out
	Limit        int           // results that may wait; 0: any number
	MaxAge       time.Duration // a result that waited longer is rotten; 0: none is
	AwayLimit    int           // in place of the limit, while the reviewer is away
	Method       Method        // by which work lands
	Check        []string      // says by its exit status whether work may land as it stands on the target; empty: nothing does
	CheckTimeout time.Duration // how long that may take
	Publish      []string      // opens a request for a branch that was pushed; empty: nothing does
	Outcome      []string      // says what became of the work of runs; empty: git alone does
	Feedback     []string      // says what was said of published items; empty: nobody is asked
	MaxRounds    int           // of what is said that sessions answer; then a person does
	Serialize    []string      // patterns of files that one task at a time may change
}

// Method is how work gets on top of the target.
type Method string

const (
	MethodRebase Method = "rebase" // its commits are made anew there
	MethodMerge  Method = "merge"  // a commit merges them
)

// Keep bounds what stays of sessions that are over; 0: for ever.
type Keep struct {
	Files     time.Duration // of the folder of a run, since it was made
	Worktrees time.Duration // since their last change; those with commits that are merged nowhere stay
	Record    time.Duration // in the store
}

// What stays at most, whatever its age, so that no fleet fills its disk.
const (
	KeepFolders   = 1000     // of runs: some weeks of sessions, most of which leave a megabyte
	KeepWorktrees = 20       // a disk holds some clones of most things
	KeepOut       = 16 << 20 // bytes of what an agent wrote into a folder: a report, a patch, some pictures
)

// Budget is what may be used in a day, which begins at midnight UTC. A bound of 0 is none.
type Budget struct {
	Runs   int
	Tokens int64
	USD    float64
	// The most that one session is believed to use: a higher bill is recorded as it is, and
	// counts as this much in what is reserved for the next.
	SessionTokens int64
	SessionUSD    float64
}

// Agent is a named command that does the work.
type Agent struct {
	Preset          string            // what its other keys start from
	Command         []string          // the program and its arguments, at least the program
	Prompt          fleet.PromptMode  // how it is given the prompt
	Environment     map[string]string // set for it
	EnvironmentFile string            // with more of it, which nobody is shown: a path, or "credential:NAME"; empty: none
	PassEnvironment []string          // handed on from the environment of stint
	Slots           int               // sessions of it at once; 0: no limit of its own
	Silence         time.Duration     // how long it may print nothing; 0: as long as it likes
	Trust           bool              // its own grade counts in full where no grader is asked
	Transcript      transcript.Format // how what it prints is to be read
	Quota, Throttle []string          // patterns of what it prints at a limit: [transcript.ParseLimits]
	ReportsCost     bool              // its output or its result file says what a session cost
	SessionLog      string            // where it keeps its sessions itself, as [transcript.LogGlob] takes it; empty: nobody knows
	Budget          Budget
	Box             fleet.BoxProfile // how far it is closed in
	OwnSandbox      bool             // it has a sandbox of its own, in the box
	Read, Write     []string         // what it may reach beside what its box has by itself
	Network         *[]int           // the TCP ports that it may connect to; nil: anything

	secrets []string // of the environment file, as NAME=value
	fault   error    // why that cannot be read; nil: there is none, or it was
}

// Category is a kind of work.
type Category struct {
	Pool         string        // whose fires start it
	Share        float64       // the target share of all sessions, in [0,1]
	Agents       []string      // who may work on it, at least one
	Hosts        []string      // that its sessions run on: patterns of names, and labels; none: all
	Lanes        int           // sessions of it that may run at once
	HostLanes    int           // of these, on one machine
	TTL          time.Duration // how long a claim lasts that is not renewed
	Timeout      time.Duration // how long a session may take
	Cooldown     time.Duration // how long it rests after a session
	SelfDirected bool          // its sessions may run without a task
	Prompt       string        // the file with its instructions; empty: none

	Check        []string      // says by its exit status whether what a session left is in order; empty: nothing does
	CheckTimeout time.Duration // how long that may take
	Grader       []string      // judges each session; empty: by evidence alone
	Worktree     bool          // its sessions work each on a branch and in a folder of their own
	Sync         bool          // the workspace is brought up to date with its remote before each
	Respawn      float64       // the grade from which one more session follows, in [0,1]
	MaxChain     int           // how many sessions may follow one another so; 0: none
	Budget       Budget

	Review bool // a person is to look at what its sessions leave
	WIP    WIP  // results that wait for review elsewhere

	// Unit holds properties of its transient units, as decoded: a value is a
	// string, int64, float64, bool, list, table or time.
	Unit map[string]any
}

// GradingTime is how long judging a session of the category may take.
func (c Category) GradingTime() (d time.Duration) {
	if len(c.Check) > 0 {
		d += c.CheckTimeout
	}
	if len(c.Grader) > 0 {
		d += c.CheckTimeout
	}
	return d
}

// Room is what there is in review for the sessions of a category. Only those with a worktree of
// their own leave work that somebody has to merge.
func (c *Config) Room(name fleet.Category) fleet.Room {
	category := c.Categories[name]
	return fleet.Room{Takes: category.Worktree && category.Review, Limit: c.Review.Limit, Away: c.Review.AwayLimit}
}

// CategoryNames are the names of the categories, sorted.
func (c *Config) CategoryNames() []fleet.Category {
	return slices.Sorted(maps.Keys(c.Categories))
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
