package fleet

import (
	"io"
	"os"
	"strings"
	"time"
)

// PromptMode is a way to give an agent its prompt.
type PromptMode string

const (
	PromptStdin    PromptMode = "stdin"    // on standard input
	PromptArgument PromptMode = "argument" // as the last argument
	PromptFile     PromptMode = "file"     // in $STINT_PROMPT_FILE alone
	PromptACP      PromptMode = "acp"      // by the Agent Client Protocol, on standard input and output
)

// Lane is a lane that is held, until Release or the end of the process.
type Lane struct {
	Number  int // from 1
	Release func() error
}

// RunFiles are the absolute paths of what a run leaves on disk.
type RunFiles struct {
	Dir    string
	Prompt string // what the agent was asked
	Log    string // what the agent printed
	Alive  string // locked while any process of the session lives
	Trace  string // where the session's processes are
	End    string // what is to be recorded of its end, from before it is
	Out    string // the one folder that the agent may write: result, scratch
	Result string // in Out: what the agent says of itself, if it does
	Door   string // in Out: the socket at which the agent asks its fleet
	Tmp    string // the folder that it has for /tmp in a box; not in Out, where it could put a link in its place
	Judge  string // a folder of that kind for a check or a grader, as long as it runs
	Canary string // there while a box is tried, from which it must not be seen
	Git    string // git's settings of the operator without their tokens, where a session in the workspace is not to read these
	Cache  string // the folder for caches that the sessions of all runs share
}

// FilesOf names the files of a run under a state folder.
func FilesOf(state string, run RunID) RunFiles {
	dir := state + "/runs/" + string(run)
	out := dir + "/out"
	return RunFiles{
		Dir: dir, Prompt: dir + "/prompt", Log: dir + "/log", Alive: dir + "/alive", Trace: dir + "/trace", End: dir + "/end.json",
		Out: out, Result: out + "/result.json", Door: out + "/door", Tmp: dir + "/tmp", Judge: dir + "/tmp-judge", Canary: dir + "/canary",
		Git: dir + "/gitconfig", Cache: state + "/cache",
	}
}

// RunsAbove is the folder of all runs that a run's file is in, and the path below it. For any
// other file it is the folder that it is in; empty: the current one.
func RunsAbove(path string) (runs, below string) {
	parts := strings.Split(path, "/")
	for i := len(parts) - 2; i > 0; i-- {
		if _, err := ParseRunID(parts[i]); err == nil && parts[i-1] == "runs" {
			return strings.Join(parts[:i], "/"), strings.Join(parts[i:], "/")
		}
	}
	return path[:strings.LastIndexByte(path, '/')+1], parts[len(parts)-1]
}

// SessionSpec is one agent process, before it starts.
type SessionSpec struct {
	Run         RunID
	Unit        string   // the service that it is in, or the scope to be made for it
	Argv        []string // the program, looked up in the environment's PATH, and its arguments
	Environment []string // all of it, NAME=value
	Judging     []string // the environment of what judges its work, before its box; no secret is in it
	Dir         string
	Files       RunFiles
	Prompt      string
	PromptMode  PromptMode
	Resumes     string   // the conversation that an agent with a protocol goes on with; empty: it begins one
	Alive       *os.File // inherited, so that the run lives as long as its agent
	Timeout     time.Duration
	Silence     time.Duration // the longest it may print nothing; 0: no limit
	Grace       time.Duration // between SIGTERM and SIGKILL
	LogLimit    int64         // the most bytes its log may take; 0: 64 MiB
	Echo        io.Writer     // where its lines are shown as well, for the journal; nil: nowhere
	Box         Box           // that it runs in
	Trial       BoxTrial      // of the box
}

// Place says where and how a run works: in a clone of its own, or in the workspace.
type Place struct {
	Own  bool // a branch and a clone of its own; else the workspace, with others
	Sync bool // brought up to date with its remote first
	// Continues is the run whose branch and folder it goes on in, as they are; empty: none.
	Continues RunID
	// Since is when the last session there ended whose conversation goes on, if need be on a new branch; zero: none does.
	Since time.Time
	// Earlier are the runs at its task, the latest first: a clone begins with what one of them left uncommitted.
	Earlier []RunID
}

// Leftover has the uncommitted work of an earlier run.
type Leftover struct {
	Run    RunID
	Commit string // that has it; empty: no run left anything
	There  bool   // in the folder of the next; else it conflicts with what is there
}

// Site is the place that was readied for a run.
type Site struct {
	Dir    string
	Branch string // of the run's own; empty: the workspace's
	On     string // the branch of the workspace, where that is the folder; empty: a commit is checked out there
	Left   Leftover
	News   []string // commits that landed while nobody went on with the work, the latest first; the last may say that there are more
}

// Work is the change that a run, and nobody else, made to the workspace.
type Work struct {
	Commits   int      // that it made
	Revisions []string // of them, those that stand at its end, oldest first; at most [MostCommits]
	Branch    string   // that holds the last of these; empty: none does
	Left      []string // what a clone of its own had beside that at its end, for people
	Unmoved   bool     // the target is still where the session's clone began, and nobody else has these

	Known      bool // what is left of all that they changed, by the fields below
	Standing   int  // commits, of which Revisions are the last
	Files      int
	Tests      int // of the files
	Insertions int // lines that the session wrote itself
	Deletions  int
	Cut        bool // there are more files and lines than were counted
	Derived
}

// Derived counts the parts of a session's work that the session did not write itself, and says why nothing may be left of it.
type Derived struct {
	Generated int    // files that a program writes
	Copies    int    // commits that change the same as an earlier one of others
	CopyOf    string // the original of the last
	Renamed   bool   // all that is left is that files have other names
	TakenBack bool   // nothing is left, as commits take back what others changed
}

// End is the way in which an agent's process ended.
type End string

const (
	Exited    End = "exited"     // by itself, with a status
	Killed    End = "killed"     // by a signal that stint did not send
	Overran   End = "overran"    // stopped at its deadline, or because it fell silent
	Stopped   End = "stopped"    // by a person or by systemd
	NoProcess End = "no process" // the program could not be started
)

// SessionExit has the facts about an agent once it is gone.
type SessionExit struct {
	End    End
	Status int    // with Exited
	Detail string // with Killed and NoProcess, and with Overran if it fell silent: what happened
	Result []byte // the result file; nil when there is none
	Spoilt string // why the result file could not be read
	OOM    int    // processes that the kernel killed for want of memory
	Left   error  // why not every process of the session could be ended
	Output Output
}

// Output has the facts that were read from an agent's output.
type Output struct {
	Printed int64 // bytes
	Missing int64 // of these, the bytes that the log does not hold
	Fault   error // why the log, or the pipe it is written from, failed
}
