// Command benchselection plays the scenarios of a folder, and problems of its own, with
// the code of "stint simulate", and compares what comes of it with the figures that the
// design of the ranking was measured at. It fails when an aim is missed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"stint/internal/simulate"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	flags := flag.NewFlagSet("benchselection", flag.ContinueOnError)
	runs := flags.Int("runs", 40, "play each policy so many times")
	seed := flags.Uint64("seed", rand.Uint64(), "seed of all scenarios (default: by chance)")
	only := flags.String("only", "", "play this scenario or problem alone")
	if err := flags.Parse(args); err != nil || flags.NArg() != 1 || *runs < 2 {
		fmt.Fprintln(os.Stderr, "usage: benchselection [-runs N] [-seed N] [-only NAME] FOLDER")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b := &bench{ctx: ctx, folder: flags.Arg(0), only: *only, runs: *runs, seed: *seed, out: os.Stdout}
	began := time.Now()
	err := b.all()
	fmt.Fprintf(b.out, "\nruns=%d seed=%d, %.0f s\n", b.runs, b.seed, time.Since(began).Seconds())
	switch {
	case err != nil:
		fmt.Fprintf(os.Stderr, "benchselection: %v\n", err)
		return 1
	case b.missed > 0:
		fmt.Printf("%d of %d aims missed\n", b.missed, b.aims)
		return 1
	}
	fmt.Printf("every aim met: %d\n", b.aims)
	return 0
}

type bench struct {
	ctx          context.Context //nolint:containedctx // of the one run of this program
	folder, only string
	runs         int
	seed         uint64
	out          io.Writer
	aims, missed int
}

// all plays every scenario, and then the problems.
func (b *bench) all() error {
	paths, err := filepath.Glob(filepath.Join(b.folder, "*.toml"))
	if err != nil || len(paths) == 0 {
		return errors.Join(err, fmt.Errorf("no scenarios in %s", b.folder))
	}
	known := fileAims()
	for _, path := range paths {
		name := filepath.Base(path[:len(path)-len(".toml")])
		aims := known[name]
		delete(known, name)
		if b.only != "" && b.only != name {
			continue
		}
		s, err := simulate.Load(path)
		if err != nil {
			return err
		}
		r, err := b.play(s, s.AllPolicies(), nil)
		if err != nil {
			return fmt.Errorf("play %s: %w", name, err)
		}
		b.table(name, r)
		b.compare(r, aims)
	}
	for name := range known {
		b.judge(name+": there is such a scenario", simulate.Estimate{}, aim{low: 1, high: 1})
	}
	for _, p := range problems() {
		if b.only != "" && b.only != p.name {
			continue
		}
		fmt.Fprintf(b.out, "\n%s: %s\n", p.name, p.about)
		if err := p.play(b); err != nil {
			return fmt.Errorf("play %s: %w", p.name, err)
		}
	}
	return nil
}

func (b *bench) play(s *simulate.Scenario, policies []simulate.Policy, watch func(simulate.Policy, int) func(simulate.Moment)) (*simulate.Results, error) {
	return simulate.Run(b.ctx, s, simulate.Options{
		Policies: policies, Runs: b.runs, Seed: b.seed, Parallel: runtime.GOMAXPROCS(0), Watch: watch,
	})
}

func (b *bench) table(name string, r *simulate.Results) {
	fmt.Fprintf(b.out, "\n%s, %d fires\n", name, r.Fires)
	fmt.Fprintf(b.out, "  %-18s %18s %18s %7s %7s %7s %7s %7s\n", "", "regret", "reward/fire", "min n/E", "max n/E", "window", "gap", "noops")
	for _, p := range r.Policies {
		fmt.Fprintf(b.out, "  %-18s %9.1f ±%7.1f %9.4f ±%7.4f %7.3f %7.3f %7.2f %7.1f %6.1f%%\n", p.Policy.Name,
			p.Regret.Mean, p.Regret.CI95, p.RewardPerFire.Mean, p.RewardPerFire.CI95,
			p.MinRatio.Mean, p.MaxRatio.Mean, p.WindowMax.Mean, p.LongestGap.Mean, 100*p.NoopRate.Mean)
	}
}

// compare prints every aim of a scenario, and that the additive formula loses.
func (b *bench) compare(r *simulate.Results, list []fileAim) {
	of := func(policy string) simulate.Result {
		i := slices.IndexFunc(r.Policies, func(p simulate.Result) bool { return p.Policy.Name == policy })
		return r.Policies[i]
	}
	for _, a := range list {
		b.judge(a.quantity+" of "+a.policy, quantities()[a.quantity](of(a.policy)), a.aim)
	}
	ours, theirs := of("stint").RewardPerFire, of("additive").RewardPerFire
	b.judge("reward of additive beside stint's", simulate.Estimate{Mean: theirs.Mean / ours.Mean}, atMost(1, 0.9))
}

// judge prints whether an aim is met, and counts.
func (b *bench) judge(what string, e simulate.Estimate, a aim) {
	verdict := "met"
	b.aims++
	if !(e.Mean >= a.low && e.Mean <= a.high) {
		verdict = "MISSED"
		b.missed++
	}
	fmt.Fprintf(b.out, "  %-6s %s: %.4g ±%.2g, aim %s, reference %g\n", verdict, what, e.Mean, e.CI95, a.bounds(), a.reference)
}

// tell prints a figure that has no aim.
func (b *bench) tell(what string, e simulate.Estimate) {
	fmt.Fprintf(b.out, "  %-6s %s: %.4g ±%.2g\n", "", what, e.Mean, e.CI95)
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
