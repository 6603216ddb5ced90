package doctor

import (
	"time"

	"stint/internal/fleet"
)

// Facts are what was seen. In each part an Unseen that is not empty says why it could not
// be looked at, and nothing else in the part counts.
type Facts struct {
	Now         time.Time
	UID         int
	Config      Config
	Manager     Manager
	Linger      Linger
	Timers      []Timer // the fleet's own first
	Former      []Timer // of pools that the configuration does not fire any more
	Controllers Controllers
	State       Folder
	Store       Store
	Record      Record
	Agents      []Agent
	Commands    []Command
	Boxes       Boxes
	Workspace   Workspace
	Tasks       Tasks
	Clock       Clock
	Disks       []Disk
}

// Config is the configuration as it was read.
type Config struct {
	Path     string
	Fault    string // why it cannot be used; then only the machine is looked at
	Hint     string
	Held     []string // what has changed and waits for a person's confirmation
	Broken   string   // the one of Held that has faults and cannot be confirmed
	Warnings []string
}

// Manager is the user's service manager.
type Manager struct {
	Unseen     string
	RuntimeDir string // $XDG_RUNTIME_DIR
	BusAddress string // $DBUS_SESSION_BUS_ADDRESS
}

// Linger is whether the manager outlives the last logout.
type Linger struct {
	Unseen string
	On     bool
}

// Timer is what fires a pool, with the service that it starts.
type Timer struct {
	Unseen string
	Pool   string // empty: the fleet's own
	Unit   string

	Load    string // the manager's words: loaded, not-found, masked, …
	Enabled string // enabled, enabled-runtime, disabled, …
	Active  string // active, inactive, failed, …
	Again   bool   // it will fire again
	Firing  bool   // a fire is under way; the next is known when it has ended
	Last    time.Time
	Next    time.Time // zero: not known, or not by the calendar
	Runtime bool      // installed until the machine goes down

	Service Service
}

// Service is what a timer starts.
type Service struct {
	Unit    string
	Load    string
	Active  string
	Result  string // success, exit-code, timeout, …
	Stale   bool   // its files changed since the manager read them
	Binary  string // that it runs
	Found   bool   // that binary can be executed
	Ours    bool   // it is the one that asks
	Config  string // that it is given
	Moved   bool   // there is no such file any more
	Program string // the binary that asks
}

// Controllers are what the manager may bound its units with.
type Controllers struct {
	Unseen   string
	NoMemory string      // why memory cannot be bounded; empty: it can
	Broken   []Unlimited // limits of the configuration that nothing enforces
}

// Unlimited is a limit that is configured and cannot come into force.
type Unlimited struct {
	Category fleet.Category
	Reason   string
}

// Folder is the state folder.
type Folder struct {
	Unseen     string
	Path       string
	Missing    bool
	Mode       uint32 // permission bits
	Owner      int
	User       int      // who looks
	Foreign    []string // files in it that belong to somebody else; a part of them
	Unwritable string   // why nothing can be written into it; empty: it can be
	Magic      int64    // the number of its file system, see statfs(2)
}

// Store is the file with the record, or the server.
type Store struct {
	Path    string  // of the file; of a server: its name in the configuration
	Server  *Server // nil: it is a file, or the server does not answer
	Missing bool
	Size    int64
	Fault   string // why it cannot be used
	Hint    string
	Damage  []string      // what its own check found wrong
	Ahead   time.Duration // of this machine's clock, a file's own
}

// Record is what the store says of the fleet.
type Record struct {
	Unseen     string // nobody can say
	Live       int    // sessions under way
	Leftovers  []Leftover
	Violations int                 // lanes held twice, in the last day
	Off        []fleet.Discrepancy // figures that do not add up
	Rests      []Rest
	Unpriced   []Unpriced
	LastFire   time.Time
	Latest     time.Time // the latest time on record
}

// Leftover is a run whose session is gone and that left something behind.
type Leftover struct {
	Run      fleet.RunID
	Category fleet.Category
	Ended    bool // its end is recorded; what it held is not given back
}

// Rest is an agent that is not used now.
type Rest struct {
	Agent string
	Why   string
	Fix   string // what a person does about it; empty: it ends by itself, as a usage limit does
}

// Unpriced is an agent of whose sessions a budget in USD cannot know the cost.
type Unpriced struct {
	Agent  string
	Models []string // that have no price
	Why    string
}

// Agent is a configured agent, as a unit of the service manager would find it.
type Agent struct {
	Name    string
	Preset  string
	Program string // the agent's own, or the one that it cannot start for
	Path    string // where its own program is; empty: it cannot start
	Missing string // why it cannot
	Here    string // where this process finds it, if only this one does
	Added   bool   // Program is another one that it needs
	Wanting bool   // Program is a script, and its interpreter is missing
	Repair  string // a PATH with which it could start
	Fault   string // why its environment file cannot be read; empty: there is none, or it can
	Remedy  string // of that
	Manager bool   // looked for in the environment of the service manager; else in this process's own

	Known   bool     // its preset says where its login is
	Login   string   // the file or the variable that it was found in; empty: there is none
	Logins  []string // where it was looked for
	Command string   // that logs it in
}

// Command is one of stint.toml beside those of agents.
type Command struct {
	Key     string // its place in stint.toml
	Program string
	Missing string // why it cannot be started; empty: it can
	Wanting bool   // it is a script, and its interpreter is missing
}

// Boxes are the boxes that agents are configured to have, and what holds them here.
type Boxes struct {
	Layers fleet.BoxLayers
	Agents []AgentBox
}

// AgentBox is the box of an agent. It has no files: where they are differs by session.
type AgentBox struct {
	Agent string
	Box   fleet.Box
}

// Workspace is the repository in which sessions work.
type Workspace struct {
	Unseen    string
	Path      string
	Missing   bool
	Needed    []fleet.Category // that cannot do without a repository
	Git       bool
	Unready   string // why no clone of it can be made
	Remedy    string // the command for that
	Midway    string // rebase, merge, …, begun and not ended
	Changed   int    // tracked files with changes that are not committed
	Untracked int
	Lock      string        // git's lock of the index, if there is one
	LockAge   time.Duration // since it was made
	Left      string        // where the target has left its upstream; empty: it has not
	Pull      string        // the command for that
}

// Tasks is what came of reading the tasks.
type Tasks struct {
	Unseen string
	Hint   string
	Read   int
	Faults []string
	Failed []Source
}

// Source is a source of tasks that failed.
type Source struct {
	fleet.SourceFault
	Command string // as a shell takes it
}

// Clock is the machine's clock.
type Clock struct {
	Unseen string
	Synced bool // somebody keeps it in time
}

// Disk is the file system below a folder.
type Disk struct {
	Unseen string
	Of     string // what for: state folder, workspace
	Path   string
	Free   uint64 // bytes, for this user
	Size   uint64
}
