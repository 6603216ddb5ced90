package command_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"stint/internal/agent/command"
	"stint/internal/testkit/must"
)

func TestRunnable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), mode))
		return path
	}
	write("no-de", "\x7fELF", 0o755)
	write("chained", "#!/usr/bin/env absent\n", 0o755)
	for name, test := range map[string]struct {
		text, program string
		mode          os.FileMode
		interpreter   string // that is missing
		fails         bool
	}{
		"binary":               {text: "\x7fELF", mode: 0o755},
		"empty":                {mode: 0o755},
		"not executable":       {text: "#!/bin/sh\n", mode: 0o644, fails: true},
		"shell":                {text: "#!/bin/sh -e\n", mode: 0o755},
		"no shell":             {text: "#!/no/such/sh\n", mode: 0o755, interpreter: "/no/such/sh"},
		"not executable shell": {text: "#! /etc/passwd\n", mode: 0o755, interpreter: "/etc/passwd"},
		"found":                {text: "#!/usr/bin/env no-de\n", mode: 0o755},
		"without a newline":    {text: "#!/usr/bin/env no-de", mode: 0o755},
		"missing":              {text: "#!/usr/bin/env absent\n", mode: 0o755, interpreter: "absent"},
		"one argument":         {text: "#!/usr/bin/env no-de --flag\n", mode: 0o755, interpreter: "no-de --flag"},
		"split":                {text: "#!/usr/bin/env -S no-de --flag\n", mode: 0o755},
		"split with variables": {text: "#!/usr/bin/env -S A=b no-de\n", mode: 0o755},
		"split with a PATH":    {text: "#!/usr/bin/env -S PATH=/nowhere no-de\n", mode: 0o755, interpreter: "no-de"},
		"split, cleared":       {text: "#!/usr/bin/env -S -i no-de\n", mode: 0o755, interpreter: "no-de"},
		"split, not known":     {text: "#!/usr/bin/env -S -u A absent\n", mode: 0o755},
		"chain":                {text: "#!/usr/bin/env chained\n", mode: 0o755, interpreter: "absent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := write("script "+name, test.text, test.mode)
			got, err := command.Runnable("script "+name, []string{"PATH=" + dir}, "/")
			if test.interpreter == "" && !test.fails {
				if err != nil || got != path {
					t.Errorf("got %q, %v, want %q", got, err, path)
				}
				return
			}
			var missing *command.InterpreterError
			if errors.As(err, &missing) != (test.interpreter != "") || err == nil {
				t.Fatalf("got %v, want interpreter %q", err, test.interpreter)
			}
			if missing != nil && missing.Interpreter != test.interpreter {
				t.Errorf("interpreter: got %q, want %q", missing.Interpreter, test.interpreter)
			}
		})
	}
}

// TestRunnableIsNoPipe has a pipe in the place of a program: nobody waits for its writer.
func TestRunnableIsNoPipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "agent")
	must.Do(t, syscall.Mkfifo(path, 0o700))
	if got, err := command.Runnable(path, nil, "/"); got != path || err != nil {
		t.Errorf("got %q, %v, want what the kernel will refuse", got, err)
	}
}

func TestRunnableInFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "agent"), []byte("#!/bin/sh\n"), 0o755))
	if got, err := command.Runnable("./agent", nil, dir); err != nil || got != filepath.Join(dir, "agent") {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := command.Runnable("./agent", nil, "/"); err == nil {
		t.Error("got nothing, want an error")
	}
}
