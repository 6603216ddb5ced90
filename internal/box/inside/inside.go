// Package inside is the first process in a box: stint, called by another word. It restricts itself, tries the
// walls of the box, and becomes the program. No later program can undo what it did.
//
// It runs before every agent and every check, so it must do nothing else.
package inside

import (
	"bytes"
	"encoding/base64"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	kernel "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"stint/internal/box"
	"stint/internal/fleet"
)

// Word is the argument by which stint is started as the first process in a box.
const Word = "boxed"

// Held is the report of a session's process that becomes the agent. Any other report says why it does not.
const Held = "held"

// Descriptors of a session's process. Others than these three and the lock of the run are closed.
const (
	alive  = 3 // the lock of the run, for the agent
	values = 4 // the agent's environment, a NUL after each variable
	report = 5
	stderr = 6 // the agent's: until it is the agent, standard error is for what makes the box
)

// Failed is the exit status of a box that could not be made, or does not hold.
const Failed = 126

// Order says what the process is to do. It gets no program: then it tries the walls and ends.
type Order struct {
	Box     fleet.Box
	Trial   *Trial // nil: the walls are not tried
	Session bool   // the process becomes an agent, with the descriptors above
	Ports   bool   // the box has a list of ports, which may be empty
}

// Trial lists the attempts to make from inside. None of them may work.
type Trial struct {
	Name       string   // of an abstract socket that the supervisor listens on, and of the files to make
	Canary     string   // a file in the folder of the run
	Folders    []Folder // to list and to make a file in, unless the box has them
	Private    []Folder // that the process must have others in place of
	Sockets    []string // to connect to
	Supervisor int      // its process
	Spaces     []string // its namespaces, see [Spaces]
}

// Folder is a folder as a process sees it. In a namespace, another one may have its path.
type Folder struct {
	Path          string
	Device, Inode uint64
}

// At is the folder that this process sees at a path. Where none is, its numbers are zero.
func At(path string) Folder {
	var s unix.Stat_t
	_ = unix.Stat(path, &s)
	return Folder{path, s.Dev, s.Ino}
}

// Spaces are the namespaces of this process that a box has others for.
func Spaces() (list []string) {
	for _, name := range []string{"mnt", "pid", "ipc"} {
		link, _ := os.Readlink("/proc/self/ns/" + name)
		list = append(list, link)
	}
	return list
}

// Command is the command line that has stint follow the order and become the program. A program is its path, and
// its arguments from its name on.
func (o Order) Command(stint string, program ...string) []string {
	o.Ports = o.Box.Network != nil // gob has no empty lists
	var text bytes.Buffer
	_ = gob.NewEncoder(&text).Encode(o) // the buffer takes it, and half an order is refused
	return append([]string{stint, Word, base64.StdEncoding.EncodeToString(text.Bytes())}, program...)
}

// Main is that process: it follows the order, which is its first argument, for the program in the others. It returns
// the exit status, unless the process becomes the program.
func Main(args []string) int {
	// Landlock, privileges and capabilities are a thread's. This one becomes the program.
	runtime.LockOSThread()
	var o Order
	err := gob.NewDecoder(base64.NewDecoder(base64.StdEncoding, strings.NewReader(args[0]))).Decode(&o)
	if o.Ports && o.Box.Network == nil {
		o.Box.Network = &[]int{}
	}
	if err == nil {
		err = o.follow(args[1:])
	}
	if err == nil {
		return 0
	}
	said := os.Stderr
	if o.Session {
		said = os.NewFile(report, "report")
	}
	fmt.Fprintln(said, err)
	return Failed
}

// follow returns nil if the walls hold and there is no program.
func (o Order) follow(program []string) error {
	// PWD is bubblewrap's doing.
	environment, others := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PWD=") }), uint(alive)
	if o.Session {
		text, err := io.ReadAll(os.NewFile(values, "environment"))
		if err != nil {
			return err
		}
		environment, others = strings.FieldsFunc(string(text), func(r rune) bool { return r == 0 }), values
	}
	if err := unix.CloseRange(others, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close descriptors: %w", err)
	}
	if refusal := box.Refusal(o.Box); refusal != "" {
		return errors.New(refusal)
	}
	if err := errors.Join(restrict(o.Box), dropCapabilities()); err != nil {
		return err
	}
	if o.Trial != nil {
		broken := o.Trial.broken(o.Box)
		for _, w := range box.Promised(o.Box) {
			if slices.Contains(broken, w) {
				return fmt.Errorf("the box does not hold: from inside, a process can %s", w)
			}
		}
	}
	if len(program) == 0 {
		return nil
	}
	if o.Session {
		if err := unix.Dup3(stderr, 2, 0); err != nil {
			return err
		}
		if _, err := unix.Write(report, []byte(Held)); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %w", program[0], syscall.Exec(program[0], program[1:], environment))
}

// configs are all that each version of Landlock's interface can restrict.
func configs() []landlock.Config {
	return []landlock.Config{
		landlock.V1, landlock.V2, landlock.V3, landlock.V4, landlock.V5, landlock.V6, landlock.V7, landlock.V8, landlock.V9, landlock.V10,
		landlock.V11,
	}
}

// Landlock is the version of the kernel's interface. 0 means that the kernel has none.
func Landlock() int {
	version, err := kernel.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	// Before this was repaired, a process could not signal its own threads. The library takes it for version 5.
	const threads = 1 << 1
	if errata, err := kernel.LandlockGetErrata(); version > 5 && (err != nil || errata&threads == 0) {
		version = 5
	}
	return min(version, len(configs()))
}

// restrict puts this thread, and the program that it becomes, behind Landlock. It asks for exactly the version
// that the box has, never for the best effort: that may restrict nothing without an error.
func restrict(b fleet.Box) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("forgo privileges: %w", err)
	}
	if b.Layers.Landlock == 0 {
		return nil
	}
	config := configs()[b.Layers.Landlock-1]
	var rules []landlock.Rule
	allow := func(rights landlock.AccessFSSet, paths []string) {
		for _, path := range paths {
			may := rights & config.HandledAccessFS
			if info, err := os.Stat(path); err != nil || !info.IsDir() {
				may &= kernel.AccessFSExecute | kernel.AccessFSReadFile | kernel.AccessFSWriteFile | kernel.AccessFSTruncate |
					kernel.AccessFSIoctlDev | kernel.AccessFSResolveUnix
			}
			rules = append(rules, landlock.PathAccess(may, path).IgnoreIfMissing())
		}
	}
	allow(kernel.AccessFSExecute|kernel.AccessFSReadFile|kernel.AccessFSReadDir, b.Read)
	allow(config.HandledAccessFS, box.Writable(b))
	switch {
	case b.Network == nil:
		config.HandledAccessNet = 0
	case len(*b.Network) == 0:
		config.HandledAccessNet &= kernel.AccessNetConnectTCP | kernel.AccessNetConnectSendUDP
	default:
		config.HandledAccessNet &= kernel.AccessNetConnectTCP // names of hosts are asked for by UDP
		for _, port := range *b.Network {
			rules = append(rules, landlock.ConnectTCP(uint16(port))) //nolint:gosec // the configuration bounds it
		}
	}
	rights, flags, err := config.NewRulesetFD(rules...)
	if err == nil && rights >= 0 {
		err = kernel.LandlockRestrictSelf(rights, flags)
	}
	if err != nil {
		return fmt.Errorf("restrict by Landlock: %w", err)
	}
	return nil
}

// dropCapabilities leaves root with what any user may do to its own files and processes. The bounding set is
// dropped as well: programs that it starts would get them back by it.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	for c := range uintptr(64) {
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) // one that the kernel does not know, or that may not be dropped
	}
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

// broken are the walls that this process could get through.
func (t Trial) broken(b fleet.Box) (list []box.Wall) {
	through := func(got bool, walls ...box.Wall) {
		if got {
			list = append(list, walls...)
		}
	}
	for _, f := range t.Folders {
		there := f.Inode != 0 && f == At(f.Path)
		through(there && !box.Within(b.Write, f.Path) && makes(f.Path+"/"+t.Name), box.WallWrites)
		through(there && !box.Within(slices.Concat(b.Read, b.Write), f.Path) && reads(f.Path), box.WallReads)
	}
	through(reads(t.Canary), box.WallReads)
	info, err := os.Lstat(t.Canary)
	through(err == nil || os.Chmod(t.Canary, 0o600) == nil, box.WallNames)
	through(err == nil && os.Truncate(t.Canary, info.Size()) == nil, box.WallTruncation)
	through(slices.ContainsFunc(b.Fixed, func(path string) bool { return unix.Access(path, unix.W_OK) == nil }), box.WallFixed)
	through(slices.ContainsFunc(t.Private, func(f Folder) bool { return f == At(f.Path) }), box.WallFixed)
	apart := slices.EqualFunc(t.Spaces, Spaces(), func(theirs, ours string) bool { return ours != "" && ours != theirs })
	through(!apart, box.WallNamespace, box.WallMemory)
	through(!apart && reads(fmt.Sprintf("/proc/%d/environ", t.Supervisor)), box.WallProcesses)
	through(!apart && syscall.Kill(t.Supervisor, 0) == nil, box.WallSignals)
	connects := func(path string) bool {
		err := attempt(unix.AF_UNIX, &unix.SockaddrUnix{Name: path})
		return err == nil || errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ECONNREFUSED)
	}
	through(slices.ContainsFunc(t.Sockets, connects), box.WallSockets)
	through(connects("@"+t.Name), box.WallAbstract)
	forgone, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	through(err != nil || forgone != 1, box.WallPrivileges)
	through(b.Network != nil && reaches(*b.Network), box.WallNetwork)
	through(reads("/"), box.WallLandlock) // the root is not listed: only Landlock refuses to list it
	return list
}

// makes reports whether a file can be made. It is removed.
func makes(path string) bool {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return false
	}
	_, _ = unix.Close(fd), unix.Unlink(path) // that it was made is the fault
	return true
}

// reads reports whether a file can be opened for reading, or a folder be listed. In a namespace, an empty folder
// may stand for it.
func reads(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.IsDir() {
		return true
	}
	names, _ := f.Readdirnames(1)
	return len(names) > 0
}

// reaches reports whether a port that is not listed may be asked for. Landlock says no before anything is sent.
func reaches(ports []int) bool {
	port := 9
	for slices.Contains(ports, port) {
		port++
	}
	err := attempt(unix.AF_INET, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	return !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EAFNOSUPPORT)
}

// attempt connects to an address, and says why not.
func attempt(domain int, to unix.Sockaddr) error {
	fd, err := unix.Socket(domain, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	return unix.Connect(fd, to)
}
