package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// git runs git in one folder. Every process of git that stint starts is one of these. Its
// environment names the repository: see [Clone.git].
type git struct {
	dir      string
	env      []string
	timeout  time.Duration
	settings []setting // that it goes by
	kept     []string  // the folders of git's own data, in which no link may lead out; the work tree's own is first
	options  []string  // before the command, beside [pins]
	stdin    io.Reader // of the next command; nil: nothing
	turn     *os.File  // inherited, so that a turn lasts as long as what was begun in it
}

// gitGrace is the time between SIGTERM, at which git takes its lock files away, and SIGKILL,
// after which they stay.
const gitGrace = 5 * time.Second

// run is one command's standard output, without the last line's end. Git gets a session
// of its own, and with it no terminal on which ssh could ask; the rest of its process group
// ends with it.
func (g git) run(ctx context.Context, args ...string) (string, error) {
	var stdout bytes.Buffer
	if err := g.write(ctx, &stdout, args...); err != nil {
		return "", err
	}
	return strings.TrimSuffix(stdout.String(), "\n"), nil
}

// head is the first bytes of what a command prints, and whether there is more. A command that
// prints too much is stopped.
func (g git) head(ctx context.Context, most int, args ...string) (text string, cut bool, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	stdout := &capped{most: most, flooded: stop}
	if err := g.write(ctx, stdout, args...); err != nil && !stdout.cut {
		return "", false, err
	}
	return string(stdout.data), stdout.cut, nil
}

// capped keeps the first bytes of what is written to it.
type capped struct {
	data    []byte
	most    int
	cut     bool
	flooded func()
}

func (c *capped) Write(p []byte) (int, error) {
	room := c.most - len(c.data)
	c.data = append(c.data, p[:min(room, len(p))]...)
	if len(p) > room {
		c.cut = true
		c.flooded()
	}
	return len(p), nil
}

// write is run with its output written elsewhere.
func (g git) write(ctx context.Context, stdout io.Writer, args ...string) error {
	if writing(args) {
		if err := g.unlinked(); err != nil {
			return fmt.Errorf("git %s: %w", args[0], err)
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, g.timeout, fmt.Errorf("time-out after %v", g.timeout))
	defer cancel()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "git", slices.Concat(pins(), g.options, args)...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = g.dir, g.env, g.stdin, stdout, &stderr
	if g.turn != nil {
		cmd.ExtraFiles = []*os.File{g.turn}
	}
	return failedGit(ctx, cmd, args[0], runGroup(cmd), stderr.String())
}

// maxMemory bounds git's own memory, in bytes; mapped files do not count. A tree of a thousand bytes can stand for more files than
// any machine has room for.
const maxMemory = 4 << 30

// startGroup starts a command in a session of its own. When its context ends, it and its children are asked to end.
func startGroup(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = gitGrace
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	err := cmd.Start()
	if errors.Is(err, exec.ErrNotFound) {
		err = fleet.WithHint(err, "install "+filepath.Base(cmd.Args[0]))
	}
	if err == nil {
		limit := unix.Rlimit{Cur: maxMemory, Max: maxMemory}
		_ = unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_DATA, &limit, nil) // it may be over already, or have less
	}
	return err
}

// waitGroup waits for a command of [startGroup], and ends what it has left behind.
func waitGroup(cmd *exec.Cmd) error {
	err := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if errors.Is(err, exec.ErrWaitDelay) && cmd.ProcessState.Success() {
		return nil
	}
	return err
}

func runGroup(cmd *exec.Cmd) error {
	if err := startGroup(cmd); err != nil {
		return err
	}
	return waitGroup(cmd)
}

// failedGit is the error of a git command, with what it said. Nil: it did not fail.
func failedGit(ctx context.Context, cmd *exec.Cmd, name string, err error, stderr string) error {
	if err == nil {
		return nil
	}
	if cmd.ProcessState == nil {
		return fmt.Errorf("run git %s: %w", name, err)
	}
	status := cmd.ProcessState.ExitCode()
	if ctx.Err() != nil {
		status = -1
		err = context.Cause(ctx)
	}
	return &gitError{command: name, status: status, said: said(stderr), err: err}
}

// asks is run for commands that answer with exit status 1: false stands for that.
func (g git) asks(ctx context.Context, args ...string) (string, bool, error) {
	out, err := g.run(ctx, args...)
	if failed, ok := errors.AsType[*gitError](err); ok && failed.status == 1 {
		return "", false, nil
	}
	return out, err == nil, err
}

// revision is the id of what a name stands for, and whether it is there.
func (g git) revision(ctx context.Context, name string) (id string, there bool, err error) {
	return g.asks(ctx, "rev-parse", "--quiet", "--verify", name)
}

// on is the ref of the branch that is checked out. It may have no commit yet. False: HEAD is detached.
func (g git) on(ctx context.Context) (ref string, attached bool, err error) {
	head, err := readFile(filepath.Join(g.kept[0], "HEAD"))
	name, is := strings.CutPrefix(strings.TrimSuffix(string(head), "\n"), "ref: "+heads)
	if err == nil && is && name != ".invalid" { // as a repository with reftables has it
		return heads + name, true, nil
	}
	return g.asks(ctx, "symbolic-ref", "--quiet", "HEAD")
}

// ref is one of a repository's.
type ref struct {
	name, id, link, upstream string
	track                    string // how it differs from its upstream, in git's words
	worktree                 string // in which it is checked out; empty: none
}

// refs are those that patterns of git for-each-ref match, by name.
func (g git) refs(ctx context.Context, patterns ...string) (map[string]ref, error) {
	const format = "--format=%(refname)%09%(objectname)%09%(symref)%09%(upstream)%09%(upstream:track,nobracket)%09%(worktreepath)"
	text, err := g.run(ctx, append([]string{"for-each-ref", format}, patterns...)...)
	found := map[string]ref{}
	for line := range strings.Lines(text) {
		if f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 6); len(f) == 6 {
			found[f[0]] = ref{f[0], f[1], f[2], f[3], f[4], f[5]}
		}
	}
	return found, err
}

// objects is the folder of the repository's objects.
func (g git) objects(ctx context.Context) (string, error) {
	return g.run(ctx, "rev-parse", "--path-format=absolute", "--git-path", "objects")
}

// diff are the arguments of a diff that runs no program, and looks into no submodule.
func diff(args ...string) []string {
	return append([]string{"diff", "--no-ext-diff", "--ignore-submodules=dirty"}, args...)
}

// names is run for commands that list names with -z.
func (g git) names(ctx context.Context, args ...string) ([]string, error) {
	out, err := g.run(ctx, args...)
	if err != nil || out == "" {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(out, "\x00"), "\x00"), nil
}

// gitError is a git command that failed.
type gitError struct {
	command string
	status  int // -1: it did not end by itself
	said    string
	err     error
}

func (e *gitError) Error() string {
	if e.said == "" {
		return fmt.Sprintf("git %s: %v", e.command, e.err)
	}
	return fmt.Sprintf("git %s: %v: %s", e.command, e.err, e.said)
}

func (e *gitError) Unwrap() error { return e.err }

// Is makes what git says of a folder that is in no work tree an [errNoRepository], and of a
// repository's own an [errBare].
func (e *gitError) Is(target error) bool {
	bare := strings.Contains(e.said, "must be run in a work tree")
	return target == errBare && bare || target == errNoRepository && (bare || strings.Contains(e.said, "not a git repository"))
}

// said returns the text that git wrote as one line, safe for a terminal. Git's advice is left
// out: it is for a person who works in the folder.
func said(text string) string {
	const most = 600 // a list of ten files
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(plain.Line(line))
		if line != "" && !strings.HasPrefix(line, "hint:") {
			lines = append(lines, line)
		}
	}
	return plain.Short(strings.Join(lines, " | "), most)
}

// passing are the failures of which git's next try knows nothing: another command was
// in the middle of something, or the network was.
// It is compiled when a command first fails, as most processes run none.
func passing() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\.lock'?: File exists|/commondir: Success|cannot lock ref|could not lock config|Unable to create '.*\.lock'` +
		`|Could not resolve host|Connection (timed out|refused|reset|closed)|Network is unreachable|early EOF|hung up unexpectedly` +
		`|Operation timed out|Temporary failure|TLS connection|returned error: (429|5\d\d)|unable to access .*: (Recv|Send) failure`)
}

// unfinishedError is a merge, rebase or the like that somebody is in the middle of.
type unfinishedError struct{ what, dir string }

func (e unfinishedError) Error() string { return fmt.Sprintf("a %s is under way in %s", e.what, e.dir) }

func passes(err error) bool {
	if _, ok := errors.AsType[unfinishedError](err); ok {
		return true // a neighbour's, who shares the folder, is over in a moment
	}
	failed, ok := errors.AsType[*gitError](err)
	return ok && passing().MatchString(failed.said)
}

// readFile reads a file of the clone. A session or a person may have put a pipe in its place,
// which is not waited for.
func readFile(path string) ([]byte, error) {
	const most = 16 << 20 // a task, a list of patterns, the name of a branch
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("read %s: not a regular file", path), err)
	}
	return io.ReadAll(io.LimitReader(f, most))
}

const (
	// tries and firstPause make about three seconds in all: longer than any command of a
	// neighbour holds the index, and shorter than anybody waits for a push.
	tries      = 6
	firstPause = 100 * time.Millisecond
)

// insist tries until it works, or fails in a way that does not pass.
func insist(ctx context.Context, try func() error) error {
	for n := 0; ; n++ {
		err := try()
		if err == nil || n == tries-1 || !passes(err) {
			return err
		}
		select {
		case <-time.After(pause(n)):
		case <-ctx.Done():
			return err
		}
	}
}

// insist is run, tried until it works, for a command whose output nobody needs.
func (g git) insist(ctx context.Context, args ...string) error {
	return insist(ctx, func() error {
		_, err := g.run(ctx, args...)
		return err
	})
}

// pause doubles from try to try, and differs by half between processes, which would
// else meet again.
func pause(n int) time.Duration {
	chance := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(n))) //nolint:gosec // apart is all they need to be
	return time.Duration(float64(firstPause<<n) * (0.5 + chance.Float64()))
}
