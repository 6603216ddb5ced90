package command

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"stint/internal/fleet"
)

// InterpreterError is that of a script whose interpreter is not where a process with its
// environment would find it. Started all the same, it ends with status 127.
type InterpreterError struct {
	Script      string
	Interpreter string // a name, as in "#!/usr/bin/env node", or a path
	Path        string // the PATH that was searched for a name
}

func (e *InterpreterError) Error() string {
	if strings.ContainsRune(e.Interpreter, '/') {
		return fmt.Sprintf("%s needs the interpreter %s, which cannot be run", e.Script, e.Interpreter)
	}
	return fmt.Sprintf("%s needs the interpreter %s, which is not in its PATH %s", e.Script, e.Interpreter, firstFolder(e.Path))
}

// Runnable finds a program as a process with this environment does that works in dir,
// and says whether the kernel could start it: whether it is there, is executable, and
// has its interpreter, and that one's, where they are scripts. It runs nothing.
func Runnable(program string, environment []string, dir string) (string, error) {
	path, err := LookPath(program, environment)
	if err != nil {
		return "", err
	}
	if path, err = executable(path, dir); err != nil {
		return "", bare(err)
	}
	return path, checkInterpreter(path, environment, dir)
}

// executable is the absolute path of a program, with an error where it cannot be executed.
func executable(path, dir string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return exec.LookPath(path)
}

// bare is the reason without the path, which the reader has.
func bare(err error) error {
	if wrapped, ok := errors.AsType[*exec.Error](err); ok {
		err = wrapped.Err
	}
	if wrapped, ok := errors.AsType[*fs.PathError](err); ok {
		err = wrapped.Err
	}
	return err
}

// maxInterpreters is the number of scripts that the kernel follows from one to the next.
const maxInterpreters = 4

func checkInterpreter(script string, environment []string, dir string) error {
	for range maxInterpreters {
		line, err := shebang(script)
		if errors.Is(err, fs.ErrPermission) {
			return nil // a program may be executable and not readable; then it is no script
		}
		if err != nil || line == "" {
			return err
		}
		interpreter, searched := interpreterOf(line, environment)
		if interpreter == "" {
			return nil // what env is asked to do is not understood: it may work
		}
		missing := &InterpreterError{Script: script, Interpreter: interpreter, Path: fleet.Variable(searched, "PATH")}
		path, err := LookPath(interpreter, searched)
		if err != nil {
			return fleet.WithHint(missing, "install it, or add the folder that it is in to the agent's PATH")
		}
		if script, err = executable(path, dir); err != nil {
			return fleet.WithHint(missing, "install it")
		}
	}
	return nil
}

// shebang returns the text after "#!" in the first line of a file, or "".
func shebang(path string) (string, error) {
	const longest = 4096 // more than any kernel reads of such a line
	// A pipe is not waited for, and has no bytes.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, longest)
	if start, err := r.Peek(2); err != nil || string(start) != "#!" {
		return "", nil // a file without a second byte is no script
	}
	text, _ := r.Peek(longest) // at the end of the file, what there is
	line, _, _ := strings.Cut(string(text[2:]), "\n")
	return strings.TrimSpace(line), nil
}

// interpreterOf is the program that a line after "#!" has run, with the environment in
// which it is looked for. The kernel hands all that follows the first word on as one
// argument, which only "env -S" splits.
func interpreterOf(line string, environment []string) (program string, searched []string) {
	program, rest, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
	rest = strings.TrimSpace(rest)
	if filepath.Base(program) != "env" || rest == "" {
		return program, environment
	}
	words := []string{rest}
	for _, option := range []string{"-S", "--split-string=", "-vS"} {
		if text, found := strings.CutPrefix(rest, option); found {
			words = strings.Fields(text)
		}
	}
	for _, word := range words {
		switch {
		case word == "-i" || word == "-" || word == "--ignore-environment":
			environment = nil
		case strings.HasPrefix(word, "-"):
			return "", nil // another option, which may take a word of its own
		case strings.Contains(word, "="):
			environment = append(environment[:len(environment):len(environment)], word)
		default:
			return word, environment
		}
	}
	return "", nil
}
