// Package boxtest tries the box of an agent from inside: each way out of it that we know, and a machine on which a
// layer of it is missing.
package boxtest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// escape is one way out of a box. It returns nil if it got through.
type escape struct {
	name string
	// only says that no Landlock, or none of an older kernel, keeps it from working: where there
	// is no namespace, stint says that this wall is missing.
	only bool
	try  func() error
}

// Escapes is an agent that tries to get out. It prints a line for each way. The environment says where the things are
// that it must not reach: WORK is the workspace that the fleet shares, DOORS the folder of the sockets of [Open], BUS
// that of the user manager, LOGIN and SETTINGS in HOME are another agent's, and below ROOT the folders on the way to
// a file are real only where one of them has a file .real. In HOME, the file "theirs" is the operator's.
func Escapes() {
	for _, e := range all() {
		word, note := "ESCAPED", ""
		if err := e.try(); err != nil {
			word = "held"
		}
		if e.only {
			note = " (namespace)"
		}
		fmt.Fprintf(os.Stdout, "%s: %s%s\n", word, e.name, note)
	}
}

func all() []escape {
	var (
		work, home = os.Getenv("WORK"), os.Getenv("HOME")
		out        = os.Getenv("STINT_RUN_DIR")
		run        = filepath.Dir(out)
		state      = filepath.Dir(filepath.Dir(run))
		git        = filepath.Join(work, ".git")
		shared     = os.Getenv("STINT_WORKSPACE") == work
		theirs     = filepath.Join(home, "theirs")
	)
	// In a folder that may be written, Landlock cannot hold single files.
	kept := func(name, path string) escape {
		return escape{name, shared, func() error { return appends(path) }}
	}
	moved := func(name, path string) escape {
		return escape{name, shared, func() error { return moves(path) }}
	}
	return []escape{
		{"a file in the state folder", false, func() error { return creates(filepath.Join(state, "planted")) }},
		{"the store", false, func() error { return appends(filepath.Join(state, "stint.db")) }},
		{"the store, read", false, func() error { return reads(filepath.Join(state, "stint.db")) }},
		{"the token of the pages, read", false, func() error { return reads(filepath.Join(state, "token")) }},
		{"the lock of a lane", false, func() error { return appends(filepath.Join(state, "locks/code.1.lock")) }},
		{"the run's log", false, func() error { return appends(filepath.Join(run, "log")) }},
		{"the run's prompt", false, func() error { return appends(filepath.Join(run, "prompt")) }},
		{"the run's end", false, func() error { return creates(filepath.Join(run, "end.json")) }},
		{"another run's result", false, func() error { return creates(filepath.Join(state, "runs/other/out/result.json")) }},
		{"another clone", false, func() error { return creates(filepath.Join(state, "clones/other/planted")) }},
		{"another clone, read", false, func() error { return reads(filepath.Join(state, "clones/other/file")) }},
		kept("stint.toml", filepath.Join(work, "stint.toml")),
		moved("stint.toml, by a new one", filepath.Join(work, "stint.toml")),
		kept("a prompt file", filepath.Join(work, "prompts/code.md")),
		moved("a prompt file, by a new folder", filepath.Join(work, "prompts")),
		kept("a selector", filepath.Join(work, "bin/rank")),
		kept("a script that a selector's command names", filepath.Join(work, "src.sh")),
		kept("a file that an option of it names", filepath.Join(work, "rules")),
		kept("git's config of the work tree", filepath.Join(git, "config.worktree")),
		kept("a git hook", filepath.Join(git, "hooks/post-checkout")),
		moved("git's hooks, by a new folder", filepath.Join(git, "hooks")),
		{"git's folder, by a new one", shared, func() error {
			if _, err := os.Stat(filepath.Join(git, "HEAD")); err != nil {
				return err // it is not there, but the folder of objects that is mounted below its name
			}
			return moves(git)
		}},
		kept("git's config", filepath.Join(git, "config")),
		{"git's config, by git", shared, func() error { return runs("git", "-C", work, "config", "core.fsmonitor", "touch planted") }},
		kept("git's attributes", filepath.Join(git, "info/attributes")),
		kept("git's data of another worktree", filepath.Join(git, "worktrees/other/HEAD")),
		{"a file in the home folder", false, func() error { return creates(filepath.Join(home, "planted")) }},
		{"a shell's start-up file", false, func() error { return appends(filepath.Join(home, ".bashrc")) }},
		{"a key of ssh", false, func() error { return reads(filepath.Join(home, ".ssh/id")) }},
		{"who may log in by ssh", false, func() error { return creates(filepath.Join(home, ".ssh/authorized_keys")) }},
		{"another agent's login", false, func() error { return reads(filepath.Join(home, os.Getenv("LOGIN"))) }},
		{"another agent's settings", false, func() error { return appends(filepath.Join(home, os.Getenv("SETTINGS"))) }},
		{"a token of git's", false, func() error { return reads(filepath.Join(home, ".git-credentials")) }},
		{"a token in an address of git's", false, func() error { return reads(filepath.Join(home, ".gitconfig")) }},
		{"a token of cargo's", false, func() error { return reads(filepath.Join(home, ".cargo/config.toml")) }},
		{"a token of mise's", false, func() error { return reads(filepath.Join(home, ".config/mise/config.toml")) }},
		{"who commits, changed", false, func() error { return appends(filepath.Join(home, ".gitconfig")) }},
		{"a file, truncated", false, func() error { return os.Truncate(theirs, 0) }},
		{"a file, removed", false, func() error { return os.Remove(theirs) }},
		{"a file's mode", true, func() error { return os.Chmod(theirs, 0o777) }},
		{"a file's name", true, func() error { _, err := os.Lstat(theirs); return err }},
		{"a file, moved here", false, func() error { return os.Rename(theirs, "stolen") }},
		{"a file, linked here", false, func() error { return os.Link(theirs, "linked") }},
		{"a file, through a link", false, func() error { return errors.Join(os.Symlink(theirs, out+"/link"), reads(out+"/link")) }},
		{"a file, through the root of another process", false, func() error { return anyProcess("root" + theirs) }},
		{"the environment of the supervisor", false, func() error { return anyProcess("environ") }},
		{"the memory of the supervisor", false, func() error { return anyProcess("mem") }},
		{"the files of the supervisor", false, func() error { return anyProcess("fd/3") }},
		{"a trace of the supervisor", false, func() error { return supervisors(syscall.PtraceAttach) }},
		{"a signal to the supervisor", false, func() error { return supervisors(func(pid int) error { return syscall.Kill(pid, 0) }) }},
		{"the user bus", true, func() error { return connects(os.Getenv("BUS")) }},
		{"a unit of the user's", true, planUnit},
		{"an agent for ssh keys", true, func() error { return connects(filepath.Join(os.Getenv("DOORS"), "ssh.sock")) }},
		{"an agent for gpg keys", true, func() error { return connects(filepath.Join(os.Getenv("DOORS"), "S.gpg-agent")) }},
		{"a container's socket", true, func() error { return connects(filepath.Join(os.Getenv("DOORS"), "docker.sock")) }},
		{"memory that another process shares", true, sharedMemory},
		{"an abstract socket", false, func() error { return connects("@stint-" + os.Getenv("STINT_FLEET")) }},
		{"privileges", false, privileged},
		{"a namespace, to mount in", false, mountsAnew},
		{"a mount undone", false, func() error { return syscall.Unmount(state, syscall.MNT_DETACH) }},
		{"a mount made writable", false, func() error {
			return syscall.Mount("", filepath.Join(work, "stint.toml"), "", syscall.MS_REMOUNT|syscall.MS_BIND, "")
		}},
		{"another root", false, func() error { return syscall.Chroot(out) }},
		{"a device", false, func() error { return syscall.Mknod(out+"/disk", syscall.S_IFBLK|0o600, 8<<8) }},
		{"a setting of the kernel's", false, func() error { return appends("/proc/sys/kernel/core_pattern") }},
		{"another cgroup", false, leaveCgroup},
		{"a descriptor", false, descriptors},
		{"a link in the place of the result", false, func() error { return plants(out+"/result.json", theirs) }},
		{"a link in the place of the folder for temporary files", false, func() error { return plants(out+"/tmp", home) }},
		{"a process that outlives the session", false, outlive},
	}
}

// there says whether a path is the one that it looks like: in a /tmp of its own, a process may
// make all folders that it likes. The script has put a file into the real ones.
func there(path string) error {
	if !strings.HasPrefix(path, os.Getenv("ROOT")) {
		return nil
	}
	for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir + "/.real"); err == nil {
			return nil
		}
	}
	return errors.New("another folder stands for it")
}

func creates(path string) error {
	if err := there(path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		return f.Close()
	}
	return err
}

func appends(path string) error {
	if err := there(path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o700)
	if err != nil {
		return err
	}
	_, err = f.WriteString("\n")
	return errors.Join(err, f.Close())
}

func reads(path string) error { _, err := os.ReadFile(path); return err }

// moves puts another thing into the place of one, and back.
func moves(path string) error {
	if err := os.Rename(path, path+".moved"); err != nil {
		return err
	}
	return os.Rename(path+".moved", path)
}

func runs(name string, args ...string) error { return exec.Command(name, args...).Run() }

// outside are processes that are not this one's family: its supervisor among them.
func outside() (pids []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		line, _ := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
		if err == nil && strings.Contains(string(line), "\x00run\x00--category") && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

var errNobody = errors.New("no such process is to be seen")

func supervisors(do func(pid int) error) error {
	err := errNobody
	for _, pid := range outside() {
		err = do(pid)
		if err == nil {
			return nil
		}
	}
	return err
}

// anyProcess reads a file of a supervisor's in /proc, or of the first process.
func anyProcess(name string) error {
	err := supervisors(func(pid int) error {
		f, err := os.Open(fmt.Sprintf("/proc/%d/%s", pid, name))
		if err == nil {
			return f.Close()
		}
		return err
	})
	if err == nil || !strings.HasPrefix(name, "root") {
		return err
	}
	return reads("/proc/1/" + name)
}

func connects(path string) error {
	c, err := net.Dial("unix", path)
	if err == nil {
		return c.Close()
	}
	return err
}

// planUnit has the service manager do something outside.
func planUnit() error {
	cmd := exec.Command("systemd-run", "--user", "--wait", "--quiet", "touch", filepath.Join(os.Getenv("WORK"), "planted"))
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+filepath.Dir(os.Getenv("BUS")), "DBUS_SESSION_BUS_ADDRESS=unix:path="+os.Getenv("BUS"))
	return cmd.Run()
}

func privileged() error {
	none, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err == nil && none == 1 {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var sets [2]unix.CapUserData
		if err := unix.Capget(&header, &sets[0]); err == nil && sets[0].Permitted|sets[1].Permitted == 0 {
			return errors.New("it has none and gains none")
		}
	}
	return err
}

// mountsAnew tries to mount something in a namespace of its own.
func mountsAnew() error {
	cmd := exec.Command("mount", "-t", "tmpfs", "none", os.Getenv("STINT_RUN_DIR"))
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
	}
	return cmd.Run()
}

func leaveCgroup() error {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return err
	}
	_, path, _ := strings.Cut(strings.TrimSpace(string(text)), "::")
	return os.WriteFile(filepath.Join("/sys/fs/cgroup", filepath.Dir(path), "cgroup.procs"), []byte("0"), 0o600)
}

// descriptors finds one that this process was not meant to have: the third is its run's lock.
func descriptors() error {
	for fd := 4; fd < 256; fd++ {
		var stat unix.Stat_t
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 && unix.Fstat(fd, &stat) == nil {
			return nil
		}
	}
	return errors.New("it has none")
}

// plants puts a link where stint may write later. That it can is no escape: whether stint
// follows it the script finds out.
func plants(path, target string) error {
	_ = os.Remove(path)
	_ = os.Symlink(target, path)
	return errors.New("the script looks at where it led")
}

// sharedMemory attaches memory of another process's.
func sharedMemory() error {
	text, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		return err
	}
	err = errors.New("no memory is to be seen")
	for _, line := range strings.Split(string(text), "\n")[1:] {
		if fields := strings.Fields(line); len(fields) > 1 {
			id, _ := strconv.Atoi(fields[1])
			if _, err = unix.SysvShmAttach(id, 0, unix.SHM_RDONLY); err == nil {
				return nil
			}
		}
	}
	return err
}

// outlive leaves a process that did all it could to be forgotten. Whether it is gone the script
// finds out.
func outlive() error {
	cmd := exec.Command("sh", "-c", `setsid sh -c 'exec -a outlive-$0 sleep 600' "$0" </dev/null >/dev/null 2>&1 3>&- &`, os.Getenv("STINT_FLEET"))
	cmd.Args[0] = "sh"
	cmd.Path, _ = exec.LookPath("bash")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	_ = cmd.Run()
	return errors.New("the script looks for it")
}

// Open listens on sockets that a session must not reach, until they are shut, and shares memory, until this process ends.
func Open(paths ...string) (shut func(), err error) {
	var open []net.Listener
	shut = func() {
		for _, l := range open {
			_ = l.Close()
		}
	}
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 1, unix.IPC_CREAT|0o600)
	if err == nil {
		_, err = unix.SysvShmAttach(id, 0, 0)
	}
	if err == nil {
		_, err = unix.SysvShmCtl(id, unix.IPC_RMID, nil) // it goes with this process
	}
	for _, path := range paths {
		l, listening := net.Listen("unix", path)
		if listening != nil {
			return shut, errors.Join(err, listening)
		}
		open = append(open, l)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_ = c.Close()
			}
		}()
	}
	return shut, err
}

// Doors is a program that opens the sockets in its arguments, until it is ended.
func Doors() {
	if _, err := Open(os.Args[1:]...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, "open")
	select {}
}

// Without runs a command on a machine whose kernel has no namespaces for users, or no Landlock: a
// filter of system calls refuses them, for its children as well. Its first argument says which,
// or both with a comma between.
func Without() {
	err := refuse(strings.Contains(os.Args[1], "namespaces"), strings.Contains(os.Args[1], "landlock"))
	path := ""
	if err == nil {
		path, err = exec.LookPath(os.Args[2])
	}
	if err == nil {
		err = syscall.Exec(path, os.Args[2:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, "without:", err)
	os.Exit(1)
}

// refuse filters unshare, clone and clone3, and what makes a ruleset. Only the thread that gave up privileges may, unless root.
func refuse(namespaces, landlock bool) error {
	runtime.LockOSThread()
	const (
		load, jump, set = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		give            = unix.BPF_RET | unix.BPF_K
		number, first   = 0, 16      // in seccomp_data
		refuse          = 0x00050000 // SECCOMP_RET_ERRNO
		allow           = 0x7fff0000
		never           = 0xffff
	)
	spaces, ruleset := uint32(0), uint32(never)
	if namespaces {
		spaces = unix.CLONE_NEWNS | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWNET
	}
	if landlock {
		ruleset = unix.SYS_LANDLOCK_CREATE_RULESET
	}
	filter := []unix.SockFilter{
		{Code: load, K: number},
		{Code: jump, K: unix.SYS_CLONE3, Jt: 6},
		{Code: jump, K: ruleset, Jt: 5},
		{Code: jump, K: unix.SYS_UNSHARE, Jt: 1},
		{Code: jump, K: unix.SYS_CLONE, Jf: 2},
		{Code: load, K: first},
		{Code: set, K: spaces, Jt: 2},
		{Code: give, K: allow},
		{Code: give, K: refuse | uint32(unix.ENOSYS)}, // callers of clone3 go back to clone
		{Code: give, K: refuse | uint32(unix.EPERM)},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return nil
}
