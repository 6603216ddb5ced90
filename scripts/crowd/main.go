// Command crowd simulates many hosts that share one store: how often workers are denied
// a claim, how long they and the tasks wait, and at what number of hosts the store can
// keep up no more. Options and a seed give the same report to the last bit; only
// [Measure] asks a real store. README.md shows what was found.
//
// Rules that product code keeps are asked there: whether a claim is free
// ([fleet.Claim.Free]) or its holder's ([fleet.Claim.Current]), what a fire starts
// ([plan.Decide]), how a category backs off ([bandit.Backoff]). Rules that stand in SQL, or
// between waits, are written again, each in one function that names the original, and
// a test holds it against that.
//
// The simulation is simpler than a fleet: all categories are worth the same, so that a
// fire's ranking is a shuffle. The store serves transactions in turn, while SQLite lets
// chance decide. Lanes, slots and cooldowns are each host's own, and a fire sweeps up
// only after the crashed sessions of its own host. Tasks require nothing of each other,
// and every host sees at once that one has come or is done.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"stint/internal/bandit"
	"stint/internal/plot"
	"stint/internal/store"
	"stint/internal/store/postgres"
	"stint/internal/store/sqlite"
	"stint/internal/testkit/pgtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := play(ctx, os.Args[1:], os.Stdout)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "crowd: %v\n", err)
		os.Exit(1)
	}
}

// play simulates each number of hosts that args name, and prints a table of them.
func play(ctx context.Context, args []string, out io.Writer) error {
	o := Defaults()
	flags := flag.NewFlagSet("crowd", flag.ContinueOnError)
	flags.IntVar(&o.Workers, "workers", o.Workers, "sessions that a fire starts, and a host runs, at most")
	flags.IntVar(&o.Categories, "categories", 0, "categories of work (default: as many as workers)")
	flags.IntVar(&o.Lanes, "lanes", o.Lanes, "lanes of each category on each host")
	flags.DurationVar(&o.Length, "length", o.Length, "time to simulate")
	flags.Float64Var(&o.TasksPerHour, "tasks-per-hour", 0, "tasks that come to all hosts together (default: one every two hours for each worker)")
	flags.DurationVar(&o.Every, "every", o.Every, "time between two fires of a host")
	flags.DurationVar(&o.Spread, "spread", o.Spread, "the fires of all hosts are due at once, and come within this time")
	flags.DurationVar(&o.TTL, "ttl", o.TTL, "time-to-live of claims")
	flags.DurationVar(&o.Skew, "skew", 0, "how far each host's clock is off, at most, either way")
	flags.Uint64Var(&o.Seed, "seed", rand.Uint64(), "seed of the world (default: by chance)")
	measure := flags.String("measure", "", "measure what a store costs on this machine, and go by that: sqlite, in a temporary folder, or postgres, on a server of its own")
	svg := flags.String("svg", "", "draw load and denials, hour by hour, to this file")
	hosts := []int{o.Hosts}
	flags.Func("hosts", fmt.Sprintf("numbers of hosts that share the store, as N,... (default %d)", o.Hosts), func(s string) (err error) {
		hosts, err = numbers(s)
		return err
	})
	switch err := flags.Parse(args); {
	case err != nil:
		return err
	case flags.NArg() > 0:
		return fmt.Errorf("%q: want flags only", flags.Arg(0))
	}
	if *measure != "" {
		var err error
		if o.Costs, o.Lookers, err = measureHere(ctx, *measure); err != nil {
			return err
		}
		fmt.Fprintf(out, "costs: %+v\n", o.Costs)
	}
	var reports []*Report
	for _, n := range hosts {
		size := o
		size.Hosts = n
		fmt.Fprintf(os.Stderr, "%s with %d hosts …\n", o.Length, n)
		r, err := simulate(ctx, size.Complete())
		if err != nil {
			return fmt.Errorf("%d hosts: %w", n, err)
		}
		reports = append(reports, r)
	}
	if err := printReports(out, reports); err != nil {
		return err
	}
	if *svg == "" {
		return nil
	}
	return os.WriteFile(*svg, drawing(reports), 0o644)
}

// numbers reads "1,10,100".
func numbers(s string) (list []int, err error) {
	for text := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q: want numbers of hosts of 1 or more, such as 1,10,100", text)
		}
		list = append(list, n)
	}
	return list, nil
}

// measureHere measures a store of a kind. A server looks with all cores at once.
func measureHere(ctx context.Context, kind string) (c Costs, lookers int, err error) {
	var s store.Store
	switch kind {
	case "sqlite":
		dir, err := os.MkdirTemp("", "stint-measure-")
		if err != nil {
			return c, 0, err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		if s, err = sqlite.Open(ctx, sqlite.Options{Dir: dir, Fleet: "measure", Workspace: dir, Now: time.Now, Settings: bandit.Defaults()}); err != nil {
			return c, 0, err
		}
	case "postgres":
		server, err := pgtest.New()
		if err != nil {
			return c, 0, err
		}
		defer func() { _ = server.Remove() }()
		o := postgres.Options{DSN: server.DSN(), Fleet: "measure", Settings: bandit.Defaults()}
		if err := errors.Join(server.Stop(), server.Start("fsync=on")); err != nil {
			return c, 0, err
		}
		if _, err := postgres.Migrate(ctx, o); err != nil {
			return c, 0, err
		}
		if s, err = postgres.Open(o); err != nil {
			return c, 0, err
		}
		lookers = runtime.NumCPU()
	default:
		return c, 0, fmt.Errorf("-measure %s: want sqlite or postgres", kind)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	c, err = Measure(ctx, s, time.Now)
	return c, lookers, err
}

// printReports prints a column for each number of hosts.
func printReports(out io.Writer, reports []*Report) error {
	rows := []struct {
		name  string
		value func(r *Report) string
	}{
		{"hosts × workers", func(r *Report) string { return fmt.Sprintf("%d × %d", r.Options.Hosts, r.Workers) }},
		{"fires", func(r *Report) string {
			return fmt.Sprintf("%d, %d given up, %d late", r.Fires, r.FiresFailed, r.FiresLate)
		}},
		{"workers: lane busy, idle, denied, given up", func(r *Report) string {
			return fmt.Sprintf("%d: %d, %d, %d, %d", r.Runs, r.Busy, r.Idle, r.RunsDenied, r.GivenUp)
		}},
		{"grants an hour", func(r *Report) string { return fixed(float64(r.Grants)/r.Length.Hours(), 0) }},
		{"denials per grant", func(r *Report) string { return fixed(r.DenialsPerGrant, 4) }},
		{"pivots per run", func(r *Report) string { return fixed(r.PivotsPerRun, 4) }},
		{"time to claim: p50, p95, p99, max", func(r *Report) string { return spread(r.TimeToClaim) }},
		{"ready tasks waited: p50, p95, p99, max", func(r *Report) string { return spread(r.TaskWait) }},
		{"longest wait", func(r *Report) string { return brief(r.LongestWait) }},
		{"tasks never worked", func(r *Report) string {
			return fmt.Sprintf("%d of %d, %s %%", r.NeverWorked, r.Tasks, fixed(100*r.NeverShare, 1))
		}},
		{"double holders", func(r *Report) string { return strconv.Itoa(r.DoubleHolders) }},
		{"grants beside orphans", func(r *Report) string { return strconv.Itoa(r.BesideOrphans) }},
		{"sessions ended, running", func(r *Report) string { return fmt.Sprintf("%d, %d", r.Completed, r.Running) }},
		{"sessions lost, gone with host, orphaned, unrecorded", func(r *Report) string {
			return fmt.Sprintf("%d, %d, %d, %d", r.Lost, r.Died, r.Orphaned, r.Unrecorded)
		}},
		{"claims reaped, taken by proof, by expiry", func(r *Report) string {
			return fmt.Sprintf("%d, %d, %d", r.Reaped, r.TakenByProof, r.TakenByExpiry)
		}},
		{"waits for the store: p50, p95, p99, max", func(r *Report) string { return spread(r.StoreWait) }},
		{"store in use, on paper", func(r *Report) string {
			return fmt.Sprintf("%s %%, %s %%", fixed(100*r.Utilisation, 1), fixed(100*r.Paper.Utilisation, 1))
		}},
		{"hosts that fill it on paper", func(r *Report) string { return fixed(r.Paper.Hosts, 0) }},
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := []string{row.name}
		for _, r := range reports {
			cells = append(cells, row.value(r))
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	first := reports[0]
	_, err := fmt.Fprintf(out, "length=%s ttl=%s seed=%d\n", first.Length, first.TTL, first.Seed)
	return err
}

func fixed(v float64, decimals int) string { return strconv.FormatFloat(v, 'f', decimals, 64) }

func spread(q Quantiles) string {
	return strings.Join([]string{brief(q.P50), brief(q.P95), brief(q.P99), brief(q.Max)}, ", ")
}

// brief is a duration as a person reads it: three digits or so.
func brief(d time.Duration) string {
	units := []time.Duration{time.Minute, time.Second, 10 * time.Millisecond}
	i := slices.IndexFunc(units, func(u time.Duration) bool { return d >= u })
	if i < 0 {
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round([]time.Duration{time.Second, 10 * time.Millisecond, time.Millisecond}[i]).String()
}

// drawing shows, for each number of hosts, the store's load and the denials, hour by hour.
func drawing(reports []*Report) []byte {
	load := plot.Lines{Title: "Load of the one store", X: "hours", Y: "utilisation"}
	denials := plot.Lines{Title: "Denials", X: "hours", Y: "per grant"}
	for i, r := range reports {
		series := plot.Series{Name: fmt.Sprintf("%d hosts", r.Options.Hosts), Colour: i}
		l, d := plot.Line{Series: series}, plot.Line{Series: series}
		for i, h := range r.Hours {
			l.Points = append(l.Points, plot.Point{X: float64(i + 1), Y: h.Utilisation})
			d.Points = append(d.Points, plot.Point{X: float64(i + 1), Y: h.DenialsPerGrant})
		}
		load.Lines, denials.Lines = append(load.Lines, l), append(denials.Lines, d)
	}
	return plot.Page(load, denials)
}
