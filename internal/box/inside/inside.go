// Package inside is the first process in a box: stint, called by another word. It closes what
// it was not given, restricts itself by Landlock, and becomes the program; or it tries its
// walls. No later program can undo it.
//
// It must do nothing else: it runs before every agent and every check.
package inside

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"runtime"

	"github.com/landlock-lsm/go-landlock/landlock"
	"github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"stint/internal/box"
)

// Status is that of a box that could not be made.
const Status = 126

// Main does what the order says. args are the order, the program's path, and its arguments
// from its name on.
func Main(args []string) int {
	runtime.LockOSThread() // the mask of signals is this thread's
	var o box.Order
	if len(args) == 0 {
		return fail(o, errors.New("no order"))
	}
	if err := json.Unmarshal([]byte(args[0]), &o); err != nil {
		return fail(o, fmt.Errorf("order: %w", err))
	}
	// The program gets what it is to have, and not what others forgot to close.
	if err := unix.CloseRange(uint(3+o.Keep), math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fail(o, fmt.Errorf("close descriptors: %w", err))
	}
	if err := restrict(o); err != nil {
		return fail(o, err)
	}
	if err := dropCapabilities(); err != nil {
		return fail(o, err)
	}
	if o.Try != nil {
		return say(os.Stdout, try(o))
	}
	if len(args) < 3 {
		return fail(o, errors.New("no program"))
	}
	// Its supervisor blocked SIGTERM, which is for the program and not for what carries it.
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &unix.Sigset_t{}, nil); err != nil {
		return fail(o, fmt.Errorf("unblock signals: %w", err))
	}
	_ = os.Unsetenv("PWD") // bubblewrap's doing; nobody has listed it
	report(o, "ok\n")
	return fail(o, unix.Exec(args[1], args[2:], os.Environ()))
}

func say(f *os.File, found box.Found) int {
	if err := json.NewEncoder(f).Encode(found); err != nil {
		return Status
	}
	return 0
}

// report writes to who waits for the box to be made. Exec closes that descriptor.
func report(o box.Order, text string) {
	if o.Report > 0 {
		_, _ = unix.Write(o.Report, []byte(text))
	}
}

func fail(o box.Order, err error) int {
	report(o, err.Error())
	if o.Report == 0 {
		fmt.Fprintf(os.Stderr, "stint %s: %v\n", box.Helper, err)
	}
	return Status
}

func abi() int {
	version, err := syscall.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return version
}

// restrict puts this process, and all that come after it, behind Landlock as far as the kernel
// has it. Whether that is far enough, who made the order finds out by a trial.
func restrict(o box.Order) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("forgo privileges: %w", err)
	}
	version, c := abi(), landlock.V11
	if version == 0 {
		return nil
	}
	var rules []landlock.Rule
	switch ports := o.Network; {
	case ports == nil:
		c.HandledAccessNet = 0
	case len(*ports) == 0:
		c.HandledAccessNet = syscall.AccessNetConnectTCP | syscall.AccessNetConnectSendUDP
	default: // names of hosts are asked for by UDP
		c.HandledAccessNet = syscall.AccessNetConnectTCP
		for _, port := range *ports {
			rules = append(rules, landlock.ConnectTCP(uint16(port))) //nolint:gosec // the configuration has checked it
		}
	}
	if !o.Files {
		c.HandledAccessFS = 0
		return c.BestEffort().Restrict(rules...)
	}
	for _, path := range o.Read {
		rules = append(rules, rule(path, landlock.RODirs, landlock.ROFiles))
	}
	for _, path := range o.Write {
		r := rule(path, landlock.RWDirs, landlock.RWFiles).WithIoctlDev().WithResolveUnix()
		if version > 1 && isDir(path) {
			r = r.WithRefer() // files may be moved between folders
		}
		rules = append(rules, r)
	}
	// All at once: each call stops all threads of this process for a moment.
	return c.BestEffort().Restrict(rules...)
}

// dropCapabilities leaves root with what any user may do to its own files and processes.
// The bounding set is dropped, too: programs that it starts would get them back by it.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return fmt.Errorf("read capabilities: %w", err)
	}
	if sets[0].Permitted|sets[1].Permitted == 0 {
		return nil
	}
	for c := range uintptr(unix.CAP_LAST_CAP + 1) {
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) // one that the kernel does not know, or that may not be dropped
	}
	sets = [2]unix.CapUserData{}
	if err := unix.Capset(&header, &sets[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

// rule is for a folder or a file, whichever it is. One that is missing is none.
func rule(path string, folder, file func(...string) landlock.FSRule) landlock.FSRule {
	if isDir(path) {
		return folder(path).IgnoreIfMissing()
	}
	return file(path).IgnoreIfMissing()
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// try returns which walls do not stand.
func try(o box.Order) box.Found {
	t, found := *o.Try, box.Found{Landlock: abi()}
	through := func(w box.Wall, got bool) {
		if got {
			found.Broken = append(found.Broken, w)
		}
	}
	for _, path := range t.Write {
		if f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			f.Close()
			found.Wrote = append(found.Wrote, path)
		}
	}
	for _, path := range append(t.Read, t.Canary) {
		through(box.WallReads, reads(path))
	}
	_, err := os.Lstat(t.Canary)
	through(box.WallNames, err == nil || os.Chmod(t.Canary, 0o600) == nil)
	if info, err := os.Lstat(t.Canary); err == nil {
		through(box.WallTruncation, os.Truncate(t.Canary, info.Size()) == nil)
	}
	apart := spacesDiffer(t.Spaces)
	through(box.WallNamespace, !apart)
	if !apart {
		through(box.WallProcesses, reads(fmt.Sprintf("/proc/%d/environ", t.Supervisor)))
		through(box.WallSignals, unix.Kill(t.Supervisor, 0) == nil)
	}
	for _, path := range t.Sockets {
		through(box.WallSockets, connects(path))
	}
	if t.Abstract != "" {
		through(box.WallAbstract, connects("@"+t.Abstract))
	}
	privileges, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	through(box.WallPrivileges, privileges != 1 || err != nil)
	through(box.WallNetwork, o.Network != nil && reaches(*o.Network))
	// The root is not listed. Only Landlock refuses to list it.
	through(box.WallLandlock, reads("/"))
	return found
}

// reads reports whether a file can be opened for reading, or a folder be listed. Through a
// namespace, an empty folder may stand for it.
func reads(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	names, err := f.Readdirnames(1)
	return len(names) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) && isFile(f)
}

func isFile(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && !info.IsDir()
}

func connects(path string) bool {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
	return err == nil || errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ECONNREFUSED)
}

// reaches reports whether a port that is not listed may be asked for. Landlock says no before
// anything is sent.
func reaches(ports []int) bool {
	port := 9
	for i := 0; i < len(ports); i++ {
		if ports[i] == port {
			port, i = port+1, -1
		}
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	err = unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	return !errors.Is(err, unix.EACCES)
}

func spacesDiffer(theirs []string) bool {
	for i, own := range Spaces() {
		if i >= len(theirs) || own == theirs[i] {
			return false
		}
	}
	return true
}

// Spaces are the namespaces of this process that a box has others for.
func Spaces() (list []string) {
	for _, name := range []string{"mnt", "pid", "ipc"} {
		link, _ := os.Readlink("/proc/self/ns/" + name)
		list = append(list, link)
	}
	return list
}
