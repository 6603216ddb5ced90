// Package cli is stint as its operator sees it: the commands and their help, what
// they print, the exit statuses. It wires the adapters to the engine and decides
// nothing itself.
//
// Data goes to standard output, everything else to standard error. With --json
// whatever is printed is an object with a "schema" that names its version.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/machine"
	"stint/internal/plain"
)

// Surroundings has the environment, streams and clock of a process.
type Surroundings struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Now            func() time.Time
	Elapsed        func() time.Duration // since the machine's start, by a clock that nobody sets
	Random         func() uint64
	// Tamper may put faults between the engine and its parts. It is nil but in tests.
	Tamper func(*engine.Engine)
}

// Process are the surroundings of this process.
func Process() Surroundings {
	return Surroundings{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Now: time.Now, Elapsed: machine.Elapsed, Random: rand.Uint64,
	}
}

// Main runs one command line and returns its exit status.
func Main(args []string, s Surroundings) int {
	// Looked for by hand: parsing may fail before the flag, and must then be reported in
	// JSON, too.
	secrets := &mask{}
	out := &output{Writer: s.Stdout, mask: secrets}
	s.Stdout = out
	asJSON := wantsJSON(args)
	if stderr := (redactor{s.Stderr, secrets}); inJournal(s.Getenv, s.Stderr) {
		s.Stderr = &journal{w: stderr}
	} else {
		s.Stderr = stderr
	}
	a := &app{Surroundings: s, log: newLog(s.Stderr, asJSON), json: asJSON, secrets: secrets, warned: new(atomic.Bool), identities: new(sync.Map)}
	a.layers = new(atomic.Pointer[fleet.BoxLayers])
	root := newRoot(a, args)
	root.SetArgs(args)
	root.SetIn(s.Stdin)
	root.SetOut(s.Stdout)
	root.SetErr(s.Stderr)
	command, err := root.ExecuteContextC(context.Background())
	if err != nil && !a.began { // it is cobra's, about the command line
		err = fleet.WithHint(usage(groupWanted(err)), cmp.Or(fleet.Hint(err), command.CommandPath()+" --help"))
	}
	return a.finish(errors.Join(err, out.err))
}

// wantsJSON reports whether --json is among the flags.
func wantsJSON(args []string) (wanted bool) {
	for _, arg := range args {
		value, given := strings.CutPrefix(arg, "--json=")
		switch {
		case arg == "--":
			return wanted
		case arg == "--json":
			wanted = true
		case given:
			wanted, _ = strconv.ParseBool(value)
		}
	}
	return wanted
}

// signalled is the cause of a context that a signal ended.
type signalled struct{ signal syscall.Signal }

func (s signalled) Error() string { return "stopped by signal: " + s.signal.String() }

// untilSignal returns a context that the first SIGINT, SIGTERM or SIGHUP (the terminal
// was closed) ends. The second ends the process.
func untilSignal(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			if s, ok := s.(syscall.Signal); ok {
				cancel(signalled{s})
			}
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// app has what every command needs.
type app struct {
	Surroundings
	log        *slog.Logger
	secrets    *mask
	configPath string
	warned     *atomic.Bool                     // of what is held
	identities *sync.Map                        // of state folders, by path
	layers     *atomic.Pointer[fleet.BoxLayers] // that boxes have here, once that is known
	storeless  string                           // the state folder in which there was no store to read
	nothing    bool                             // that nothing has run yet was said
	removing   bool                             // the fleet is to go: that its store is gone is no matter
	json       bool
	dryRun     bool
	began      bool  // a command's own code was reached
	cause      error // why the command's context ended, if it did
}

// entry is a command that stands below the root.
type entry struct {
	name, group string
	make        func(*app) *cobra.Command
	// A brief command does not handle signals, which end it as they end any process: it makes
	// one transaction at most. Handling them would take a claim a tenth more of its time, and
	// the claim would go on until it had the store, as SQLite does not stop waiting for that.
	brief bool
	// statuses are the exit statuses beside 0, 1 and 2, and those of signals: the command's own
	// under "", and those of a command below it under its name.
	statuses map[string][]int
}

// exits are the statuses of a command that has none below it.
func exits(statuses ...int) map[string][]int { return map[string][]int{"": statuses} }

// entries are all commands in the order of the first screen, which a day with a fleet has. One without a group is for
// programs, or for a rare occasion, and not on that screen.
func entries() []entry {
	return []entry{
		{name: "init", group: groupDay, make: newInit},
		{name: "status", group: groupDay, make: newStatus},
		{name: "review", group: groupDay, make: newReview, statuses: map[string][]int{
			"land": {statusPartly, statusBusy, statusDenied}, "reject": {statusNothing, statusPartly, statusDenied},
			"checkout": {statusNothing, statusDenied}, "publish": {statusNothing, statusBusy, statusDenied},
		}},
		{name: "runs", group: groupDay, make: newRuns},
		{name: "show", group: groupDay, make: newShow},
		{name: "logs", group: groupDay, make: newLogs},
		{name: "why", group: groupDay, make: newWhy},
		{name: "report", group: groupDay, make: newReport},
		{name: "task", group: groupDay, make: newTask, statuses: map[string][]int{"done": {statusPartly, statusDenied}, "retry": {statusPartly}}},
		{name: "pause", group: groupDay, make: newPause},
		{name: "resume", group: groupDay, make: newResume},
		{name: "stop", group: groupDay, make: newStop, statuses: exits(statusNothing)},
		{name: "select", group: groupFire, make: newSelect, statuses: exits(statusNothing)},
		{name: "claim", group: groupFire, make: newClaim, brief: true, statuses: map[string][]int{
			"": {statusDenied}, "take": {statusDenied}, "check": {statusDenied},
			"renew": {statusLost}, "verify": {statusLost}, "release": {statusDenied, statusLost},
		}},
		{name: "fanout", group: groupFire, make: newFanout, statuses: exits(statusNothing, statusPartly, statusBusy)},
		{name: "run", group: groupFire, make: newRun, statuses: exits(statusNothing, statusDenied, statusLost, statusBusy)},
		{name: "top", group: groupMore, make: newTop},
		{name: "fires", group: groupMore, make: newFires},
		{name: "budget", group: groupMore, make: newBudget, statuses: map[string][]int{"reset": {statusNothing}}},
		{name: "lessons", group: groupMore, make: newLessons},
		{name: "doctor", group: groupMore, make: newDoctor},
		{name: "config", group: groupMore, make: newConfig, statuses: map[string][]int{"trust": {statusDenied}}},
		{name: "serve", group: groupMore, make: newServe},
		{name: "metrics", group: groupMore, make: newMetrics},
		{name: "audit", group: groupMore, make: newAudit},
		{name: "replay", group: groupMore, make: newReplay},
		{name: "uninstall", group: groupMore, make: newUninstall, statuses: exits(statusNothing, statusDenied)},
		{name: "completion", group: groupMore, make: newCompletion, brief: true},
		{name: "reap", make: newReap},
		{name: "result", make: newResult, brief: true},
		{name: "store", make: newStore, statuses: map[string][]int{"accept": {statusNothing}}},
		{name: "host", make: newHost, statuses: exits(statusNothing)},
	}
}

// Root is the root with all commands, for what describes them.
func Root() *cobra.Command { return newRoot(&app{Surroundings: Process()}, nil) }

// newRoot makes the root, and below it the command that args begin with. When they begin
// with none, such as when they ask for help or a completion, it makes all of them, which
// takes longer than a claim's statements do.
func newRoot(a *app, args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "stint",
		Short: "Put a fleet of autonomous agent sessions to work",
		Long: `stint puts a fleet of autonomous agent sessions to work on this machine. A systemd
timer fires "stint fanout". A fire ranks the categories of work by the worth of
past sessions, and starts one transient unit for each of the best. Each unit is
"stint run": it takes its category's lane, claims a task, runs the agent and
records the result.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetHelpFunc(a.printHelp)
	root.SetUsageFunc(printUsage)
	asked := root.Flags().BoolP("version", "v", false, "print the version")
	root.Args = func(c *cobra.Command, args []string) error {
		if *asked {
			return nil
		}
		return noSuchCommand(c, args)
	}
	root.RunE = func(c *cobra.Command, args []string) error {
		if *asked {
			a.printVersion()
			return nil
		}
		return help(c, args)
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.configPath, "config", "", "the configuration `FILE` (default $STINT_CONFIG, else the nearest stint.toml upward, else $XDG_CONFIG_HOME/stint/stint.toml)")
	flags.BoolVar(&a.json, "json", a.json, "print JSON; with --help, describe its fields")
	root.AddGroup(
		&cobra.Group{ID: groupDay, Title: "Every day:"},
		&cobra.Group{ID: groupFire, Title: "The steps of a fire:"},
		&cobra.Group{ID: groupMore, Title: "More:"},
	)
	list := entries()
	first := slices.IndexFunc(list, func(e entry) bool { return len(args) > 0 && e.name == args[0] })
	if first >= 0 {
		list = list[first : first+1]
	}
	for _, e := range list {
		c := e.make(a)
		c.GroupID = e.group
		if !e.brief {
			a.heedSignals(c)
		}
		root.AddCommand(c)
	}
	root.SetFlagErrorFunc(flagWanted)
	root.CompletionOptions.DisableDefaultCmd = true // there is our own
	root.InitDefaultHelpCmd()
	if c, _, err := root.Find([]string{"help"}); err == nil {
		if first < 0 && !asksBelow(args) {
			addTopics(c)
		}
		c.Args = func(_ *cobra.Command, args []string) error { return noSuchHelp(root, args) }
	}
	finishCommands(root, a)
	return root
}

// dry gives a command the flag --dry-run.
func (a *app) dry(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&a.dryRun, "dry-run", false, "say what would be done and change nothing")
	return c
}

// finishCommands gives every command what all have: a help text, a refusal of words that its
// usage does not ask for, and the note that it has begun.
func finishCommands(c *cobra.Command, a *app) {
	if isTopic(c) {
		return
	}
	if c.Long == "" {
		c.Long = c.Short + "."
	}
	if c.Run == nil && c.RunE == nil {
		c.Args, c.RunE = noSuchCommand, help
	}
	if c.Args == nil {
		c.Args = takes(c.Use)
	}
	c.Args = wordsWanted(c.Args)
	if run := c.RunE; run != nil {
		c.RunE = func(cmd *cobra.Command, args []string) error {
			a.began = true
			return run(cmd, args)
		}
	}
	for _, sub := range c.Commands() {
		finishCommands(sub, a)
	}
}

// heedSignals gives a command, and those below it, a context that a signal ends.
func (a *app) heedSignals(c *cobra.Command) {
	if run := c.RunE; run != nil {
		c.RunE = func(cmd *cobra.Command, args []string) error {
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			cmd.SetContext(ctx)
			err := run(cmd, args)
			a.cause = context.Cause(ctx)
			return err
		}
	}
	for _, sub := range c.Commands() {
		a.heedSignals(sub)
	}
}

const (
	groupDay  = "day"
	groupFire = "fire"
	groupMore = "more"
)

// reported marks an error that the command has reported in its own words: only the exit
// status is left to give.
type reported struct{ error }

func (r reported) Unwrap() error { return r.error }

// finish reports an error, unless the command did, and gives the exit status.
func (a *app) finish(err error) int {
	status := exitStatus(err, a.cause)
	if _, done := errors.AsType[reported](err); err == nil || done {
		return status
	}
	stderr := leveled(a.Stderr, levelOfStatus(status))
	if a.json {
		printLine(stderr, errorObject(status).JSON(err))
		return status
	}
	fmt.Fprintf(stderr, "stint: error: %s\n", plain.Text(err.Error()))
	a.hint(fleet.Hint(err))
	return status
}

// hint says what a person may do next; a program has the object.
func (a *app) hint(text string) {
	if text != "" && !a.json {
		fmt.Fprintf(leveled(a.Stderr, levelNotice), "stint: hint: %s\n", plain.Text(text))
	}
}
