package box

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"stint/internal/fleet"
)

// Namespace is the command line by which bubblewrap runs a command in namespaces of its own, of
// which only what the box lists is there. Its root is empty, and what is mounted goes over it,
// the outer before the inner.
//
// It does not die with its parent: when the agent has ended, the processes that it
// left are asked to end, as they are without a namespace.
func Namespace(b fleet.Box, dir string, command []string) []string {
	argv := []string{b.Layers.Namespaces, "--unshare-pid", "--unshare-ipc", "--proc", "/proc", "--dev", "/dev"}
	if b.Network != nil && len(*b.Network) == 0 {
		argv = append(argv, "--unshare-net")
	}
	if b.Tmp == "" {
		argv = append(argv, "--tmpfs", "/tmp")
	} else {
		argv = append(argv, "--bind", b.Tmp, "/tmp")
	}
	how := mounts(b)
	for _, path := range slices.Sorted(maps.Keys(how)) { // the outer before the inner
		switch way := how[path]; way {
		case "--tmpfs":
			argv = append(argv, way, path)
		case "--symlink":
			argv = append(argv, way, b.Links[path], path)
		case copied:
			argv = append(argv, "--bind", b.Copy(path), path)
		default:
			argv = append(argv, way, path, path)
		}
	}
	for _, path := range append([]string{"/"}, b.Hidden...) { // after what is mounted below them
		argv = append(argv, "--remount-ro", path)
	}
	return slices.Concat(argv, []string{"--chdir", dir, "--"}, command)
}

// copied has a file of the agent's own be the run's copy of it.
const copied = "copy"

// mounts says for each path how it gets into the namespace, which has its own /proc and /dev.
func mounts(b fleet.Box) map[string]string {
	how := map[string]string{}
	bind := func(way, path string) {
		if strings.HasPrefix(path, "/dev/") {
			way = "--dev-bind-try"
		}
		how[path] = way
	}
	for _, path := range b.Read {
		// What lies in a folder that is listed is there already; below what may be written it would be for reading only.
		if up := nearest(b, path); (up == "" || up == "/proc" || up == "/dev") && path != "/proc" && path != "/dev" {
			bind("--ro-bind-try", path)
		}
	}
	for _, path := range b.Write {
		bind("--bind-try", path)
	}
	for _, path := range slices.Concat(b.Hidden, b.Own.Private) {
		how[path] = "--tmpfs"
	}
	for _, path := range b.Own.Copied {
		how[path] = copied
	}
	for _, path := range b.Fixed {
		how[path] = "--ro-bind-try"
	}
	// A folder that is mounted cannot be renamed. One on the way to what is fixed or hidden
	// could else be moved away with it, and another made in its place.
	for _, path := range slices.Concat(b.Fixed, b.Hidden) {
		for up := filepath.Dir(path); Within(b.Write, up) && !Within(b.Own.Private, up); up = filepath.Dir(up) {
			how[up] = cmp.Or(how[up], "--bind-try")
		}
	}
	for link := range b.Links {
		outer := ""
		for path := range how {
			if path != link && covers(path, link) && len(path) > len(outer) {
				outer = path
			}
		}
		below := func(path string) bool { return path != link && covers(link, path) }
		free := nearest(b, link) == "" && !slices.ContainsFunc(slices.Collect(maps.Keys(how)), below)
		switch {
		// It is there, and bubblewrap 0.11 mounts nothing on a link: what it leads to is mounted. That ends a session if the link is
		// fixed, for it could be replaced.
		case strings.Contains(how[outer], "bind") && !slices.Contains(b.Fixed, link):
			delete(how, link)
		// A program may look for its other files beside what its link leads to. Nothing can be mounted below a link.
		case free && how[link] == "--ro-bind-try" && slices.Contains(b.Read, link):
			how[link] = "--symlink"
		}
	}
	return how
}

// nearest is the folder closest above a path that is listed, unless that is a hidden one.
func nearest(b fleet.Box, path string) (folder string) {
	for _, above := range slices.Concat(b.Read, b.Write, b.Hidden) {
		if above != path && covers(above, path) && len(above) > len(folder) {
			folder = above
		}
	}
	if slices.Contains(b.Hidden, folder) {
		return ""
	}
	return folder
}
