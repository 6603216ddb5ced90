// Package inside is the first process in a box: stint, called by another word. It closes what
// it was not given, restricts itself by Landlock, and becomes the program. Before a session it
// tries its walls first, and waits until the run has its claim. No later program can undo it.
//
// It must do nothing else: it runs before every agent and every check. It is written in C, in
// first.c, and a program that this package is linked into is that process before its main begins.
package inside

import (
	"C"
	"os"
)

// Spaces are the namespaces of this process that a box has others for.
func Spaces() (list []string) {
	for _, name := range []string{"mnt", "pid", "ipc"} {
		link, _ := os.Readlink("/proc/self/ns/" + name)
		list = append(list, link)
	}
	return list
}
