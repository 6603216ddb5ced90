package inside

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"stint/internal/box"
)

// The uses of a folder or a file that is listed. Those that the kernel's version of the interface
// does not know are left out.
const (
	readFile  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE
	readDir   = readFile | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeFile = readFile | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_IOCTL_DEV | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	writeDir = upToResolve
	// All that versions of the interface know, by the last access that came with each.
	upToSym      = unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1
	upToRefer    = unix.LANDLOCK_ACCESS_FS_REFER<<1 - 1
	upToTruncate = unix.LANDLOCK_ACCESS_FS_TRUNCATE<<1 - 1
	upToIoctl    = unix.LANDLOCK_ACCESS_FS_IOCTL_DEV<<1 - 1
	upToResolve  = unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX<<1 - 1
)

// forPorts is the kind of a rule for a port: what is allowed, and the port. The library has no name for it yet.
const forPorts = 2

// handled is what a version of the interface can restrict.
func handled(version int) (all unix.LandlockRulesetAttr) {
	files := []uint64{0, upToSym, upToRefer, upToTruncate, upToTruncate, upToIoctl, upToIoctl, upToIoctl, upToIoctl, upToResolve}
	all.Handled_access_fs = files[min(version, len(files)-1)]
	if version >= 4 {
		all.Handled_access_net = unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if version >= 10 {
		all.Handled_access_net |= unix.LANDLOCK_ACCESS_NET_CONNECT_SEND_UDP
	}
	if version >= 6 {
		all.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return all
}

// The three calls of Landlock. A library for them would restrict all threads of a process, by a
// signal to each, and what that needs would take a fourth of the time of each start of this program.

func abi() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}

func createRules(all *unix.LandlockRulesetAttr) (rules int, err error) {
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(all)), unsafe.Sizeof(*all), 0) //nolint:gosec // the kernel's interface
	if errno != 0 {
		return 0, errno
	}
	return int(fd), nil
}

func addRule(rules int, kind uintptr, rule unsafe.Pointer) error {
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), kind, uintptr(rule), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

func restrictThread(rules int) error {
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// restrict puts this thread, and the program that it becomes, behind Landlock as far as the kernel
// has it. Whether that is far enough, who made the order finds out by a trial.
func restrict(o box.Order) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("forgo privileges: %w", err)
	}
	version := abi()
	if version == 0 {
		return nil
	}
	all := handled(version)
	if !o.Files {
		all.Handled_access_fs = 0
	}
	switch {
	case o.Network == nil:
		all.Handled_access_net = 0
	case len(*o.Network) > 0: // names of hosts are asked for by UDP
		all.Handled_access_net &= unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if all == (unix.LandlockRulesetAttr{}) {
		return nil
	}
	rules, err := createRules(&all)
	if err != nil {
		return fmt.Errorf("make rules of Landlock: %w", err)
	}
	defer unix.Close(rules) //nolint:errcheck // they are in force, or nothing is
	if o.Files {
		for _, path := range o.Read {
			err = errors.Join(err, allow(rules, path, readDir&all.Handled_access_fs, readFile&all.Handled_access_fs))
		}
		for _, path := range o.Write {
			err = errors.Join(err, allow(rules, path, writeDir&all.Handled_access_fs, writeFile&all.Handled_access_fs))
		}
	}
	if o.Network != nil && all.Handled_access_net != 0 {
		for _, port := range *o.Network {
			rule := [2]uint64{unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, uint64(port)} //nolint:gosec // the configuration has checked it
			err = errors.Join(err, addRule(rules, forPorts, unsafe.Pointer(&rule)))
		}
	}
	if err == nil {
		err = restrictThread(rules)
	}
	if err != nil {
		return fmt.Errorf("restrict by Landlock: %w", err)
	}
	return nil
}

// allow adds a rule for a folder or a file, whichever it is. For one that is missing there is none.
func allow(rules int, path string, folder, file uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer unix.Close(fd) //nolint:errcheck // it was only looked at
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	rule := unix.LandlockPathBeneathAttr{Parent_fd: int32(fd), Allowed_access: file} //nolint:gosec // it is a descriptor
	if stat.Mode&unix.S_IFMT == unix.S_IFDIR {
		rule.Allowed_access = folder
	}
	if err := addRule(rules, unix.LANDLOCK_RULE_PATH_BENEATH, unsafe.Pointer(&rule)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
