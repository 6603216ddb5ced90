package box

import (
	"fmt"
	"slices"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Wall is one thing that a box keeps a process from.
type Wall string

const (
	WallWrites     Wall = "write files outside"
	WallReads      Wall = "read files outside"
	WallProcesses  Wall = "read the memory and the environment of other processes"
	WallPrivileges Wall = "gain privileges by setuid programs"
	WallTruncation Wall = "truncate files outside"
	WallSignals    Wall = "send signals to other processes"
	WallAbstract   Wall = "connect to abstract sockets"
	WallSockets    Wall = "connect to the user bus, to agents for ssh and gpg keys, and to containers"
	WallMemory     Wall = "read and change memory that other processes share, such as files in /dev/shm"
	WallNames      Wall = "see the names of files outside, and change their modes and times"
	WallFixed      Wall = "change what lies in a folder that it may write, and is run outside the box"
	WallNetwork    Wall = "connect to other ports"
	// Two that show which layer holds.
	WallLandlock  Wall = "do what Landlock refuses"
	WallNamespace Wall = "leave its namespaces"
)

// Versions of Landlock's interface from which it gives a wall.
const (
	abiTruncate = 3
	abiPorts    = 4 // Linux 6.7
	abiScopes   = 6
	abiSockets  = 9
)

// holds reports whether the layers give a wall.
func holds(w Wall, b fleet.Box) bool {
	l := b.Layers
	abi, spaces := l.Landlock, l.Namespaces != ""
	if b.Nested && w != WallAbstract && w != WallSignals && w != WallProcesses && w != WallLandlock {
		abi = min(abi, 0) // its rules for files would keep it from mounting anything
	}
	switch w {
	case WallPrivileges:
		return true
	case WallTruncation:
		return spaces || abi >= abiTruncate
	case WallSignals:
		return spaces || abi >= abiScopes
	case WallAbstract:
		return l.Landlock >= abiScopes
	case WallSockets:
		return spaces || abi >= abiSockets
	case WallMemory, WallNames, WallFixed, WallNamespace:
		return spaces
	case WallNetwork:
		return l.Landlock >= abiPorts
	case WallLandlock:
		return !b.Nested && abi > 0
	case WallWrites, WallReads, WallProcesses:
	}
	return spaces || abi > 0
}

// Promised are the walls that the box has by the layers that it has.
func Promised(b fleet.Box) []Wall {
	return plain.Kept(walls(), func(w Wall) bool { return holds(w, b) })
}

func walls() []Wall {
	return []Wall{
		WallNamespace, WallLandlock, // of which the others are made
		WallWrites, WallReads, WallProcesses, WallPrivileges, WallTruncation, WallSignals, WallAbstract, WallSockets, WallMemory, WallNames, WallFixed,
		WallNetwork,
	}
}

// Missing are the walls that the box has not got on this machine, as sentences for a person.
func Missing(b fleet.Box) (list []string) {
	for _, w := range walls() {
		none := w == WallLandlock || w == WallNamespace || w == WallNetwork && b.Network == nil ||
			w == WallFixed && len(b.Fixed)+len(b.Hidden) == 0
		if none || holds(w, b) {
			continue
		}
		text := "an agent can " + string(w)
		if w == WallFixed {
			text = "an agent can change " + fleet.Listed(slices.Concat(b.Fixed, b.Hidden))
		}
		list = append(list, text)
	}
	return list
}

// Refusal says why the layers do not do for the box, or "".
func Refusal(b fleet.Box) string {
	l := b.Layers
	switch {
	case b.Open():
		return ""
	case l.Namespaces == "" && l.Landlock == 0:
		return "neither Landlock nor namespaces: " + l.Refused
	case l.Namespaces == "" && b.Profile == fleet.BoxStrict:
		return `box = "strict" needs a namespace: ` + l.Refused
	case l.Namespaces == "" && b.Nested:
		return "a sandbox of the agent's own, within the box, needs a namespace: " + l.Refused
	case l.Namespaces == "" && len(b.Hidden) > 0:
		return fleet.Listed(b.Hidden) + " lies in a folder that the agent may write or read: Landlock alone cannot hide it"
	case b.Network != nil && l.Landlock < abiPorts:
		return fmt.Sprintf("network: this kernel's Landlock has version %d, and ports take version %d (Linux 6.7)", l.Landlock, abiPorts)
	}
	return ""
}
