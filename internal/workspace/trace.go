package workspace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/rundir"
)

// event is a line of git's report.
type event struct {
	Event     string    `json:"event"`
	SID       string    `json:"sid"` // of the process
	Time      time.Time `json:"time"`
	Argv      []string  `json:"argv"`
	Hierarchy string    `json:"hierarchy"`
	Worktree  string    `json:"worktree"`
	Code      int       `json:"code"`
}

const (
	// maxEvent bounds a line: it holds a command line, of which the kernel takes 2 MiB.
	maxEvent = 16 << 20
	// maxTrace bounds how much of a report is read, half of it from the beginning and half
	// from the end: a hundred thousand commands of git.
	maxTrace = 256 << 20 // read in 2 s
	// maxCommands bounds the commands that are remembered at once: those that run, and those
	// that made a commit.
	maxCommands = 10_000
	// maxWord bounds what is remembered of one: its folder is the longest.
	maxWord = 4 << 10
)

// readTrace reads what git reported of a run's commands; without a report there were none.
// The agent may have written it: it is read with a bound to its size, and to what is kept of
// it.
func readTrace(files fleet.RunFiles) (map[string]*command, error) {
	file, err := rundir.Open(files.Git)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the session ran no git
	}
	if err != nil {
		return nil, fmt.Errorf("read what git reported: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("read what git reported: %w", err)
	}
	commands, err := readCommands(bounded(file, info.Size(), maxTrace))
	if err != nil {
		return nil, fmt.Errorf("read what git reported: %w", err)
	}
	return commands, nil
}

// bounded is the beginning and the end of a file that is longer than it may be. The two lines
// that are cut apart cannot be read, and are passed over.
func bounded(file io.ReaderAt, size, most int64) io.Reader {
	if size <= most {
		return io.NewSectionReader(file, 0, size)
	}
	half := most / 2
	return io.MultiReader(io.NewSectionReader(file, 0, half), bytes.NewReader([]byte("\n")), io.NewSectionReader(file, size-half, half))
}

// describes reports whether a line is an event that describes a command, as git writes them.
func describes(line []byte) bool {
	return slices.ContainsFunc([]string{`"start"`, `"cmd_name"`, `"def_repo"`, `"exit"`}, func(name string) bool {
		return bytes.Contains(line, []byte(name))
	})
}

// readCommands puts the events together by process, and forgets a command that ended without
// a commit. A line that cannot be read, such as the last of a process that was killed, is
// passed over.
func readCommands(r io.Reader) (map[string]*command, error) {
	commands := map[string]*command{}
	lines := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := readLine(lines)
		if describes(line) {
			take(commands, line)
		}
		if errors.Is(err, io.EOF) {
			return commands, nil
		}
		if err != nil {
			return commands, err
		}
	}
}

// readLine reads a line; of one that is too long it returns nothing.
func readLine(r *bufio.Reader) (line []byte, err error) {
	tooLong := false
	for {
		part, more, err := r.ReadLine()
		if tooLong = tooLong || len(line)+len(part) > maxEvent; tooLong {
			line = nil
		} else {
			line = append(line, part...)
		}
		if err != nil || !more {
			return line, err
		}
	}
}

// take adds what one event says.
func take(commands map[string]*command, line []byte) {
	var e event
	if json.Unmarshal(line, &e) != nil {
		return
	}
	if max(len(e.SID), len(e.Hierarchy), len(e.Worktree)) > maxWord {
		return // no git wrote it
	}
	c := commands[e.SID]
	if c == nil {
		if e.Event != "start" || len(commands) == maxCommands {
			return
		}
		c = &command{}
		commands[e.SID] = c
	}
	switch e.Event {
	case "start":
		c.amends, c.tries, c.began = slices.Contains(e.Argv, "--amend"), slices.Contains(e.Argv, "--dry-run"), e.Time
		if s := subject(e.Argv); len(s) <= maxWord {
			c.subject = strings.Clone(s)
		}
	case "cmd_name":
		c.hierarchy = e.Hierarchy
	case "def_repo":
		c.worktree = e.Worktree
	case "exit":
		c.succeeded, c.ended = e.Code == 0, e.Time
		if !c.commits() {
			delete(commands, e.SID)
		}
	}
}

// subject is the first line of the message that a command line gives a commit.
func subject(argv []string) string {
	for i, arg := range argv {
		message, is := strings.CutPrefix(arg, "--message")
		if !is {
			var flags string // without a value, as in -am
			flags, message, is = strings.Cut(arg, "m")
			is = is && len(flags) > 0 && flags[0] == '-' && strings.Trim(flags[1:], "aeinoqsvz") == ""
		}
		switch {
		case !is:
			continue
		case message == "" && i+1 < len(argv):
			message = argv[i+1]
		default:
			message = strings.TrimPrefix(message, "=")
		}
		line, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
		return strings.TrimSpace(line)
	}
	return ""
}
