// Command testagents tries the presets of [agent.NAME] against the real programs: it runs
// "stint run" with each of them, in a workspace of its own, and lets them talk to a stub
// model server on loopback that answers, asks for a command, refuses, or hangs. It fails
// where a session's outcome, or what is read of its output, is not what it should be.
//
// No account and no key is used, and the programs' other traffic is turned off; a proxy
// that does not exist keeps them off the network all the same.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"stint/internal/testkit/boxtest"
)

func main() {
	switch slices.Concat(os.Args, []string{"", ""})[1] {
	case trying:
		boxtest.Escapes()
		return
	case unspaced:
		os.Args = os.Args[1:]
		boxtest.Without()
	}
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	flags := flag.NewFlagSet("testagents", flag.ContinueOnError)
	record := flags.String("record", "", "write what the agents printed to this `folder`, without what differs from run to run")
	fleet := flags.Bool("fleet", false, "try a fleet instead: three fires over twelve tasks, with a service manager")
	others := flags.Bool("others", false, "try the other programs instead, by their own tables and by the Agent Client Protocol")
	pattern := flags.String("only", "", "try only those whose name matches this `pattern`")
	if err := flags.Parse(args); err != nil || flags.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: testagents [-record FOLDER] [-only PATTERN] [-fleet | -others] STINT FOLDER-OF-THE-AGENTS")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	only, err := regexp.Compile(*pattern)
	if err != nil {
		fmt.Fprintf(os.Stderr, "testagents: -only: %v\n", err)
		return 2
	}
	failed, err := try(ctx, flags.Arg(0), flags.Arg(1), *record, only, *fleet, *others)
	switch {
	case err != nil:
		fmt.Fprintf(os.Stderr, "testagents: %v\n", err)
		return 1
	case failed > 0:
		fmt.Fprintf(os.Stderr, "testagents: %d failed\n", failed)
		return 1
	}
	return 0
}

// try plays every case and counts those that failed.
func try(ctx context.Context, stint, agents, record string, only *regexp.Regexp, fleet, others bool) (failed int, err error) {
	if stint, err = filepath.Abs(stint); err != nil {
		return 0, err
	}
	if agents, err = filepath.Abs(agents); err != nil {
		return 0, err
	}
	// A full hour, as times are printed to the minute.
	resetAt := time.Now().Truncate(time.Hour).Add(25 * time.Hour)
	model, err := startStub(ctx, resetAt)
	if err != nil {
		return 0, err
	}
	defer model.Close() //nolint:errcheck // nothing is lost with it
	folder, err := homes()
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // what stays of it says testagents
	if fleet {
		faults, err := tryFleet(ctx, place{
			home: folder, stint: stint, agents: agents, url: model.URL + "/" + string(fleetWork), accounts: []account{claudeKey, codexKey},
		})
		fmt.Println("fleet:", verdict(faults))
		return len(faults), err
	}
	list := cases(resetAt)
	if others {
		list = otherCases()
	}
	for i, c := range list {
		s := session{trial: c, model: model, record: record, place: place{
			home: filepath.Join(folder, strconv.Itoa(i)), stint: stint, agents: agents,
			url: model.address(c.behaviour), accounts: []account{c.account},
		}}
		if !only.MatchString(s.String()) {
			continue
		}
		began := time.Now()
		faults, err := s.play(ctx)
		if err != nil {
			return failed, fmt.Errorf("%s: %w", s, err)
		}
		fmt.Printf("%-50s %5.1f s  %s\n", s, time.Since(began).Seconds(), verdict(faults))
		if len(faults) > 0 {
			failed++
		}
	}
	return failed, nil
}

func verdict(faults []string) string {
	text := "ok"
	for i, fault := range faults {
		if i == 0 {
			text = "FAIL"
		}
		text += "\n    " + fault
	}
	return text
}

// homes is a folder for homes. The agents hold that everybody may write in /tmp, so a home
// there would hide what they may not write.
func homes() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	if os.Getuid() == 0 {
		return "", errors.New("the agents are tried as a user who is not root: start scripts/test-agents")
	}
	if home = filepath.Clean(home) + "/"; strings.HasPrefix(home, "/tmp/") || strings.HasPrefix(home, "/var/tmp/") {
		return "", fmt.Errorf("the home folder %s is one in which the agents may write: set HOME to another", home)
	}
	return os.MkdirTemp(home, "testagents")
}
