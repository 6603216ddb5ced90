// Package top is the fleet as its operator watches it: a screen that is drawn anew as the
// fleet changes, and keys to pause, to stop a run and to read its log. The screen depends on
// the messages that came and on nothing else; work that waits, such as a look at the store, is
// done in a command, so that keys answer at once.
//
// Other people's words go through package screen before they are shown.
package top

import (
	"context"
	"io"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"

	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	"stint/internal/review"
)

// Snapshot has the facts about the fleet at one moment.
type Snapshot struct {
	inspect.Status
	Warnings []string // that the look gave rise to
	ReadOnly string   // why nothing can be written; empty: it can
}

// Log is the end of what a run's agent printed.
type Log struct {
	Text string
	Read int64 // bytes of the log that the text was made of
	Size int64 // of the whole log, in bytes
}

// Options say what to show and how. The functions may be slow, and are called on
// goroutines of their own.
type Options struct {
	Fleet    fleet.Name
	Interval time.Duration // between looks
	Colour   bool
	Now      func() time.Time

	Read   func() (Snapshot, error)
	Log    func(fleet.Run) (Log, error)
	Review func() (review.Target, []review.Item, error)               // what waits for it
	Diff   func(run fleet.RunID, in io.Reader, out io.Writer) error   // shows on the terminal what it changed
	Land   func(run fleet.RunID, tip string) (said string, err error) // if the work is still as it was looked at
	Reject func(run fleet.RunID, tip, reason string) error
	Pause  func(fleet.Category) error // empty: the whole fleet
	Resume func(fleet.Category) error
	Stop   func(fleet.RunID) (fleet.Run, error)
}

// Run shows the fleet on a terminal until the operator quits or ctx ends. Either way the
// terminal is left as it was found.
func Run(ctx context.Context, o Options, in, out *os.File) error {
	p := tea.NewProgram(New(o), tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler())
	// Not by the program's own context: that one kills it, with the last frame half drawn.
	stop := context.AfterFunc(ctx, p.Quit)
	defer stop()
	_, err := p.Run()
	return err
}
