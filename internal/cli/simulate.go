package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"stint/internal/fleet"
	"stint/internal/plot"
	"stint/internal/simulate"
	"stint/internal/wire"
)

type simulateOptions struct {
	runs     int
	seed     *uint64
	policies []string
	svg      string
}

const (
	defaultRuns = 20
	mostRuns    = 10_000 // every run's results are kept
)

func newSimulate(a *app) *cobra.Command {
	var o simulateOptions
	cmd := &cobra.Command{
		Use:   "simulate SCENARIO.toml",
		Short: "Try policies for choosing categories in a virtual world",
		Long: `Try policies for choosing categories in a virtual world whose true grades are
known: the ranking of real fires ("stint", the same code), without floors and caps
("stint-free"), for a world that never changes ("stint-core"), and what others use.
All meet the same world, run by run. No configuration is needed.

A scenario, with what holds where the file says nothing; a table that says "absent"
is left out as a whole:

  fires = 2000          # horizon
  workers = 3           # sessions started per fire
  hosts = 1             # machines that fire one after the other, each as often
  [grades]
  noise = "bernoulli"   # or "beta", with concentration
  concentration = 8
  missing = 0           # probability that a finished session brings no grade
  nothing = 0           # probability that one without work ends as nothing, not as noop
  [change]
  kind = "none"         # or "permute" with every; "walk" with sd, low, high; "cycle" with swing
  every = 500
  sd = 0.01
  low = 0.15
  high = 0.85
  swing = 0.2           # every is its period; a day has 48 fires
  [availability]        # absent: always awake. A Markov chain per fire
  wake = 0.03           # asleep → awake
  sleep = 0.04          # awake → asleep
  [sessions]            # absent: each ends before the next fire
  median = 2.5          # fires, lognormal, at least 1
  sigma = 0.6
  slots = 9             # at most so many in flight; without the key, no limit
  lock = true           # a category in flight is unavailable
  [depletion]           # absent: none
  amount = 0.35         # the mean grade falls by amount × recent load
  half_life = 6         # of the load, in fires
  [respawn]             # absent: none. A follower begins before the next fire
  from = 0.65           # the least grade that is followed
  max_chain = 3
  [review]              # absent: nothing waits for review
  per_day = 10          # results that a reviewer looks through in a day of 48 fires
  leaves = 0.15         # probability that a session that worked leaves one
  limit = 50            # results that may wait, and while the reviewer is away
  away_limit = 100
  max_age = 14          # days after which one is rotten
  first = 337           # the fires at which the reviewer is away; without the keys, none
  last = 672
  order = "stint"       # as stint review lists them; or "oldest"
  [fates]               # absent: a grade is what work is worth. Otherwise a mean is the part of
  first = 0.55          # the work that is merged, and [grades] are not asked. The mean grade
  sd = 0.15             # at a session's end, and how it scatters
  correlation = 0.3     # of that grade with whether the work is merged
  after = 48            # fires until that is known, at least and at most
  until = 336
  [outage.night]        # any number of them
  first = 1             # the fires in which sessions fail; without the keys, all
  last = 48
  agent = "codex"       # whose sessions, and of which category; without the keys, all
  category = "code"
  outcome = "unavailable" # or "failed", which is graded
  rest = false          # true: its agent rests, and is tried at every other fire
  [lesson.style]        # any number; first, last and category as above: no other session
  effect = 0.1          # can match it. Added to the mean grade of those that get it
  withhold = 0.2        # probability that chance withholds it
  [pool.quick]          # a pool beside the default one, whose sessions are in no result
  per_fire = 6          # its fires for each of the default pool
  workers = 1
  [policy.stint]        # v, floor, cap, half_life, slow_half_life, alarm, anchor, season,
  v = 10                # dispersion, depletion, fairness = false, core = true; gamma of
                        # additive, discounted-ts and d-ucb; window of sliding-ts; fairness,
                        # v, floor and cap of these, of ucb1 and of known
  [policy.mine]         # a new one
  base = "stint"
  learns = "later"      # what becomes of work; or "at-once", or "never". For those with a belief
  [category.code]       # at least one
  mean = 0.61           # of the grade; must be given
  share = 0.20          # target share; without the key, an equal part of the rest
  supply_wake = 0.02    # without both keys, there is always work. Otherwise work comes
  supply_sleep = 0.05   # and goes, and only a session that finds none shows it
  pool = "quick"        # without the key, the default one
  agent = "codex"       # for the outages
  witness = "grader"    # takes the true grade. Otherwise a session reports its own grade,
                        # and leaves "changes" or "none" as evidence, or has the "trust"
  report = 1.0          # what it reports; without the key, the true grade
  by_hand = 300         # until that fire, each has a session by hand in its lane beside it

The policy "known" knows what each session would be worth, and is within floors and
caps. Regret is what the best sessions that could have been started at each fire were
worth, less what the policy's were. What "known" has of it is the price of floors and caps, which
all pay that keep them. n/E is sessions over entitlement. BLOCKED is the part of
the sessions that were not started for want of a place in review, MERGED what the reviewer
looked through of what the time since the return was enough for; two days after the return,
OLDEST is how long the oldest has waited, and FIRST-FOUR and BY-AGE how long the first four
take in the order of stint review and by age.`,
		Example: `  stint simulate testdata/scenarios/twelve.toml
  stint simulate twelve.toml --policy stint,additive --runs 100 --svg twelve.svg`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runSimulate(cmd.Context(), args[0], o) },
	}
	f := cmd.Flags()
	f.Var(countFlag(&o.runs), "runs", fmt.Sprintf("play each policy `R` times (default %d)", defaultRuns))
	f.Var(seedFlag(&o.seed), "seed", "seed of the world and the policies, an unsigned 64-bit number (default: by chance)")
	f.StringSliceVar(&o.policies, "policy", nil, "play these policies only, as `P,...`")
	f.StringVar(&o.svg, "svg", "", "draw regret over time, and what each category got, to `FILE`")
	return cmd
}

func (a *app) runSimulate(ctx context.Context, path string, o simulateOptions) error {
	scenario, err := simulate.Load(path)
	if err != nil {
		return err
	}
	policies, err := choosePolicies(scenario.AllPolicies(), o.policies)
	if err != nil {
		return err
	}
	runs := cmp.Or(o.runs, defaultRuns)
	if runs > mostRuns {
		return usage(fmt.Errorf("--runs %d: want at most %d", runs, mostRuns))
	}
	seed := a.Random()
	if o.seed != nil {
		seed = *o.seed
	}
	if o.svg != "" {
		if err := checkFile("plot", o.svg); err != nil {
			return err
		}
	}
	progress := a.progress()
	results, err := simulate.Run(ctx, scenario, simulate.Options{
		Policies: policies, Runs: runs, Seed: seed, Parallel: runtime.GOMAXPROCS(0),
		Clock: threadTime, Progress: progress.show,
	})
	progress.clear()
	if err != nil {
		return fmt.Errorf("simulate %s: %w", path, err)
	}
	if a.json {
		printJSON(a.Stdout, wire.NewSimulation(results))
	} else {
		a.printSimulation(results)
	}
	if o.svg == "" {
		return nil
	}
	// It comes after the results are printed: a full disk must not take them.
	return replaceFile("plot", o.svg, drawing(filepath.Base(path), scenario, results))
}

// choosePolicies are those with these names, in their order; all without a name.
func choosePolicies(all []simulate.Policy, names []string) ([]simulate.Policy, error) {
	if len(names) == 0 {
		return all, nil
	}
	var chosen []simulate.Policy
	seen, known := map[string]bool{}, []string{}
	for _, p := range all {
		known = append(known, p.Name)
	}
	for _, name := range names {
		found := false
		for _, p := range all {
			if p.Name == name && !seen[name] {
				chosen = append(chosen, p)
				found, seen[name] = true, true
			}
		}
		if !found && !seen[name] {
			hint := "want some of: " + strings.Join(known, ", ")
			if near := fleet.Nearest(name, known); near != "" {
				hint = "did you mean " + near + "?"
			}
			return nil, fleet.WithHint(usage(fmt.Errorf("there is no policy %q", name)), hint)
		}
	}
	return chosen, nil
}

// threadTime is the processor time of the calling thread.
func threadTime() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_THREAD, &use); err != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// progress shows on a terminal how far a computation is; elsewhere it is silent.
type progress struct {
	w     io.Writer // nil: no terminal
	shown int       // per cent
}

func (a *app) progress() *progress {
	f, ok := terminal(a.Stderr)
	if !ok || a.json {
		return &progress{}
	}
	return &progress{w: f, shown: -1}
}

func (p *progress) show(done, all int) {
	if percent := done * 100 / all; p.w != nil && percent > p.shown {
		p.shown = percent
		fmt.Fprintf(p.w, "\r%3d %% of %d runs", percent, all)
	}
}

func (p *progress) clear() {
	if p.w != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

func (a *app) printSimulation(r *simulate.Results) {
	rows := [][]string{strings.Fields("POLICY REGRET ± REWARD/FIRE ± REWARD/PICK MIN-n/E MAX-n/E WINDOW GAP NOOPS ALARMS CPU")}
	for _, p := range r.Policies {
		rows = append(rows, []string{
			p.Policy.Name, fixed(p.Regret.Mean, 1), fixed(p.Regret.CI95, 1),
			fixed(p.RewardPerFire.Mean, 4), fixed(p.RewardPerFire.CI95, 4), fixed(p.RewardPerPick.Mean, 4),
			fixed(p.MinRatio.Mean, 3), fixed(p.MaxRatio.Mean, 3), fixed(p.WindowMax.Mean, 2), fixed(p.LongestGap.Mean, 1),
			fixed(100*p.NoopRate.Mean, 1) + "%", fixed(p.Alarms.Mean, 1), fixed(p.CPU.Seconds(), 2) + "s",
		})
	}
	a.table(rows)
	if len(r.Policies) > 0 && r.Policies[0].Review != nil {
		rows := [][]string{strings.Fields("POLICY BLOCKED MERGED OLDEST FIRST-FOUR BY-AGE")}
		for _, p := range r.Policies {
			rows = append(rows, []string{
				p.Policy.Name, fixed(100*p.Review.Blocked.Mean, 1) + "%", fixed(100*p.Review.Merged.Mean, 1) + "%", fixed(p.Review.Oldest.Mean, 1) + "d",
				fixed(p.Review.First.Mean, 1) + "m", fixed(p.Review.ByAge.Mean, 1) + "m",
			})
		}
		a.table(rows)
	}
	fmt.Fprintf(a.Stdout, "fires=%d runs=%d seed=%d; ± is half of the 95 %% interval\n", r.Fires, r.Runs, r.Seed)
}

// fixed writes a number with so many decimals; a figure that one run alone does not give is
// "-".
func fixed(v float64, decimals int) string {
	if math.IsNaN(v) {
		return "-"
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// drawing shows regret over time and what each category got. A policy has the same colour
// whichever others are drawn beside it.
func drawing(name string, s *simulate.Scenario, r *simulate.Results) []byte {
	regret := plot.Lines{Title: name + ": regret", X: "fires", Y: "grades missed"}
	got := plot.Rows{Title: name + ": sessions", X: "part of all sessions", Target: "target share"}
	shares := 0.0
	for _, c := range s.Categories {
		shares += c.Share
	}
	for _, c := range s.Categories {
		got.Rows = append(got.Rows, plot.Row{Name: string(c.Name), Target: part(c.Share, shares)})
	}
	all := s.AllPolicies()
	for _, p := range r.Policies {
		colour := slices.IndexFunc(all, func(q simulate.Policy) bool { return q.Name == p.Policy.Name })
		series := plot.Series{Name: p.Policy.Name, Colour: colour}
		line := plot.Line{Series: series}
		for i, e := range p.Curve {
			line.Points = append(line.Points, plot.Point{X: float64(r.At[i]), Y: e.Mean, Spread: e.CI95})
		}
		regret.Lines = append(regret.Lines, line)
		got.Series = append(got.Series, series)
		sessions := 0.0
		for _, f := range p.Fractions {
			sessions += f.Mean
		}
		for i := range got.Rows {
			got.Rows[i].Values = append(got.Rows[i].Values, part(p.Fractions[i].Mean, sessions))
		}
	}
	return plot.Page(regret, got)
}

// part is one of a sum's parts, in [0,1]; 0 of nothing.
func part(one, sum float64) float64 {
	if sum == 0 {
		return 0
	}
	return one / sum
}
