package box

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"stint/internal/fleet"
)

// Helper is the word by which stint is started as the first process in a box.
const Helper = "boxed"

// Order is what that process is to do: to restrict itself, and then to become a program.
type Order struct {
	Read, Write []string
	Files       bool   // the rules for files: not where the process makes a sandbox of its own
	Network     *[]int // nil: no rules for ports
	Try         *Trial // it tries its walls, and waits for the program; nil: that is in its arguments
}

// Descriptors of a process that tries its walls.
const (
	Alive = 3 // the lock of its run, once it becomes the program
	Line  = 4 // on which it reports, and hears of the program
)

// Program is what a process in a box becomes.
type Program struct {
	Path, Dir string
	Args, Env []string
}

// Encode writes a program down: how many arguments and variables it has, and these, each with a
// zero byte after it.
func (p Program) Encode() []byte {
	words := slices.Concat([]string{strconv.Itoa(len(p.Args)), strconv.Itoa(len(p.Env)), p.Path, p.Dir}, p.Args, p.Env)
	return []byte(strings.Join(words, "\x00") + "\x00")
}

// Trial is what to try from inside. None of it may work.
type Trial struct {
	Write      []string // files to make, in folders that cannot be written
	Read       []string // folders and files to open
	Canary     string   // a file that stint made in the folder of the run
	Sockets    []string // to connect to
	Abstract   string   // an abstract socket that stint listens on
	Supervisor int      // its process
	Spaces     []string // its namespaces: mnt, pid, ipc
}

// Found is what came of a trial.
type Found struct {
	Landlock int      // the version of its interface
	Broken   []Wall   // that could be got through
	Wrote    []string // files that it could make; a namespace may have them to itself
}

// OrderFor is the order for a program in the box.
func OrderFor(b fleet.Box) Order {
	o := Order{Read: b.Read, Write: append(devices(), b.Write...), Files: !b.Nested, Network: b.Network}
	switch {
	case b.Layers.Namespaces != "":
		o.Write = append(o.Write, "/tmp") // its own
	case b.Tmp != "":
		o.Write = append(o.Write, b.Tmp)
	}
	return o
}

// Command is the command line of the helper: stint itself, with the order, before the program
// and its arguments. The first letter of a word says what it is; the helper is written in C.
func (o Order) Command(stint string) []string {
	argv := []string{stint, Helper}
	add := func(letter string, words ...string) {
		for _, word := range words {
			argv = append(argv, letter+word)
		}
	}
	add("r", o.Read...)
	add("w", o.Write...)
	if o.Files {
		add("f", "")
	}
	if o.Network != nil {
		add("n", "")
		for _, port := range *o.Network {
			add("p", strconv.Itoa(port))
		}
	}
	if t := o.Try; t != nil {
		add("t", "")
		add("W", t.Write...)
		add("R", t.Read...)
		add("S", t.Sockets...)
		add("N", t.Spaces...)
		if t.Canary != "" {
			add("C", t.Canary)
			add("A", t.Abstract)
			add("P", strconv.Itoa(t.Supervisor))
		}
	}
	return append(argv, "--")
}

// DecodeFound reads what the helper says of a trial: the version of Landlock's interface, a letter for
// each wall that is broken, and a digit for each file that it was to make.
func DecodeFound(line string, t Trial) (f Found, err error) {
	words := strings.Split(strings.TrimSuffix(line, "\n"), " ")
	if len(words) != 3 || len(words[2]) != len(t.Write) {
		return f, fmt.Errorf("the box says %q of its trial", line)
	}
	if f.Landlock, err = strconv.Atoi(words[0]); err != nil {
		return f, err
	}
	for _, letter := range words[1] {
		f.Broken = append(f.Broken, broken(letter)...)
	}
	for i, made := range words[2] {
		if made == '1' {
			f.Wrote = append(f.Wrote, t.Write[i])
		}
	}
	return f, nil
}

// broken are the walls for a letter of a trial. One that is not known stands for all.
func broken(letter rune) []Wall {
	switch letter {
	case 'r':
		return []Wall{WallReads}
	case 'n':
		return []Wall{WallNames}
	case 't':
		return []Wall{WallTruncation}
	case 's':
		return []Wall{WallNamespace, WallMemory}
	case 'e':
		return []Wall{WallProcesses}
	case 'k':
		return []Wall{WallSignals}
	case 'u':
		return []Wall{WallSockets}
	case 'a':
		return []Wall{WallAbstract}
	case 'g':
		return []Wall{WallPrivileges}
	case 'c':
		return []Wall{WallNetwork}
	case 'l':
		return []Wall{WallLandlock}
	}
	return walls()
}

// TrialFor is what to try in a box, by a name that no file has. Places that the box allows are
// not tried.
func TrialFor(b fleet.Box, with fleet.BoxTrial, name string) Trial {
	t := Trial{Canary: with.Files.Canary, Sockets: with.Sockets}
	for _, path := range clean([]string{with.Home, with.State}) {
		if !within(b.Write, path) {
			t.Write = append(t.Write, path+"/"+name)
		}
		// In a namespace the folders on the way to what is listed are there, and nothing else.
		if b.Layers.Namespaces == "" && !within(b.Write, path) && !within(b.Read, path) {
			t.Read = append(t.Read, path)
		}
	}
	return t
}
