package box

import (
	"encoding/json"

	"stint/internal/fleet"
)

// Helper is the word by which stint is started as the first process in a box.
const Helper = "boxed"

// Order is what that process is to do: to restrict itself, and then to become a program, or to
// try its walls.
type Order struct {
	Read, Write []string
	Files       bool   // the rules for files: not where the process makes a sandbox of its own
	Network     *[]int // nil: no rules for ports
	Keep        int    // descriptors from 3 on that the program gets; others are closed
	Report      int    // the descriptor on which it says that the box is made; 0: nobody asks
	Try         *Trial // nil: it becomes the program
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
// and its arguments.
func (o Order) Command(stint string) []string {
	text, _ := json.Marshal(o) // of strings and numbers alone
	return []string{stint, Helper, string(text)}
}

// TrialFor is what to try in a box, by a name that no file has. Places that the box allows are
// not tried.
func TrialFor(b fleet.Box, with fleet.BoxTrial, name string) Trial {
	t := Trial{Canary: with.Canary, Sockets: with.Sockets}
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
