package session

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
	"time"

	"stint/internal/box/inside"
	"stint/internal/systemd"
)

// agentMode makes the test binary an agent of that character.
const agentMode = "STINT_TEST_AGENT"

// readyFile is a FIFO to which an agent writes its process group once it is what
// it is meant to be.
const readyFile = "STINT_TEST_READY"

// dumpFile names the file in which an agent lists its arguments, environment and folders.
const dumpFile = "STINT_TEST_DUMP"

// testUnit is the scope in whose cgroup the tests are.
var testUnit string

// inScope are the scopes of a process that is in one.
type inScope struct{}

func (inScope) Scope(context.Context, string) error { return nil }

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == inside.Word {
		os.Exit(inside.Main(os.Args[2:]))
	}
	mode, agent := os.LookupEnv(agentMode)
	if !agent {
		testUnit = fmt.Sprintf("stint-test-%d.scope", os.Getpid())
		if err := (systemd.Units{}).Scope(context.Background(), testUnit); err != nil {
			fmt.Fprintln(os.Stderr, err, "\nrun it under scripts/with-systemd")
			os.Exit(1)
		}
		os.Exit(m.Run())
	}
	if err := act(mode); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func act(mode string) error {
	switch mode {
	case "supervise":
		return supervise()
	case "exit":
		status, err := strconv.Atoi(os.Args[1])
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stdout, "to stdout")
		fmt.Fprintln(os.Stderr, "to stderr")
		os.Exit(status)
	case "dump":
		return dump()
	case "die":
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "obey":
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		if err := ready(); err != nil {
			return err
		}
		fmt.Fprintln(os.Stdout, "asked:", <-asked)
	case "deaf":
		return deaf()
	case "parent": // leaves a deaf child behind
		return spawn()
	case "family": // is deaf beside a deaf child
		if err := spawn(); err != nil {
			return err
		}
		return deaf()
	}
	return nil
}

func deaf() error {
	signal.Ignore(syscall.SIGTERM)
	if err := ready(); err != nil {
		return err
	}
	over := time.NewTimer(2 * patience) // should the test fail, nobody else would end it
	<-over.C
	return nil
}

// spawn starts a deaf child in its own group, and waits until it is deaf.
func spawn() error {
	heard, told, err := os.Pipe()
	if err != nil {
		return err
	}
	child := exec.Command("/proc/self/exe")
	child.Env = append(os.Environ(), agentMode+"=deaf", readyFile+"=/dev/fd/3")
	child.ExtraFiles = []*os.File{told}
	if err := child.Start(); err != nil {
		return err
	}
	if _, err := heard.Read(make([]byte, 1)); err != nil {
		return err
	}
	return ready()
}

func ready() error {
	f, err := os.OpenFile(os.Getenv(readyFile), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(f, syscall.Getpgrp()); err != nil {
		return err
	}
	return f.Close()
}

// given has the surroundings that an agent sees.
type given struct {
	Args        []string
	Environment []string
	Stdin       string
	Dir         string
	Group       bool   // leads a process group
	Session     bool   // leads a session
	Alive       uint64 // inode of descriptor 3; 0: none
}

func dump() error {
	fmt.Fprintln(os.Stderr, "to stderr")
	stdin, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	session, _, errno := syscall.Syscall(syscall.SYS_GETSID, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	g := given{
		Args: os.Args, Environment: os.Environ(), Stdin: string(stdin), Dir: dir,
		Group: syscall.Getpgrp() == os.Getpid(), Session: int(session) == os.Getpid(),
	}
	var alive syscall.Stat_t
	if syscall.Fstat(3, &alive) == nil {
		g.Alive = alive.Ino
	}
	data, err := json.Marshal(g)
	if err != nil {
		return err
	}
	if err := os.WriteFile(os.Getenv(dumpFile), data, 0o600); err != nil {
		return err
	}
	if os.Getenv(readyFile) == "" {
		return nil
	}
	return ready()
}
