// Package inside is the first process in a box: stint, called by another word. It closes what
// it was not given, restricts itself by Landlock, and becomes the program. Before a session it
// tries its walls first, and waits until the run has its claim. No later program can undo it.
//
// It must do nothing else: it runs before every agent and every check.
package inside

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"stint/internal/box"
)

// Status is that of a box that could not be made.
const Status = 126

// Main does what the order says. args are the order, and unless the process is to wait for them, the
// program's path, and its arguments from its name on.
func Main(args []string) int {
	// Landlock restricts this thread, and it becomes the program: the others end with that.
	runtime.LockOSThread()
	o, err := enclosed(args)
	switch {
	case err != nil:
	case o.Try != nil:
		err = tryAndWait(o)
	case len(args) < 3:
		err = errors.New("no program")
	default:
		_ = os.Unsetenv("PWD") // bubblewrap's doing; nobody has listed it
		err = become(box.Program{Path: args[1], Args: args[2:], Env: os.Environ()})
	}
	if err == nil {
		return 0
	}
	fmt.Fprintf(os.Stderr, "stint %s: %v\n", box.Helper, err)
	return Status
}

// enclosed does what makes the box around this process, as an order says.
func enclosed(args []string) (o box.Order, err error) {
	if len(args) == 0 {
		return o, errors.New("no order")
	}
	if err := json.Unmarshal([]byte(args[0]), &o); err != nil {
		return o, fmt.Errorf("order: %w", err)
	}
	own := uint(box.Alive)
	if o.Try != nil {
		own = box.Line
	}
	// The program gets what it is to have, and not what others forgot to close.
	if err := unix.CloseRange(own, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return o, fmt.Errorf("close descriptors: %w", err)
	}
	if err := restrict(o); err != nil {
		return o, err
	}
	return o, dropCapabilities()
}

// tryAndWait tries the walls, reports what came of it, and becomes the program once it hears of one.
// Its error is nil where there is to be no session.
func tryAndWait(o box.Order) error {
	line := os.NewFile(box.Line, "line")
	found := try(o)
	if err := json.NewEncoder(line).Encode(found); err != nil {
		return err
	}
	p, err := await(line)
	if errors.Is(err, io.EOF) {
		return nil
	}
	// Files that it made are in folders of the namespace's own: else there would be no session.
	for _, path := range found.Wrote {
		_ = os.Remove(path)
	}
	if err == nil {
		err = become(p)
	}
	_, err = fmt.Fprint(line, err) // its errors are the program's by now
	return err
}

// await waits for the program and the files for its input and its output, and its run's lock. The line is at its end where
// there is to be no session, or the supervisor has died, also in the middle of it.
func await(line *os.File) (p box.Program, err error) {
	var first [1]byte
	var rights [64]byte
	n, size, _, _, err := unix.Recvmsg(box.Line, first[:], rights[:], unix.MSG_CMSG_CLOEXEC)
	for errors.Is(err, unix.EINTR) {
		n, size, _, _, err = unix.Recvmsg(box.Line, first[:], rights[:], unix.MSG_CMSG_CLOEXEC)
	}
	if err != nil {
		return p, err
	}
	text, err := io.ReadAll(line)
	p, whole := box.DecodeProgram(text)
	if err != nil || n == 0 || !whole {
		return p, cmp.Or(err, io.EOF)
	}
	messages, err := unix.ParseSocketControlMessage(rights[:size])
	if err != nil {
		return p, err
	}
	var files []int
	for _, m := range messages {
		if files, err = unix.ParseUnixRights(&m); err != nil {
			return p, err
		}
	}
	if len(files) != 3 {
		return p, fmt.Errorf("want three files, got %d", len(files))
	}
	in, out, alive := files[0], files[1], files[2]
	return p, errors.Join(unix.Dup3(in, 0, 0), unix.Dup3(out, 1, 0), unix.Dup3(out, 2, 0), unix.Dup3(alive, box.Alive, 0))
}

// become returns only if it fails.
func become(p box.Program) error {
	if p.Dir != "" {
		if err := unix.Chdir(p.Dir); err != nil {
			return err
		}
	}
	// Its supervisor blocked SIGTERM, which is for the program and not for what carries it.
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &unix.Sigset_t{}, nil); err != nil {
		return fmt.Errorf("unblock signals: %w", err)
	}
	return unix.Exec(p.Path, p.Args, p.Env)
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
	through(box.WallMemory, !apart)
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
