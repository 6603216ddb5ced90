package box

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"stint/internal/fleet"
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
	WallSockets    Wall = "connect to the user bus, where systemd-run --user is a way out of the box, to agents for ssh and gpg keys, and to containers"
	WallMemory     Wall = "read and change memory that other processes share, such as files in /dev/shm"
	WallNames      Wall = "see the names of files outside, and change their modes and times"
	WallFixed      Wall = "change what lies in a folder that it may write, and is run outside the box"
	WallNetwork    Wall = "connect to other ports"
	// Two that show which layer holds; the others are made of them.
	WallLandlock  Wall = "do what Landlock refuses"
	WallNamespace Wall = "leave its namespaces"
)

// Versions of Landlock's interface.
const (
	abiPorts = 4 // Linux 6.7
	never    = math.MaxInt
)

// wall says what gives a wall.
type wall struct {
	Wall
	spaces   bool // namespaces do
	landlock int  // Landlock does from this version of its interface on
}

func walls() []wall {
	return []wall{
		{WallNamespace, true, never},
		{WallLandlock, false, 1},
		{WallWrites, true, 1},
		{WallReads, true, 1},
		{WallProcesses, true, 1},
		{WallPrivileges, true, 0},
		{WallTruncation, true, 3},
		{WallSignals, true, 6},
		{WallAbstract, false, 6},
		{WallSockets, true, 9},
		{WallMemory, true, never},
		{WallNames, true, never},
		{WallFixed, true, never},
		{WallNetwork, false, abiPorts},
	}
}

// Promised are the walls that the box has by the layers that it has.
func Promised(b fleet.Box) (list []Wall) {
	for _, w := range walls() {
		if w.spaces && b.Layers.Namespaces != "" || b.Layers.Landlock >= w.landlock {
			list = append(list, w.Wall)
		}
	}
	return list
}

// Missing are the walls that the box has not got on this machine, as sentences for a person.
func Missing(b fleet.Box) (list []string) {
	has := append(Promised(b), WallLandlock, WallNamespace)
	if b.Network == nil {
		has = append(has, WallNetwork)
	}
	for _, w := range walls() {
		switch kept := slices.Concat(b.Fixed, b.Hidden, b.Own.Private, b.Own.Copied); {
		case slices.Contains(has, w.Wall) || w.Wall == WallFixed && len(kept) == 0:
		case w.Wall == WallFixed:
			list = append(list, "an agent can change "+fleet.Listed(kept))
		default:
			list = append(list, "an agent can "+string(w.Wall))
		}
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
		return "neither Landlock nor namespaces: " + cmp.Or(l.Refused, `box = "landlock" asks for none`)
	case l.Namespaces == "" && b.Profile != fleet.BoxLandlock:
		return fmt.Sprintf("box = %q needs a namespace: %s", b.Profile, l.Refused)
	case l.Namespaces == "" && len(b.Hidden) > 0:
		return fleet.Listed(b.Hidden) + " lies in a folder that the agent may write or read: Landlock alone cannot hide it"
	case b.Network != nil && l.Landlock < abiPorts:
		return fmt.Sprintf("network: this kernel's Landlock has version %d, and ports take version %d (Linux 6.7)", l.Landlock, abiPorts)
	}
	return ""
}

// NoNamespaces returns the layers of a box if bubblewrap cannot make namespaces, with the remedy by the
// settings of the kernel. Each setting is of some distributions only.
func NoNamespaces(l fleet.BoxLayers, refused string, setting func(name string) string) fleet.BoxLayers {
	l.Namespaces, l.Refused = "", refused
	const apparmor, clone, most = "kernel.apparmor_restrict_unprivileged_userns", "kernel.unprivileged_userns_clone", "user.max_user_namespaces"
	switch {
	case setting(apparmor) == "1":
		l.Fix = "sudo sysctl " + apparmor + "=0, or a profile of AppArmor for bwrap that allows userns"
	case setting(clone) == "0":
		l.Fix = "sudo sysctl " + clone + "=1"
	case setting(most) == "0":
		l.Fix = "sudo sysctl " + most + "=15000"
	default:
		l.Fix = "have the machine, or the host of this container, allow user namespaces: bwrap --ro-bind / / true"
	}
	return l
}
