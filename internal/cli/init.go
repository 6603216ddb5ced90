package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"stint/internal/agent/preset"
	"stint/internal/agent/session"
	"stint/internal/config"
	"stint/internal/doctor"
	"stint/internal/fleet"
	"stint/internal/install"
	"stint/internal/plain"
	"stint/internal/store/sqlite"
	"stint/internal/systemd"
	"stint/internal/task"
)

type initOptions struct {
	fleet    string
	agent    string
	store    string
	systemd  bool
	newStore bool
	runtime  bool
	watch    *bool // nil: as it is
}

func newInit(a *app) *cobra.Command {
	var (
		o     initOptions
		watch bool
	)
	cmd := a.dry(&cobra.Command{
		Use:   "init [DIR]",
		Short: "Make a workspace into a fleet, and install its timer",
		Long: `Write a short stint.toml, a first task and the state folder for the workspace DIR (default: this
folder). The file names the agents in PATH, or that of --agent, and each category that open tasks
name, or else one, work. On a machine without namespaces the agents get box = "landlock".

With --systemd also install, enable and start the timer stint@FLEET.timer of your own service
manager, which fires every 30 minutes, and a timer stint@FLEET-POOL.timer for each further pool of
the configuration. Timers of pools that it no longer has are stopped and removed.

With --watch a pool also fires within seconds, at most once in 30 s and not while the fleet is
paused, when a file in the folder of tasks changes (not in folders below it), or when a program
connects to the socket stint-FLEET, or stint-FLEET-POOL, in $XDG_RUNTIME_DIR. Only your user can,
and no session in a box. It makes no difference who changes a file: you, "stint task", a landing, a
pull, or a session that shares the workspace. Fires, and sessions in clones, change none there.

Without an agent no timer is started; --agent adds an agent to the file later.

Within the folder of another fleet it makes a second one only with --fleet. Existing files are
kept: running it twice changes nothing. Run it again after an upgrade: unit files, and the schema
that editors check stint.toml by, are brought up to date.`,
		Example: `  stint init
  stint init ~/work --fleet bob --systemd
  stint init --systemd --watch                   # then: curl --unix-socket $XDG_RUNTIME_DIR/stint-bob .
  stint init --agent './work-on "$STINT_TASK_ID"'
  systemctl --user edit stint@bob.timer          # another cadence
  systemctl --user disable --now stint@bob.timer # no more fires`,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			if cmd.Flags().Changed("watch") {
				o.watch = &watch
			}
			return a.runInit(cmd.Context(), dir, o)
		},
	})
	f := cmd.Flags()
	f.StringVar(&o.fleet, "fleet", "", "the `NAME` of the fleet (default: made from the folder's)")
	f.StringVar(&o.agent, "agent", "", "the `COMMAND` of a shell that does the work, in place of the agents in PATH")
	f.StringVar(&o.store, "store", "", "the `STORE` where a fleet on several machines keeps its claims and runs, such as postgres://HOST/DATABASE: stint help hosts")
	f.BoolVar(&o.systemd, "systemd", false, "install, enable and start the fleet's timer")
	f.BoolVar(&o.newStore, "new-store", false, "begin with an empty store where the fleet's is gone")
	f.BoolVar(&watch, "watch", false, "with --systemd: also fire for tasks and for programs of yours; --watch=false ends that")
	f.BoolVar(&o.runtime, "runtime", false, "with --systemd: install until the machine goes down, for a trial")
	return cmd
}

// setup is one run of init: what it did, and what is still missing.
type setup struct {
	*app
	o       initOptions
	dir     string
	changes []change
	missing []string
	notes   []string // choices that somebody may want to change

	noAgent     bool     // none of those that are known is installed
	environment []string // of a unit
}

// systemPath is the PATH of a service manager that nobody has given another, for a fleet
// that is set up before the manager runs.
const systemPath = "/usr/local/bin:/usr/bin:/bin"

func (a *app) runInit(ctx context.Context, dir string, o initOptions) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if info, err := os.Stat(dir); err != nil {
		return fleet.WithHint(usage(err), "make the folder first: mkdir -p "+fleet.ShellWord(dir))
	} else if !info.IsDir() {
		return usage(fmt.Errorf("%s is not a folder", dir))
	}
	for flag, given := range map[string]bool{"--runtime": o.runtime, "--watch": o.watch != nil} {
		if given && !o.systemd {
			return fleet.WithHint(usage(errors.New(flag+" needs --systemd")), "stint init --systemd "+flag)
		}
	}
	s := &setup{app: a, o: o, dir: dir}
	s.askEnvironment(ctx)
	c, err := s.config(ctx)
	if err != nil {
		return err
	}
	if err := actForOwner(c); err != nil {
		return err
	}
	s.askEnvironment(ctx) // of the owner's manager by now
	s.noteMissing(ctx, c)
	for _, step := range []func(context.Context, *config.Config) error{s.state, s.schema, s.tasks, s.exclude, s.units} {
		if err := step(ctx, c); err != nil {
			return err
		}
	}
	s.report(ctx, c)
	return nil
}

// askEnvironment finds out what a unit of the fleet is given.
func (s *setup) askEnvironment(ctx context.Context) {
	s.environment = doctor.Environment(ctx)
	if fleet.Variable(s.environment, "PATH") == "" {
		s.environment = append(s.environment, "PATH="+systemPath)
	}
}

// config is the fleet's configuration: the file there is, or a new one.
func (s *setup) config(ctx context.Context) (*config.Config, error) {
	path := filepath.Join(s.dir, config.FileName)
	if err := s.refuseCopy(path); err != nil {
		return nil, err
	}
	if err := s.refuseOther(path); err != nil {
		return nil, err
	}
	options := s.configOptions()
	done := install.Created
	if old := s.withoutAgent(path); old != nil {
		done, s.o.fleet = install.Updated, string(old.Fleet)
		if old.Store.Shared() {
			s.o.store = old.StoreText
		}
	} else if _, err := os.Lstat(path); err == nil {
		c, err := config.Load(path, options)
		if err == nil && s.o.fleet != "" && s.o.fleet != string(c.Fleet) {
			err = usage(fmt.Errorf("%s is for fleet %s, not %s", path, c.Fleet, s.o.fleet))
		}
		if err == nil && s.o.store != "" && s.o.store != c.StoreText {
			err = fleet.WithHint(usage(fmt.Errorf("%s has another store", path)), "edit its key store; stint store copy takes the record along")
		}
		if err == nil && s.o.agent != "" {
			err = fleet.WithHint(usage(fmt.Errorf("--agent: %s has an agent already: %s", path, c.AgentNames()[0])), "edit its command there")
		}
		s.did(path, install.Kept)
		return c, err
	}
	if above := config.Nearest(filepath.Dir(s.dir)); above != "" && s.o.fleet == "" {
		return nil, fleet.WithHint(usage(fmt.Errorf("%s is within the fleet of %s", s.dir, above)),
			"commands here are about that fleet already; for a second one, which they are about from then on: stint init --fleet NAME")
	}
	name, err := fleet.ParseName(cmp.Or(s.o.fleet, nameOf(s.dir)))
	if err != nil {
		return nil, fleet.WithHint(usage(err), "name the fleet: stint init --fleet NAME")
	}
	state := resolved(config.DefaultState(s.Getenv, name))
	if state == "" {
		return nil, fleet.WithHint(usage(errors.New("no place for the fleet's state: neither $XDG_STATE_HOME nor $HOME is set")), "set HOME")
	}
	if _, err := config.ParseStore(cmp.Or(s.o.store, string(config.SQLite)), name, s.Getenv); err != nil {
		return nil, fmt.Errorf("--store: %w", usage(err))
	}
	o := config.SampleOptions{Fleet: name, Store: s.o.store, State: state, Agents: s.agents(), Box: s.box(ctx)}
	c, text, err := s.sample(ctx, path, o)
	if err != nil {
		return nil, err
	}
	// A state folder that is another's is found out before anything is written.
	if err := s.checkState(ctx, c); err != nil {
		return nil, fleet.WithHint(err, "give this fleet another name: stint init --fleet NAME")
	}
	s.did(path, done)
	if s.dryRun {
		return c, nil
	}
	return c, renameio.WriteFile(path, text, 0o644)
}

// refuseOther refuses to write a file where another is named, by which commands would go.
func (s *setup) refuseOther(path string) error {
	by := "--config"
	if s.configPath == "" {
		by = "$STINT_CONFIG"
	}
	if cmp.Or(s.configPath, s.Getenv("STINT_CONFIG")) == "" {
		return nil
	}
	named, err := s.configPathInUse()
	if err != nil || resolved(named) == resolved(path) {
		return err
	}
	return fleet.WithHint(usage(fmt.Errorf("%s names %s, and init writes %s", by, named, path)),
		"leave that away, or name the folder of that file: stint init DIR")
}

// sample is a new configuration, with what is found of tasks.
func (s *setup) sample(ctx context.Context, path string, o config.SampleOptions) (c *config.Config, text []byte, err error) {
	o.TaskDir, o.TaskFormat = task.Find(s.dir)
	if c, err = config.Parse(path, config.Sample(o), s.configOptions()); err != nil {
		return nil, nil, err
	}
	o.Categories, o.Shared = taskCategories(ctx, c), s.places(c).Repository(ctx) != nil
	text = config.Sample(o)
	c, err = config.Parse(path, text, s.configOptions())
	return c, text, err
}

// withoutAgent is the configuration in the file if init wrote it where it found no agent, and nobody
// has changed it since, else nil: with --agent, init writes it anew.
func (s *setup) withoutAgent(path string) *config.Config {
	old, err := os.ReadFile(path)
	if err != nil || s.o.agent == "" {
		return nil
	}
	c, err := config.Parse(path, old, s.configOptions())
	if err != nil || s.o.fleet != "" && s.o.fleet != string(c.Fleet) || s.o.store != "" && s.o.store != c.StoreText {
		return nil
	}
	o := config.SampleOptions{Fleet: c.Fleet, State: c.State, Categories: c.CategoryNames()}
	o.TaskDir, o.TaskFormat = task.Find(s.dir)
	o.Shared = !c.Categories[o.Categories[0]].OwnClone
	if c.Store.Shared() {
		o.Store = c.StoreText
	}
	if !bytes.Equal(old, config.Sample(o)) {
		return nil
	}
	return c
}

// taskCategories are the categories that the open tasks in the folder name, sorted.
func taskCategories(ctx context.Context, c *config.Config) []fleet.Category {
	folder := taskFolder(c).Folder
	folder.DefaultCategory = ""
	tasks, _, _ := folder.List(ctx) // none where there is no folder; what is wrong with a file, task list says
	tasks = slices.DeleteFunc(tasks, func(t fleet.Task) bool { return t.Category == "" || t.State.Settled() })
	list := plain.Each(tasks, func(t fleet.Task) fleet.Category { return t.Category })
	slices.Sort(list)
	return slices.Compact(list)
}

// resolved is a path without links, as far as it is there: a link may lead elsewhere one day.
func resolved(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil || path == "" {
		return target
	}
	return filepath.Join(resolved(filepath.Dir(path)), filepath.Base(path))
}

// nameOf makes a fleet's name from a folder's.
func nameOf(dir string) string {
	name := regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(filepath.Base(dir)), "_")
	return strings.Trim(name[:min(len(name), 32)], "_")
}

// agents are the agents to begin with: all known ones that are installed. Their absolute
// paths are written, for a timer's PATH is not a shell's, and so is a PATH where a unit's
// own lacks what an agent needs.
func (s *setup) agents() (list []config.SampleAgent) {
	if s.o.agent != "" {
		return []config.SampleAgent{{Name: "shell", Command: []string{"sh", "-c", s.o.agent}}}
	}
	known := slices.DeleteFunc(preset.Names(), func(name string) bool { return len(preset.Named(name).Command) == 0 })
	for _, name := range known {
		agent := config.Preset(name)
		path, err := exec.LookPath(agent.Command[0])
		if err != nil || !filepath.IsAbs(path) {
			continue
		}
		agent.Command[0] = path
		_, repaired := (&doctor.Doctor{Getenv: s.Getenv, Environment: s.environment}).Program(name, agent, s.dir)
		list = append(list, config.SampleAgent{Name: name, Preset: name, Command: agent.Command, Path: repaired})
	}
	if s.noAgent = len(list) == 0; s.noAgent {
		s.missing = append(s.missing,
			"an agent: none of "+strings.Join(known, ", ")+" is in PATH; install one, or name any command: stint init --agent COMMAND")
	}
	return list
}

// box is the profile of the agents' box, where this machine has no namespaces for the default one.
func (s *setup) box(ctx context.Context) fleet.BoxProfile {
	l := session.Layers(ctx)
	if l.Namespaces != "" || l.Landlock == 0 || s.noAgent {
		return ""
	}
	s.notes = append(s.notes,
		fmt.Sprintf(`the box of agents is "landlock", weaker than "workspace": %s; better: %s, and box = "workspace"`, l.Refused, l.Fix))
	return fleet.BoxLandlock
}

// noteMissing notes what a fleet needs and this workspace lacks.
func (s *setup) noteMissing(ctx context.Context, c *config.Config) {
	state, err := s.places(c).Condition(ctx)
	if err != nil || !state.Repository {
		s.missing = append(s.missing, "a git work tree: without one a session's work is known only from its result file; run: git init")
	}
	if !s.noAgent {
		idle, _ := s.doctor(c).Idle()
		s.missing = append(s.missing, idle...)
	}
	if around := s.fleetAround(c.Path); around != nil {
		if record, _ := s.trustStore(c.Path).Load(); record.Sums == nil {
			s.missing = append(s.missing, fmt.Sprintf("your confirmation, as sessions of fleet %s may write %s: stint --config %s config trust",
				around.Fleet, c.Path, fleet.ShellWord(c.Path)))
		}
	}
	program, err := install.Binary()
	if err == nil {
		err = checkUnitPaths(program, c.Path)
	}
	if err != nil {
		s.missing = append(s.missing, fmt.Sprintf("plain paths: %v; %s", err, fleet.Hint(err)))
	}
}

// checkState refuses a state folder that belongs to another workspace.
func (s *setup) checkState(ctx context.Context, c *config.Config) error {
	db, err := sqlite.OpenRead(ctx, s.storeOptions(c))
	if errors.Is(err, fleet.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return db.Close()
}

func (s *setup) storeFor(c *config.Config) sqlite.Options {
	o := s.storeOptions(c)
	o.DryRun = s.dryRun
	return o
}

// state makes the state folder and the store in it. The store of a workspace that was
// moved goes with it. One on a server is there, or its owner makes it.
func (s *setup) state(ctx context.Context, c *config.Config) error {
	if c.Store.Shared() {
		return s.sharedState(ctx, c)
	}
	path := filepath.Join(c.State, sqlite.File)
	if err := s.storeGone(c); err != nil && !s.o.newStore {
		return err
	}
	if _, err := os.Lstat(path); err != nil {
		s.did(path, install.Created)
		if s.dryRun {
			return nil
		}
	} else {
		former, err := sqlite.Adopt(ctx, s.storeFor(c))
		if err != nil {
			return err
		}
		s.did(path, install.Kept)
		if former != "" {
			s.did("workspace "+former, "moved here")
		}
		if s.dryRun {
			return nil
		}
	}
	if err := notMovedAway(ctx, c); err != nil {
		return err
	}
	db, err := sqlite.Open(ctx, s.storeFor(c))
	if err != nil {
		return err
	}
	// If we die before the note, another init makes it.
	if err := s.noteStore(c); err != nil { // a home that this user may not write, as root's for somebody else's fleet
		s.log.WarnContext(ctx, "where the store is not noted", slog.Any("err", err))
	}
	return db.Close()
}

// sharedState makes the folder for the identity, the locks and the runs of one machine of a fleet.
func (s *setup) sharedState(ctx context.Context, c *config.Config) error {
	for _, f := range s.doctor(c).Store(ctx) {
		if f.State == doctor.Problem {
			s.missing = append(s.missing, "the store: "+f.What+"; "+f.Fix)
		}
	}
	done := install.Kept
	if _, err := os.Lstat(c.State); err != nil {
		done = install.Created
	}
	s.did(c.State, done)
	if s.dryRun {
		return nil
	}
	return os.MkdirAll(c.State, 0o700)
}

// schema writes what editors read of the configuration's keys. If we die before it, the
// first line of stint.toml names no file until init is run again.
func (s *setup) schema(_ context.Context, c *config.Config) error {
	var text bytes.Buffer
	printJSON(&text, configSchema())
	return install.Plan{DryRun: s.dryRun, Did: s.did}.Write(filepath.Join(c.State, config.SchemaFile), text.Bytes())
}

// tasks makes the folder of tasks, with a first one in it, unless there is one.
func (s *setup) tasks(ctx context.Context, c *config.Config) error {
	if _, err := os.Stat(c.Tasks.Dir); err == nil {
		s.did(c.Tasks.Dir, install.Kept)
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	draft := task.Draft{
		ID: "first-task", Title: "Say what this repository is for", State: fleet.StateTodo,
		SuccessCriterion: "README.md says in three sentences what the repository is for",
		Body:             "Read the repository. If README.md does not say what it is for, write that down there and commit it.\n",
	}
	s.did(filepath.Join(c.Tasks.Dir, string(draft.ID)+".md"), install.Created)
	_, err := taskFolder(c).Add(ctx, draft, s.dryRun)
	return err
}

// exclude has git overlook the empty files that the sandbox of Claude Code puts into the
// workspace for as long as a command runs: its own "git add --all" would fail at them, and
// that of another session commit them.
func (s *setup) exclude(ctx context.Context, c *config.Config) error {
	var files []string
	for _, name := range c.AgentNames() {
		if a := c.Agents[name]; a.Sandboxed() {
			files = append(files, a.CLI.Sandbox.Files...)
		}
	}
	if len(files) == 0 {
		return nil
	}
	slices.Sort(files)
	path, text, err := s.places(c).Clone.Excluding(ctx, "# Claude Code's sandbox makes these while a command runs (stint init).", slices.Compact(files))
	if err != nil || path == "" {
		return err // without a repository there is nothing to write to
	}
	return install.Plan{DryRun: s.dryRun, Did: s.did}.Write(path, []byte(text))
}

// units installs, enables and starts the timers, of the fleet and of its further pools, and removes those
// of pools that the configuration does not fire any more.
func (s *setup) units(ctx context.Context, c *config.Config) error {
	if !s.o.systemd {
		return nil
	}
	p, err := s.plan(c, s.o.runtime)
	if err != nil {
		return err
	}
	if p.Watch = p.Watched(); s.o.watch != nil {
		p.Watch = *s.o.watch
	}
	if _, all := s.doctor(c).Idle(); all { // each fire would burn its sessions
		s.missing = append(s.missing, "the timer: it is started once there is an agent; then: stint init --systemd")
		return p.UndoFormer(ctx)
	}
	timers := plain.Each(c.FiredPools(), func(pool string) string { return install.Timer(c.Fleet, pool) })
	if err := p.Apply(ctx, c.FiredPools()[1:], timers); err != nil {
		return err
	}
	on, err := systemd.Linger()
	if err == nil && !on {
		s.missing = append(s.missing, "lingering: without it the fleet stops when you log out; run: loginctl enable-linger")
	}
	if err != nil {
		return err
	}
	return p.UndoFormer(ctx)
}

// doctor looks for agents as a unit of the fleet would.
func (s *setup) doctor(c *config.Config) *doctor.Doctor {
	d := s.app.doctor(c)
	d.Environment = s.environment
	return d
}

// plan returns the fleet's units at the service manager.
func (s *setup) plan(c *config.Config, runtime bool) (p install.Plan, err error) {
	p = install.Plan{Config: c, Runtime: runtime, DryRun: s.dryRun, Did: s.did}
	p.Folder, err = install.Folder(s.Getenv, runtime)
	return p, err
}

func (s *setup) did(path, action string) {
	s.changes = append(s.changes, change{path, action})
}

func (s *setup) report(ctx context.Context, c *config.Config) {
	if s.asObject(initObject(s.dryRun, s.changes, s.missing, s.notes).JSON(c.Fleet)) {
		return
	}
	for _, m := range s.missing {
		fmt.Fprintf(s.Stdout, "missing: %s\n", plain.Text(m))
	}
	for _, n := range s.notes {
		fmt.Fprintf(s.Stdout, "note: %s\n", plain.Text(n))
	}
	s.printChanges()
	next := "is ready; next: stint fanout --dry-run"
	if len(s.missing) > 0 {
		next = "is not ready: see to what is missing; then: stint fanout --dry-run"
	} else if s.o.systemd && !s.dryRun {
		next = "is ready" + s.firstFire(ctx, c) + "; to fire now: stint fanout"
	}
	fmt.Fprintf(s.Stdout, "fleet %s %s\n", c.Fleet, next)
}

// firstFire says when the timer comes, as far as it is known.
func (s *setup) firstFire(ctx context.Context, c *config.Config) string {
	list, err := install.Timers{Fleet: c.Fleet}.Timers(ctx, c.FiredPools()[:1])
	if err != nil || list[0].Next.IsZero() {
		return ""
	}
	return fmt.Sprintf("; its timer fires in %s", plain.Span(list[0].Next.Sub(s.Now())))
}

func (s *setup) printChanges() {
	for _, ch := range s.changes {
		action := ch.action
		if s.dryRun && action != install.Kept {
			action = "would be " + action
		}
		fmt.Fprintf(s.Stdout, "%s: %s\n", action, plain.Text(ch.path))
	}
}
