package cli

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"stint/internal/agent/command"
	"stint/internal/agent/rundir"
	"stint/internal/agent/session"
	"stint/internal/box"
	"stint/internal/claim"
	"stint/internal/config"
	"stint/internal/engine"
	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	"stint/internal/gate"
	"stint/internal/install"
	"stint/internal/machine"
	"stint/internal/notice"
	"stint/internal/plain"
	"stint/internal/review"
	"stint/internal/screen"
	"stint/internal/store"
	"stint/internal/survey"
	"stint/internal/systemd"
	"stint/internal/task"
	"stint/internal/workspace"
)

// loadConfig finds and reads the configuration, as a person confirmed it.
func (a *app) loadConfig() (*config.Config, error) {
	path, err := a.configPathInUse()
	if err != nil {
		return nil, err
	}
	c, err := a.trustedConfig(path)
	if err != nil {
		return nil, err
	}
	a.secrets.hide(a.Getenv, c)
	a.warnHeld(c)
	return c, actForOwner(c)
}

// opened has the parts of a fleet that a command opened: to act on them, and to explain them.
type opened struct {
	*survey.Reader
	*engine.Engine
	*inspect.Explainer
}

// open has a command run fn with what it needs of the fleet.
func (a *app) open(needs access, fn func(ctx context.Context, f opened, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return a.with(cmd.Context(), needs, func(f opened) error { return fn(cmd.Context(), f, args) })
	}
}

// with runs fn with the whole of the fleet. Before a store is opened, checks may refuse what is wrong with the command
// line; their engine has no store. What only reads has a person at a terminal get warnings in the words of all commands, and no log.
func (a *app) with(ctx context.Context, needs access, fn func(opened) error, checks ...func(*engine.Engine) error) error {
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	stint, err := os.Executable()
	if err != nil {
		return err
	}
	sessions, runner, sources := a.sessions(c), session.Runner{Stint: stint, Known: a.layers, Scopes: systemd.Units{}}, taskFolder(c)
	places := a.places(c)
	folders := rundir.Folders{State: c.State, Keep: config.KeepFolders, MaxAge: c.Keep.Files, Out: config.KeepOut, Now: a.Now}
	e := &engine.Engine{
		Reader: &survey.Reader{
			Config:   c,
			Tasks:    sources,
			Lessons:  task.LessonFolder{Dir: c.Lessons.Dir, Categories: c.CategoryNames()}.List,
			Sessions: sessions,
			Agents:   runner,
			Ends:     folders,
			Work:     places,
			Gates:    newGates(c),
			Machine:  func() string { return machine.ReadPressure(os.DirFS("/proc")).Refuse() },
			Timers:   install.Timers{Fleet: c.Fleet}.Timers,
			Log:      a.log,
			Now:      a.Now,
			Random:   a.Random,
			Getenv:   a.Getenv,
			Withhold: survey.Withhold,
		},
		Sources:      sources,
		Ranker:       newHook(c, c.Selector.Command, maxPayload),
		Lanes:        claim.Locks(c.State),
		Stopper:      sessions,
		Runner:       runner,
		Environ:      os.Environ(),
		Boxes:        runner,
		Door:         doors{a, c}.Open,
		Echo:         a.echo(),
		Later:        systemd.Units{},
		Graders:      graders{runner, &c.Trust},
		Notices:      a.newNotices(c),
		Publisher:    newHook(c, c.Review.Publish, maxPayload),
		Forge:        newHook(c, c.Review.Outcome, review.MaxAnswer),
		Reviewers:    newHook(c, c.Review.Feedback, maxFeedback),
		Repo:         places,
		TargetBranch: places.Clone,
		Folders:      folders,
		Operator:     a.user(),
		Host:         func() fleet.Host { return a.ownHost(c) },
		Elapsed:      a.Elapsed,
		Unenforced: func(properties map[string]any) []string {
			return systemd.Unenforced(os.DirFS("/"), "self", properties)
		},
	}
	for _, check := range checks {
		if err := check(e); err != nil {
			return err
		}
	}
	if needs&repository != 0 {
		if err := a.missingRepository(ctx, c); err != nil {
			return err
		}
	}
	return a.withStore(ctx, c, needs, func(s store.Store) error {
		e.Store, e.Here = s, sessions.Here()
		if a.Tamper != nil {
			a.Tamper(e)
		}
		if _, shown := terminal(a.Stderr); shown && !a.json && needs&writing == 0 {
			e.Log = slog.New(stderrHandler{e.Log.Handler(), a.Stderr})
		}
		if needs&record != 0 && !e.Recorded() {
			a.nothingYet()
		}
		return fn(opened{e.Reader, e, &inspect.Explainer{Reader: e.Reader}})
	})
}

func (a *app) sessions(c *config.Config) session.Sessions {
	return session.Sessions{State: c.State, Here: a.here(c), Locks: claim.Locks(c.State), Units: systemd.Units{}, Log: a.log}
}

// here returns the location of this process, once somebody asks: the identity may be given on the way to the
// store. If it cannot be read, every session is another machine's.
func (a *app) here(c *config.Config) func() fleet.Location {
	return sync.OnceValue(func() fleet.Location {
		i, err := a.identity(c.State)
		if err != nil && !errors.Is(err, fleet.ErrNotFound) {
			a.log.Warn("no session is known to live", slog.Any("err", err))
			return fleet.Location{Host: "none"}
		}
		return i.Seat(thisMachine())
	})
}

// ownHost describes this machine to the fleet. It is empty if the machine's identity cannot be
// read.
func (a *app) ownHost(c *config.Config) fleet.Host {
	i, err := a.identity(c.State)
	if err != nil {
		return fleet.Host{}
	}
	h := i.Host(thisMachine())
	h.Version, h.Workspace, h.Slots, h.Labels = version(), c.Workspace, c.Fanout.Slots, c.Host.Labels
	if text, err := os.ReadFile(c.Path); err == nil {
		sum := fnv.New64a()
		sum.Write(text)
		h.Config = fmt.Sprintf("%016x", sum.Sum64())
	}
	return h
}

// identity is that of a state folder. Once there is one it is read no more: a claim opens its file once.
func (a *app) identity(state string) (machine.Identity, error) {
	if i, known := a.identities.Load(state); known {
		return i.(machine.Identity), nil //nolint:forcetypeassert // nothing else is in it
	}
	i, err := machine.ReadIdentity(state)
	if err == nil {
		a.identities.Store(state, i)
	}
	return i, err
}

// hostName is the name of this machine: by the identity of a state folder, or else its hostname.
func (a *app) hostName(state string) string {
	if i, err := a.identity(state); state != "" && err == nil && i.Name != "" {
		return i.Name
	}
	name, _ := os.Hostname()
	return name
}

// thisMachine is the machine that this process is on.
func thisMachine() machine.Local { return machine.This(os.DirFS("/")) }

// desk answers questions about claims.
func (a *app) desk(c *config.Config, s store.Store) claim.Claims {
	return claim.Claims{Store: s, Sessions: a.sessions(c), Ends: rundir.Folders{State: c.State}, Log: a.log}
}

// taskFolder returns the fleet's tasks: its folder, and the lists of its commands.
func taskFolder(c *config.Config) task.Sources {
	s := task.Sources{
		Folder: task.Folder{
			Dir: c.Tasks.Dir, Top: task.TopOf(c.Workspace, c.Tasks.Dir), DefaultCategory: c.Tasks.DefaultCategory, Tags: c.Tasks.Tags,
			Format: task.Format{
				Name: c.Tasks.Format, Fields: c.Tasks.Fields, States: c.Tasks.States, Priorities: c.Tasks.Priorities,
				Foreign: c.Tasks.Foreign, Words: c.Tasks.Words,
			},
		},
	}
	for _, name := range slices.Sorted(maps.Keys(c.Tasks.Sources)) {
		source := c.Tasks.Sources[name]
		s.Commands = append(s.Commands, task.Source{
			Listing: task.Listing{
				Name: name, Category: source.Category, Fields: source.Fields, States: source.States, Priorities: source.Priorities,
			},
			Command: operators(c, source.Command), Calls: source.Calls(),
		})
	}
	return s
}

// echo is standard error if that is the journal: there, what agents print is shown as
// well. A person at a terminal has the log.
func (a *app) echo() io.Writer {
	if j, ok := a.Stderr.(*journal); ok {
		return j
	}
	return nil
}

// walls is the box of git in the clones of sessions: it reads the system and its tools, and writes the clone.
func (a *app) walls(c *config.Config) workspace.Walls {
	var (
		once   sync.Once
		r      session.Runner
		layers fleet.BoxLayers
		failed error
	)
	return func(ctx context.Context, dir string, read []string) ([]string, error) {
		once.Do(func() {
			r.Stint, failed = os.Executable()
			if known := a.layers.Load(); known != nil {
				layers = *known
			} else {
				layers = session.Layers(ctx)
			}
		})
		git, err := exec.LookPath("git")
		if err != nil {
			return nil, fleet.WithHint(err, "install git")
		}
		if failed != nil || layers.Namespaces == "" && layers.Landlock == 0 {
			return nil, failed
		}
		profile := fleet.BoxWorkspace
		if layers.Namespaces == "" {
			profile = fleet.BoxLandlock
		}
		b := box.For(profile, box.Places{
			Home: a.Getenv("HOME"), State: c.State, Config: c.Path, Dir: dir, Read: read, Programs: r.Needs(git, os.Environ(), dir),
			Path: filepath.SplitList(a.Getenv("PATH")),
		})
		b.Layers = layers
		return r.Boxed(b, dir, git, nil), nil
	}
}

// places is the workspace, with the clones of single runs.
func (a *app) places(c *config.Config) workspace.Places {
	categories := slices.Collect(maps.Values(c.Categories))
	syncs := slices.ContainsFunc(categories, func(c config.Category) bool { return c.Sync })
	shares := slices.ContainsFunc(categories, func(c config.Category) bool { return !c.OwnClone })
	return workspace.Places{
		Clone: workspace.Clone{
			Dir: workspace.Folder(c.Workspace), Fleet: c.Fleet, Root: filepath.Join(c.State, "clones"), Environment: os.Environ(), Found: &sync.Map{},
			Walls: a.walls(c), Restate: taskFolder(c).Restated, Target: c.Review.Target, Forwards: syncs && !shares,
		},
		Log:    a.log,
		Limits: workspace.Limits{Keep: config.KeepUncommitted, MaxAge: c.Keep.Files, Now: a.Now()},
	}
}

// graders runs the operator's judges of sessions.
type graders struct {
	session.Runner
	trust *config.Trust
}

// Ask runs a grader on the evidence.
func (g graders) Ask(ctx context.Context, q engine.Question) (answer []byte, err error) {
	if err := g.trust.Check(q.Argv, q.Dir); err != nil {
		return nil, err
	}
	argv := q.Argv
	if !q.Box.Open() {
		program, err := command.Runnable(argv[0], q.Environment, q.Dir)
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", argv[0], err)
		}
		// If we die before it is removed, the run is open: it is trimmed once it is reaped.
		remove, err := rundir.FreshFolder(q.Box.Tmp)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, remove()) }()
		argv = g.Boxed(q.Box, q.Dir, program, argv)
	}
	cgroup, end, err := session.Rejoin(q.Run)
	if err != nil {
		return nil, err
	}
	answer, err = command.Command{
		Argv: argv, Named: q.Argv, Dir: q.Dir, Env: q.Environment, Stdin: q.Evidence, Timeout: q.Timeout, Limit: q.Limit, Cgroup: cgroup,
	}.Output(ctx)
	// A test that leaves a server behind has it move to a session of its own. The lane is not
	// given back before that is gone.
	return answer, errors.Join(err, end())
}

// Statuses by which a shell, or env, says that it could not run what it was to run.
const cannotRun, notFound, bySignal = 126, 127, 128

// Check runs a check. One that overran, or was ended by a signal, says nothing.
func (g graders) Check(ctx context.Context, q engine.Question) (failure string, err error) {
	_, err = g.Ask(ctx, q)
	exit := (*command.ExitError)(nil)
	switch {
	case !errors.As(err, &exit) || exit.Status == cannotRun || exit.Status == notFound:
	case !q.Box.Open() && (exit.Status > bySignal || strings.Contains(err.Error(), ": bwrap: ")):
		// In a box, a signal shows so; or that could not be made.
	default:
		return err.Error(), nil
	}
	return "", err
}

// newGates are the gates of the categories whose results wait for review.
func newGates(c *config.Config) survey.Gates {
	gates := gate.Gates{}
	for name, category := range c.Categories {
		if w := category.WIP; len(w.Command) > 0 {
			g := gate.Gate{Limit: w.Limit, Command: operators(c, w.Command)}
			g.Command.Env = append(g.Command.Env, "STINT_CATEGORY="+string(name))
			gates[name] = g
		}
	}
	if len(gates) == 0 {
		return nil
	}
	return gates
}

// maxNotice bounds a notice, for which the end of a session waits: a service that is well takes one in less.
const maxNotice = 10 * time.Second

// newNotices is nil when nobody is to be notified.
func (a *app) newNotices(c *config.Config) engine.Notices {
	n := c.Notice
	if len(n.Command) == 0 {
		return nil
	}
	s := notice.Sender{Fleet: c.Fleet, Host: a.hostName(c.State), Command: operators(c, n.Command)}
	s.Command.Timeout = min(s.Command.Timeout, maxNotice)
	return s
}

// operators is a command that the operator wrote, with the variables of [commands]. What may
// run the work of a session goes by [graders], and gets none of these.
func operators(c *config.Config, argv []string) command.Command {
	return command.Command{
		Argv: argv, Dir: c.Workspace, Timeout: c.Command.Timeout, Guard: c.Trust.Check,
		Env: append(config.Agent{PassEnvironment: c.Command.PassEnvironment}.Passed(os.Getenv), "STINT_FLEET="+string(c.Fleet), "STINT_CONFIG="+c.Path, "STINT_WORKSPACE="+c.Workspace),
	}
}

// hook is a command of the operator's.
type hook struct{ command.Command }

// newHook is nil where there is no command.
func newHook(c *config.Config, argv []string, limit int) engine.Hook {
	if len(argv) == 0 {
		return nil
	}
	h := hook{operators(c, argv)}
	h.Limit = limit
	return h
}

// Ask hands the question to the command and returns what it prints.
func (h hook) Ask(ctx context.Context, question []byte, argv ...string) ([]byte, error) {
	h.Stdin = question
	if len(argv) > 0 {
		h.Named, h.Argv = h.Argv, argv
	}
	return h.Output(ctx)
}

// maxFeedback is some hundred comments on each of some hundred items.
const maxFeedback = 8 << 20

// nothingYet says that the fleet has no store. An object says so by what is not in it.
func (a *app) nothingYet() {
	a.nothing = true
	if !a.json {
		fmt.Fprintln(a.Stderr, "stint: "+plain.Text(screen.NoStore(a.storeless)))
	}
}

// holder returns the holder for whom the command line acts, and whether it was named: two scripts
// of one user that name nobody must not share a claim.
func (a *app) holder(flag string) (h fleet.Holder, named bool, err error) {
	name := flag
	if name == "" {
		name = a.Getenv("STINT_HOLDER")
	}
	if named = name != ""; !named {
		host, err := os.Hostname()
		if err != nil {
			return "", false, err
		}
		name = a.user() + "@" + host
	}
	h, err = fleet.ParseHolder(name)
	return h, named, usage(err)
}

// user is the name of the user who runs this, or the number when there is no name.
func (a *app) user() string {
	if name := a.Getenv("USER"); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}

// checkUnitPaths refuses what could not be handed to systemd, before anything is
// written.
func checkUnitPaths(paths ...string) error {
	for _, p := range paths {
		if err := fleet.CheckUnitWord(p); err != nil {
			return fleet.WithHint(err, "install the binary, and keep the configuration, at a plain path, or start workers without systemd: --exec")
		}
	}
	return nil
}

// oneLine joins a person's words.
func oneLine(words []string) string { return strings.Join(words, " ") }
