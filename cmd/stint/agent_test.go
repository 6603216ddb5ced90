package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// fakeagent is an obedient agent: every argument is a step, "name" or "name=value",
// and they are done in order. Arguments after "--", such as the prompt, are no steps.
func fakeagent() {
	for i, arg := range os.Args[1:] {
		if arg == "--" {
			return
		}
		name, value, _ := strings.Cut(arg, "=")
		step, ok := agentSteps()[name]
		err := errors.New("no such step")
		if ok {
			err = step(value)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "fakeagent: step %d, %s: %v\n", i+1, name, err)
			os.Exit(99)
		}
	}
}

func agentSteps() map[string]func(value string) error {
	return map[string]func(string) error{
		// result=JSON is the agent's result file.
		"result": func(v string) error { return os.WriteFile(os.Getenv("STINT_RESULT"), []byte(v), 0o600) },
		// print=TEXT goes to the log.
		"print": func(v string) error { _, err := fmt.Fprintln(os.Stdout, v); return err },
		// exit=N ends the agent at once.
		"exit": func(v string) error {
			status, err := strconv.Atoi(v)
			if err == nil {
				os.Exit(status)
			}
			return err
		},
		"commit": agentCommit,
		"env":    agentEnv,
		"args":   agentArgs,
		"stdin":  agentStdin,
		"sh":     agentShell,
		"hold":   agentHold,
		"soak":   soakAgent,
		"beat":   agentBeat,
		// deaf makes the agent ignore SIGTERM.
		"deaf": func(string) error { signal.Ignore(syscall.SIGTERM); return nil },
	}
}

// agentCommit makes FILE and commits it.
func agentCommit(file string) error {
	if err := os.WriteFile(file, []byte("work\n"), 0o600); err != nil {
		return err
	}
	return errors.Join(command("git", "add", "--", file), command("git", "commit", "-q", "-m", "add "+file))
}

// agentEnv writes FILE:NAME,NAME… as NAME="value" lines, quoted as Go does; without
// names, the names of the whole environment.
func agentEnv(value string) error {
	file, names, some := strings.Cut(value, ":")
	var lines []string
	if some {
		for name := range strings.SplitSeq(names, ",") {
			lines = append(lines, fmt.Sprintf("%s=%q", name, os.Getenv(name)))
		}
	} else {
		for _, pair := range os.Environ() {
			name, _, _ := strings.Cut(pair, "=")
			lines = append(lines, name)
		}
		slices.Sort(lines)
	}
	return os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

// agentArgs writes what follows "--", a quoted argument a line.
func agentArgs(file string) error {
	var text strings.Builder
	for _, arg := range os.Args[slices.Index(os.Args, "--")+1:] {
		fmt.Fprintf(&text, "%q\n", arg)
	}
	return os.WriteFile(file, []byte(text.String()), 0o600)
}

// agentStdin keeps its input, byte for byte.
func agentStdin(file string) error {
	data, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}

// agentHold stays until the script has opened FIFO and closed it again.
func agentHold(fifo string) error {
	_, err := os.ReadFile(fifo)
	return err
}

func agentShell(script string) error { return command("sh", "-c", script) }

func command(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}
