package workspace

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"stint/internal/fleet"
)

// Clone is the workspace's clone, which every run of the fleet shares. Changes to its refs, its
// list of worktrees or the shared work tree happen in turn, one process at a time, for all of
// its worktrees.
type Clone struct {
	Dir         Folder
	Fleet       fleet.Name    // whose runs' branches are its own
	Target      string        // the branch that sessions' work is to get into; empty: what is checked out
	Forwards    bool          // the target is brought to what it follows whenever that was fetched
	Root        string        // where the clones of runs are made, each in a folder named like its run
	Environment []string      // what git gets, as NAME=value: PATH, HOME, what its transports need
	Walls       Walls         // in which git runs in the clones of sessions; nil: in none
	Restate     Restate       // nil: no file is a task's
	Patience    time.Duration // to wait for one's turn; zero: two minutes
	Timeout     time.Duration // of each git command; zero: five minutes
	// Found caches answers of git in this process: the parts of Dir, the settings as long as their files are the same, and
	// what the session of a clone has left. Nil: git is asked each time.
	Found *sync.Map
}

const (
	// defaultPatience is ten neighbours' fetches from a slow server.
	defaultPatience = 2 * time.Minute
	// defaultTimeout is the checkout of a large tree on a slow disk, hooks included.
	defaultTimeout = 5 * time.Minute
	// tidyTime bounds putting things back after a run was asked to stop.
	tidyTime = time.Minute
	// poll is the time between two tries to get the turn: a rebase takes tens of milliseconds.
	poll = 5 * time.Millisecond
)

var (
	errNoRepository = errors.New("not a work tree of git")
	errBare         = fmt.Errorf("%w, but a repository without one", errNoRepository)
)

// Repository is an error where the workspace is in no work tree of git, or cannot be asked.
func (c Clone) Repository(ctx context.Context) error {
	if _, err := c.found(ctx, string(c.Dir)); err != nil {
		return fmt.Errorf("workspace %s: %w", c.Dir, err)
	}
	return nil
}

// git is git for the work tree that a folder is in, which it looks for nowhere, and in which it runs no program that the repository
// names; with where that keeps its parts.
func (c Clone) git(ctx context.Context, dir string) (git, layout, error) {
	g := c.unbound(dir)
	l, err := c.found(ctx, dir)
	if err != nil {
		return git{}, layout{}, err
	}
	g.env = append(slices.Clone(g.env), "GIT_DIR="+l.gitDir, "GIT_COMMON_DIR="+l.common, "GIT_WORK_TREE="+l.top)
	g.kept = slices.Compact([]string{l.gitDir, l.common})
	if g.settings, err = c.settings(ctx, g, l); err != nil {
		return git{}, layout{}, err
	}
	g.env = append(g.env, overrides(g.settings)...)
	return g, l, nil
}

// found is [git.find], in the clone's own folder once.
func (c Clone) found(ctx context.Context, dir string) (layout, error) {
	if dir == string(c.Dir) && !exists(dir) {
		return layout{}, fleet.WithHint(fmt.Errorf("workspace %s is not there", dir), `correct "workspace" in stint.toml`)
	}
	if dir != string(c.Dir) || c.Found == nil {
		return c.unbound(dir).find(ctx)
	}
	if l, known := c.Found.Load(dir); known {
		return l.(layout), nil
	}
	l, err := c.unbound(dir).find(ctx)
	if err == nil {
		c.Found.Store(dir, l)
	}
	return l, err
}

// unbound is git that may only look for a repository.
func (c Clone) unbound(dir string) git {
	return git{dir: dir, env: environment(c.Environment), timeout: cmp.Or(c.Timeout, defaultTimeout)}
}

// asItIs is git that shows the objects themselves, and not the replacements that everybody who
// may write to the repository can put in their place.
func (g git) asItIs() git {
	g.env = append(slices.Clone(g.env), "GIT_NO_REPLACE_OBJECTS=1", "GIT_GRAFT_FILE=/dev/null")
	return g
}

// layout has the absolute paths of a work tree's parts.
type layout struct {
	top    string // the work tree
	gitDir string // what git keeps of this work tree
	common string // what git keeps for all of the clone's
}

// find has git find the repository that a folder is in: the nearest, whose work tree begins
// where its .git is, whatever its configuration says. Git runs nothing for it.
func (g git) find(ctx context.Context) (layout, error) {
	out, err := g.run(ctx, "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir")
	for _, known := range []error{errBare, errNoRepository} {
		if errors.Is(err, known) {
			return layout{}, known
		}
	}
	if err != nil {
		return layout{}, err
	}
	top, gitDir, ok := strings.Cut(out, "\n")
	if !ok || strings.Contains(gitDir, "\n") {
		return layout{}, fmt.Errorf("git rev-parse: want two paths, got %q", out)
	}
	nearest := resolved(g.dir)
	for nearest != top && nearest != "/" && !exists(filepath.Join(nearest, ".git")) {
		nearest = filepath.Dir(nearest)
	}
	if nearest != top || !exists(filepath.Join(top, ".git")) {
		return layout{}, fmt.Errorf("%s: its repository has its work tree elsewhere, in %s: %w", g.dir, top, errNoRepository)
	}
	common := gitDir // and not what its file "commondir" says
	if above := filepath.Dir(gitDir); filepath.Base(above) == "worktrees" && above != top && exists(filepath.Join(gitDir, "commondir")) {
		common = filepath.Dir(above)
	}
	return layout{top: top, gitDir: gitDir, common: common}, nil
}

// turn is the right to change the clone.
type turn struct {
	git
	layout
	clone Clone
	note  note
}

// note is the next step of the turn's holder, as the lock file says. It is empty once that
// step is done: a process that takes the turn and finds a note knows that its holder died, and
// what to clean up.
type note struct {
	Run    fleet.RunID `json:"run"`
	PID    int         `json:"pid"`
	Doing  string      `json:"doing"`
	GitDir string      `json:"git_dir,omitempty"`
	Top    string      `json:"top,omitempty"`
	Branch string      `json:"branch,omitempty"` // of a rebase: the full ref
	From   string      `json:"from,omitempty"`   // and its commit before
	Saved  string      `json:"saved,omitempty"`  // uncommitted changes, as a commit; empty: none
	Stash  string      `json:"stash,omitempty"`  // the last stash before; empty: there was none
	Back   string      `json:"back,omitempty"`   // the commit that is being gone back from, after a rebase that went well
	Land   string      `json:"land,omitempty"`   // of a landing on that branch: the commit that it is to have

	Aside map[string]string `json:"aside,omitempty"` // by file: the object with a task's state, see [turn.setAside]
}

const (
	lockName  = "stint.lock"
	noteLimit = 64 << 10 // a handful of paths
)

// inTurn does something when it is this process's turn.
//
// The lock is flock(2)'s on a file of the clone that is never unlinked. Git inherits it:
// if we die, the turn lasts until what we began in it is over. It is given back by a
// word to the kernel, so that a process which a hook left behind cannot keep it.
func (c Clone) inTurn(ctx context.Context, run fleet.RunID, doing string, do func(context.Context, *turn) error) (err error) {
	g, l, err := c.git(ctx, string(c.Dir))
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(l.common, lockName), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := await(ctx, f, cmp.Or(c.Patience, defaultPatience)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unix.Flock(int(f.Fd()), unix.LOCK_UN)) }()
	g.turn = f
	t := &turn{git: g, layout: l, clone: c}
	before, err := t.read()
	if err != nil {
		return err
	}
	if before.Doing != "" {
		// If we die here, the note of the holder that died before us still stands.
		if err := t.recover(ctx, before); err != nil {
			return fmt.Errorf("clean up after run %s, which died in the middle of %q: %w", before.Run, before.Doing, err)
		}
	}
	t.note = note{Run: run, PID: os.Getpid(), Doing: doing}
	if err := t.write(t.note); err != nil {
		return err
	}
	if err = do(ctx, t); errors.Is(err, errLeft) {
		return err
	}
	// If we die here, the next to come looks for something to clean up and finds nothing.
	return errors.Join(err, f.Truncate(0))
}

// errLeft is for what could neither be done nor taken back. The note stays.
var errLeft = errors.New("the next command that needs the workspace goes on with it")

// await locks the file, and says who has it if that takes longer than patience.
func await(ctx context.Context, f *os.File, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	again := time.NewTicker(poll)
	defer again.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			holder, _ := (&turn{git: git{turn: f}}).read() // for people; the kernel knows who it is
			return fleet.WithHint(
				fmt.Errorf("wait for %s, which run %s has locked (%s, pid %d): %w", f.Name(), holder.Run, holder.Doing, holder.PID, ctx.Err()),
				"fuser -v "+f.Name())
		}
	}
}

func (t *turn) read() (note, error) {
	text, err := io.ReadAll(io.NewSectionReader(t.git.turn, 0, noteLimit))
	if err != nil || len(text) == 0 {
		return note{}, err
	}
	var n note
	if json.Unmarshal(text, &n) != nil || n.Doing == "" {
		n.Doing = "something" // it died while it wrote, before it began
	}
	return n, nil
}

// write makes the note the lock file's text. A reader in between sees a holder that had not
// begun.
func (t *turn) write(n note) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if err := t.git.turn.Truncate(0); err != nil {
		return err
	}
	_, err = t.git.turn.WriteAt(text, 0)
	return err
}

// tidying is a context for what must be put back although ctx may have ended.
func tidying(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), tidyTime)
}
