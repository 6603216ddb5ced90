// Command lab plays the ranking in virtual worlds, whose true grades are known: published
// problems of choosing, and those of real fleets. It compares what comes of it with aims, and
// fails when one is missed.
//
// The file testdata/outcomes.tsv keeps what came of the policy "stint", run by run. With -beside
// the same runs are played again and compared in pairs. Whoever changes the ranking adds problems and
// runs -keep before, and -beside after.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"stint/scripts/lab/simulate"
)

// keptRuns and keptSeed are of the outcomes that are kept.
const keptRuns, keptSeed = 64, 1

//go:embed testdata/outcomes.tsv
var keptOutcomes []byte

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	flags := flag.NewFlagSet("lab", flag.ContinueOnError)
	runs := flags.Int("runs", 40, "play each policy so many times")
	seed := flags.Uint64("seed", rand.Uint64(), "seed of all worlds (default: by chance)")
	only := flags.String("only", "", "play this scenario or problem alone")
	keep := flags.Bool("keep", false, fmt.Sprintf("play stint alone, %d times with seed %d, and print each outcome", keptRuns, keptSeed))
	beside := flags.Bool("beside", false, "play the same, and compare with what was kept")
	if err := flags.Parse(args); err != nil || flags.NArg() != 0 || *runs < 2 || *keep && *beside {
		fmt.Fprintln(os.Stderr, "usage: lab [-runs N] [-seed N] [-only NAME] [-keep | -beside]")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b := &bench{ctx: ctx, only: *only, runs: *runs, seed: *seed, out: os.Stdout}
	if *keep || *beside {
		b.runs, b.seed, b.out, b.kept = keptRuns, keptSeed, io.Discard, &outcomes{}
	}
	began := time.Now()
	err := b.all()
	if err == nil && *keep {
		_, err = os.Stdout.Write(b.kept.text())
		return failed(err)
	}
	if err == nil && *beside {
		b.out, b.aims, b.missed = os.Stdout, 0, 0
		err = b.compareKept(keptOutcomes)
	}
	if err != nil {
		return failed(err)
	}
	fmt.Fprintf(b.out, "\nruns=%d seed=%d, %.0f s\n", b.runs, b.seed, time.Since(began).Seconds())
	if b.missed > 0 {
		fmt.Printf("%d of %d aims missed\n", b.missed, b.aims)
		return 1
	}
	fmt.Printf("every aim met: %d\n", b.aims)
	return 0
}

func failed(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(os.Stderr, "lab: %v\n", err)
	return 1
}

type bench struct {
	ctx          context.Context //nolint:containedctx // of the one run of this program
	only         string
	problem      string // that is played
	runs         int
	seed         uint64
	out          io.Writer
	kept         *outcomes // nil: all policies play, and nothing is kept
	aims, missed int
}

// all plays every scenario, and then the problems.
func (b *bench) all() error {
	worlds, found := simulate.Published(), false
	for _, name := range slices.Sorted(maps.Keys(worlds)) {
		if b.only != "" && b.only != name {
			continue
		}
		found, b.problem = true, name
		r, err := b.play("", worlds[name], worlds[name].AllPolicies(), nil)
		if err != nil {
			return err
		}
		b.table(fmt.Sprintf("%s, %d fires", name, worlds[name].Fires), r)
		b.compare(name, r)
	}
	for _, p := range problems() {
		if b.only != "" && b.only != p.name {
			continue
		}
		found, b.problem = true, p.name
		fmt.Fprintf(b.out, "\n%s: %s\n", p.name, p.about)
		if err := p.play(b); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("there is no scenario or problem %q", b.only)
	}
	return nil
}

// watch returns what is called after every fire of a run.
type watch = func(p simulate.Policy, run int) func(simulate.Moment)

// play plays a world, which has a name among those of its problem. stint comes first.
func (b *bench) play(name string, s *simulate.Scenario, policies []simulate.Policy, w watch) ([]simulate.Result, error) {
	if b.kept != nil {
		policies = policies[:1]
	}
	r, err := simulate.Run(b.ctx, s, simulate.Options{Policies: policies, Runs: b.runs, Seed: b.seed, Parallel: runtime.GOMAXPROCS(0), Watch: w})
	if err != nil {
		return nil, fmt.Errorf("play %s %s: %w", b.problem, name, err)
	}
	if b.kept != nil {
		b.kept.add(b.problem, name, s, r[0].Outcomes)
	}
	return r, nil
}

// sample estimates by what was measured in each run.
func (b *bench) sample(what string, values []float64) simulate.Estimate {
	if b.kept != nil {
		b.kept.measured(b.problem, what, values)
	}
	return simulate.Mean(values)
}

func (b *bench) table(name string, list []simulate.Result) {
	fmt.Fprintf(b.out, "\n%s\n", name)
	fmt.Fprintf(b.out, "  %-18s %18s %18s %7s %7s %7s %7s %7s\n", "", "regret", "reward/fire", "min n/E", "max n/E", "window", "gap", "noops")
	for _, p := range list {
		fmt.Fprintf(b.out, "  %-18s %9.1f ±%7.1f %9.4f ±%7.4f %7.3f %7.3f %7.2f %7.1f %6.1f%%\n", p.Policy.Name,
			p.Regret.Mean, p.Regret.CI95, p.RewardPerFire.Mean, p.RewardPerFire.CI95,
			p.MinRatio.Mean, p.MaxRatio.Mean, p.WindowMax.Mean, p.LongestGap.Mean, 100*p.NoopRate.Mean)
	}
}

// compareKept compares what was played with what was kept, run by run.
func (b *bench) compareKept(text []byte) error {
	then, err := readOutcomes(text)
	if err != nil {
		return err
	}
	same := 0
	for _, now := range b.kept.list {
		was, found := then.find(now.key)
		switch {
		case !found:
			fmt.Fprintf(b.out, "  %-6s %s: nothing is kept\n", "", now.key)
		case bytes.Equal(now.line(), was.line()):
			same++
		case now.quantity == "reward":
			change := ratio(now.values, was.values)
			b.judge(now.key.String()+", to that which is kept: "+fmt.Sprintf("%.4f ±%.4f", change.Mean, change.CI95)+"; lower bound",
				simulate.Estimate{Mean: change.Mean - change.CI95}, atLeast(0.99, 1))
		default:
			fmt.Fprintf(b.out, "  %-6s %s: %.4g ±%.2g, and kept %.4g ±%.2g\n", "", now.key,
				simulate.Mean(now.values).Mean, simulate.Mean(now.values).CI95, simulate.Mean(was.values).Mean, simulate.Mean(was.values).CI95)
		}
	}
	fmt.Fprintf(b.out, "%d of %d series are as kept\n", same, len(b.kept.list))
	return nil
}
