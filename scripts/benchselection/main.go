// Command benchselection plays the scenarios of a folder with "stint simulate" and
// compares what comes of it with the figures that the design of the ranking was measured
// at. It fails when an aim is missed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	flags := flag.NewFlagSet("benchselection", flag.ContinueOnError)
	runs := flags.Int("runs", 40, "play each policy so many times")
	seed := flags.Uint64("seed", rand.Uint64(), "seed of all scenarios (default: by chance)")
	if err := flags.Parse(args); err != nil || flags.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: benchselection [-runs N] [-seed N] STINT FOLDER")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b := bench{stint: flags.Arg(0), folder: flags.Arg(1), runs: *runs, seed: *seed, out: os.Stdout}
	missed, err := b.all(ctx)
	switch {
	case err != nil:
		fmt.Fprintf(os.Stderr, "benchselection: %v\n", err)
		return 1
	case missed > 0:
		fmt.Printf("\n%d of the aims missed, with seed %d\n", missed, *seed)
		return 1
	}
	fmt.Println("\nevery aim met")
	return 0
}

type bench struct {
	stint, folder string
	runs          int
	seed          uint64
	out           io.Writer
}

// simulation is what is read of stint/simulation@1.
type simulation struct {
	Fires    int                            `json:"fires"`
	Policies map[string]map[string]estimate `json:"-"`
	Raw      map[string]json.RawMessage     `json:"policies"`
}

type estimate struct {
	Mean float64 `json:"mean"`
	CI95 float64 `json:"ci95"`
}

// all plays every scenario and returns how many aims were missed.
func (b bench) all(ctx context.Context) (missed int, err error) {
	paths, err := filepath.Glob(filepath.Join(b.folder, "*.toml"))
	if err != nil || len(paths) == 0 {
		return 0, errors.Join(err, fmt.Errorf("no scenarios in %s", b.folder))
	}
	fmt.Fprintf(b.out, "runs=%d seed=%d\n", b.runs, b.seed)
	known := aims()
	for _, path := range paths {
		name := filepath.Base(path[:len(path)-len(".toml")])
		s, err := b.play(ctx, path)
		if err != nil {
			return missed, fmt.Errorf("play %s: %w", name, err)
		}
		fmt.Fprintf(b.out, "\n%s, %d fires\n", name, s.Fires)
		b.table(s)
		missed += b.compare(s, known[name])
		delete(known, name)
	}
	for name := range known {
		missed++
		fmt.Fprintf(b.out, "\n%s: MISSED: there is no such scenario\n", name)
	}
	return missed, nil
}

func (b bench) play(ctx context.Context, path string) (*simulation, error) {
	cmd := exec.CommandContext(ctx, b.stint, "simulate", path, "--json",
		"--runs", strconv.Itoa(b.runs), "--seed", strconv.FormatUint(b.seed, 10))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	s := &simulation{Policies: map[string]map[string]estimate{}}
	if err := json.Unmarshal(out, s); err != nil {
		return nil, err
	}
	for name, raw := range s.Raw {
		quantities, err := estimates(raw)
		if err != nil {
			return nil, err
		}
		s.Policies[name] = quantities
	}
	return s, nil
}

// estimates are the quantities of a policy that have a mean.
func estimates(raw json.RawMessage) (map[string]estimate, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	quantities := map[string]estimate{}
	for _, name := range []string{
		"regret", "reward_per_fire", "min_ratio", "max_ratio", "window_max", "longest_gap", "noop_rate", "alarms",
	} {
		var e estimate
		if err := json.Unmarshal(fields[name], &e); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		quantities[name] = e
	}
	return quantities, nil
}

func (b bench) table(s *simulation) {
	fmt.Fprintf(b.out, "  %-16s %18s %18s %7s %7s %7s %7s %7s\n", "", "regret", "reward/fire", "min n/E", "max n/E", "window", "gap", "noops")
	for _, name := range order(s) {
		q := s.Policies[name]
		fmt.Fprintf(b.out, "  %-16s %9.1f ±%7.1f %9.4f ±%7.4f %7.3f %7.3f %7.2f %7.1f %6.1f%%\n", name,
			q["regret"].Mean, q["regret"].CI95, q["reward_per_fire"].Mean, q["reward_per_fire"].CI95,
			q["min_ratio"].Mean, q["max_ratio"].Mean, q["window_max"].Mean, q["longest_gap"].Mean, 100*q["noop_rate"].Mean)
	}
}

// compare prints every aim of a scenario, and that the additive formula loses.
func (b bench) compare(s *simulation, list []aim) (missed int) {
	for _, a := range list {
		e := s.Policies[a.policy][a.quantity]
		verdict := "met"
		if !(e.Mean >= a.low && e.Mean <= a.high) {
			verdict, missed = "MISSED", missed+1
		}
		fmt.Fprintf(b.out, "  %-6s %s of %s: %.4g ±%.2g, aim %s, reference %g\n",
			verdict, a.quantity, a.policy, e.Mean, e.CI95, a.bounds(), a.reference)
	}
	ours, theirs := s.Policies["stint"]["reward_per_fire"], s.Policies["additive"]["reward_per_fire"]
	verdict := "met"
	if !(theirs.Mean < ours.Mean) {
		verdict, missed = "MISSED", missed+1
	}
	fmt.Fprintf(b.out, "  %-6s additive earns less than stint: %.4f, %.4f\n", verdict, theirs.Mean, ours.Mean)
	return missed
}

func (a aim) bounds() string {
	switch {
	case math.IsInf(a.low, -1):
		return fmt.Sprintf("at most %g", a.high)
	case math.IsInf(a.high, 1):
		return fmt.Sprintf("at least %g", a.low)
	}
	return fmt.Sprintf("%g to %g", a.low, a.high)
}
