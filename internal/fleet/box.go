package fleet

import (
	"fmt"
	"slices"
	"strings"
)

// BoxProfile is a degree to which the box around an agent is closed.
type BoxProfile string

const (
	// BoxWorkspace lets a process write where it works, and read the system and its tools.
	BoxWorkspace BoxProfile = "workspace"
	// BoxStrict lets it read only what is listed for it, beside what programs need to start.
	BoxStrict BoxProfile = "strict"
	// BoxLandlock is BoxWorkspace without namespaces, and weaker.
	BoxLandlock BoxProfile = "landlock"
	// BoxOpen is no box.
	BoxOpen BoxProfile = "open"
)

// Box lists the parts of the machine that a process may reach; both layers go by it. The zero
// Box is open.
type Box struct {
	Profile BoxProfile
	Read    []string          // files, and folders with all that is in them
	Links   map[string]string // of these paths those that are links, and what they lead to, which is there as well
	Write   []string          // and read
	Own     Own               // what an agent keeps for itself; of Write, but for the settings
	Fixed   []string          // below Write, and not to be changed
	Made    []string          // what stint makes where it is missing: else a process could, or could not
	Hidden  []string          // folders below Read or Write that are not to be seen
	Git     string            // among Read: the settings that git goes by in place of those in the home folder; empty: these
	Tmp     string            // the folder that it has for /tmp
	Network *[]int            // the TCP ports that it may connect to; nil: all, and all other protocols
	Layers  BoxLayers
}

// Own lists what a program keeps for itself. A process in a namespace changes nothing of it but what is shared: else it could
// plant what the person's next start of the program runs.
type Own struct {
	Private []string // folders that are empty to it but for what follows, and lose what it makes there
	Copied  []string // files of which it has a copy
	Shared  []string // in these folders, the login and the sessions
	Fixed   []string // in these folders, the settings
}

// And is what two programs keep for themselves.
func (o Own) And(p Own) Own {
	return Own{
		slices.Concat(o.Private, p.Private), slices.Concat(o.Copied, p.Copied),
		slices.Concat(o.Shared, p.Shared), slices.Concat(o.Fixed, p.Fixed),
	}
}

// All are its folders and files.
func (o Own) All() []string { return slices.Concat(o.Private, o.Copied, o.Shared, o.Fixed) }

// Copy is where the copy of a file of the agent's own is, in the folder of the run.
func (b Box) Copy(path string) string { return b.Tmp + strings.ReplaceAll(path, "/", "-") }

// Open reports whether there is no box.
func (b Box) Open() bool { return b.Profile == "" || b.Profile == BoxOpen }

// BoxLayers are the layers that hold a box on this machine.
type BoxLayers struct {
	Landlock   int    // the version of the kernel's interface; 0: it has none
	Namespaces string // the program that makes them; empty: they cannot be made
	Refused    string // why they cannot
	Fix        string // what a person can do about it
}

// String is the profile, and the layers that hold it.
func (b Box) String() string {
	if b.Open() {
		return string(BoxOpen)
	}
	var layers []string
	if b.Layers.Landlock > 0 {
		layers = append(layers, fmt.Sprintf("Landlock %d", b.Layers.Landlock))
	}
	if b.Layers.Namespaces != "" {
		layers = append(layers, "namespaces")
	}
	return string(b.Profile) + " by " + strings.Join(layers, " and ")
}

// BoxTrial has the inputs for the trial of a box.
type BoxTrial struct {
	Files       RunFiles
	Home, State string
	Dir         string   // where the session is to work; it need not be there yet
	Sockets     []string // by which other programs of the user are asked to act
}
