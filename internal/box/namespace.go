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
	for _, path := range slices.SortedFunc(maps.Keys(how), byOrder) {
		switch how[path] {
		case "--tmpfs":
			argv = append(argv, how[path], path)
		case "--symlink":
			at := slices.IndexFunc(b.Links, func(l fleet.Link) bool { return l.Path == path })
			argv = append(argv, how[path], b.Links[at].Target, path)
		default:
			argv = append(argv, how[path], path, path)
		}
	}
	for _, path := range append([]string{"/"}, b.Hidden...) { // after what is mounted below them
		argv = append(argv, "--remount-ro", path)
	}
	return slices.Concat(argv, []string{"--chdir", dir, "--"}, command)
}

// mounts says for each path how it gets into the namespace.
func mounts(b fleet.Box) map[string]string {
	how := map[string]string{}
	for _, path := range b.Read {
		if up := nearest(b, path); up != "" && up != "/proc" && up != "/dev" { // of which it has its own
			continue // it is there already; below what may be written it would be for reading only
		}
		switch {
		case path == "/proc" || path == "/dev": // it has its own
		case strings.HasPrefix(path, "/dev/"):
			how[path] = "--dev-bind-try"
		default:
			how[path] = "--ro-bind-try"
		}
	}
	for _, path := range b.Write {
		if strings.HasPrefix(path, "/dev/") {
			how[path] = "--dev-bind-try"
		} else {
			how[path] = "--bind-try"
		}
	}
	for _, path := range b.Hidden {
		how[path] = "--tmpfs"
	}
	for _, path := range b.Fixed {
		how[path] = "--ro-bind-try"
	}
	// A folder that is mounted cannot be renamed. One on the way to what is fixed or hidden
	// could else be moved away with it, and another made in its place.
	for _, path := range slices.Concat(b.Fixed, b.Hidden) {
		for up := filepath.Dir(path); within(b.Write, up); up = filepath.Dir(up) {
			if how[up] == "" {
				how[up] = "--bind-try"
			}
		}
	}
	// A link takes a tenth of a mount's time. Nothing can be mounted below it.
	for _, l := range b.Links {
		below := func(path string) bool { return path != l.Path && covers(l.Path, path) }
		if how[l.Path] == "--ro-bind-try" && nearest(b, l.Path) == "" && !slices.ContainsFunc(slices.Collect(maps.Keys(how)), below) {
			how[l.Path] = "--symlink"
		}
	}
	return how
}

// byOrder has the outer before the inner. The tree /sys brings mounts of its own with it, which bubblewrap would
// read again at each mount after that.
func byOrder(a, b string) int {
	last := func(path string) int {
		if covers("/sys", path) {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(last(a), last(b)), cmp.Compare(a, b))
}

// Least is the box without what may be read because its folder may be.
func Least(b fleet.Box) fleet.Box {
	all := b
	b.Read = slices.DeleteFunc(slices.Clone(b.Read), func(path string) bool {
		up := nearest(all, path)
		return up != "" && !covers("/proc", up) && !covers("/dev", up)
	})
	b.Links = slices.DeleteFunc(slices.Clone(b.Links), func(l fleet.Link) bool { return !slices.Contains(b.Read, l.Path) })
	return b
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
