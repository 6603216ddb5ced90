// Command demofleet shows stint at work: it makes a sample workspace, lets a real
// timer of the user's service manager fire the fleet four times, prints what happens
// while it happens, and then what came of it. It fails when what came of it is not
// what the sessions did.
//
// It only calls the program it is given, systemctl and git, and what it shows is what
// that program prints. All it makes has a name that is unique to this
// run and is gone when it ends, however it ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() { os.Exit(run(os.Args[1:])) }

// cleaning bounds the clean-up: sessions get seconds to stop.
const cleaning = 45 * time.Second

func run(args []string) int {
	flags := flag.NewFlagSet("demofleet", flag.ContinueOnError)
	keep := flags.Bool("keep", os.Getenv("KEEP") == "1", "keep the workspace and the state to look at")
	hosts := flags.Bool("hosts", false, "show a fleet of three hosts on a PostgreSQL server")
	if err := flags.Parse(args); err != nil || flags.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: demofleet [--keep] [--hosts] STINT")
		return 2
	}
	ctx, stop := untilSignal(context.Background())
	defer stop()
	give := show
	if *hosts {
		give = showHosts
	}
	err := give(ctx, flags.Arg(0), *keep)
	var s signalled
	switch {
	case err == nil:
		return 0
	case errors.As(context.Cause(ctx), &s):
		return 128 + int(s.Signal)
	default:
		return 1
	}
}

// show gives the demo, cleans up after it, and says what went wrong. The folder is
// kept when that was asked for, and after a failure, for it holds what there is to
// find out why.
func show(ctx context.Context, program string, keep bool) error {
	d, err := newDemo(program)
	if err != nil {
		complain(err)
		return err
	}
	err = d.run(ctx)
	cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleaning)
	defer cancel()
	err = errors.Join(err, d.units.remove(cleanup))
	keep = keep || err != nil && ctx.Err() == nil
	if !keep {
		err = errors.Join(err, os.RemoveAll(string(d.folder)))
	}
	complain(err)
	if keep {
		d.kept()
	}
	return err
}

// complain says of each thing that went wrong what it is.
func complain(err error) {
	if err == nil {
		return
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(os.Stderr, "demo: %s\n", strings.TrimRight(line, "\n"))
	}
}

// signalled is the cause of a context that a signal ended.
type signalled struct{ syscall.Signal }

func (s signalled) Error() string { return "stopped by signal: " + s.String() }

// untilSignal returns a context that the first signal ends. Later ones are heard and
// change nothing: the clean-up is bounded as it is.
func untilSignal(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case s := <-signals:
			if s, ok := s.(syscall.Signal); ok {
				cancel(signalled{s})
			}
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}
