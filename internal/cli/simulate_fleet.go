package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"stint/internal/bandit"
	"stint/internal/plot"
	"stint/internal/simulate/crowd"
	"stint/internal/store/sqlite"
)

// crowdOptions are the flags of simulate --fleet.
type crowdOptions struct {
	on      bool
	hosts   countValue
	workers countValue
	kinds   countValue
	lanes   countValue
	days    float64
	tasks   float64
	every   ttlValue
	spread  time.Duration
	ttl     ttlValue
	skew    time.Duration
	sweep   sweepValue
	measure bool
}

// flags are those that go with --fleet alone.
func (o *crowdOptions) flags() *pflag.FlagSet {
	f := pflag.NewFlagSet("fleet", pflag.ContinueOnError)
	d := crowd.Defaults()
	o.every, o.ttl = ttlValue(d.Every), ttlValue(d.TTL)
	f.Var(&o.hosts, "hosts", fmt.Sprintf("hosts that share the store (default %d)", d.Hosts))
	f.Var(&o.workers, "workers-per-host", fmt.Sprintf("sessions that a fire starts, and a host runs, at most (default %d)", d.Workers))
	f.Var(&o.kinds, "categories", "categories of work (default: as many as workers per host)")
	f.Var(&o.lanes, "lanes", fmt.Sprintf("lanes of each category on each host (default %d)", d.Lanes))
	f.Float64Var(&o.days, "days", d.Length.Hours()/24, "days to simulate")
	f.Float64Var(&o.tasks, "tasks-per-hour", 0, "tasks that come to all hosts together (default: one every two hours for each worker)")
	f.Var(&o.every, "every", "time between two fires of a host")
	f.DurationVar(&o.spread, "spread", d.Spread, "the fires of all hosts are due at once, and come within this time")
	f.Var(&o.ttl, "ttl", "time-to-live of claims")
	f.DurationVar(&o.skew, "skew", 0, "how far each host's clock is off, at most, either way")
	f.Var(&o.sweep, "sweep", "simulate each of these numbers of hosts, as `N,...`")
	f.BoolVar(&o.measure, "measure", false, "measure what a store costs on this machine, in a temporary folder, and go by that")
	return f
}

// addFleetFlags adds --fleet, and what goes with it, to simulate.
func addFleetFlags(f *pflag.FlagSet, o *crowdOptions) {
	f.BoolVar(&o.on, "fleet", false, "simulate many hosts on one store instead; needs no scenario")
	f.AddFlagSet(o.flags())
}

const fleetHelp = `

With --fleet, what is simulated is claims, lanes and the store: hosts whose timers
fire, workers that look, claim, renew and end, sessions and hosts that die, and one
store that serves all of them one after the other, at the cost that was measured on a
small machine, or with --measure on this one. A double holder is a grant while another
session, its supervisor alive, holds the claim for its own: there must be none. ON PAPER
is the store's utilisation reckoned from the rates alone, and the number of hosts at
which it would be 1.`

// checkFleetArgs lets a scenario be named, or --fleet, and only what goes with it.
func checkFleetArgs(cmd *cobra.Command, o *crowdOptions, args []string) error {
	var with []string
	own := o.lookup()
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains(own, f.Name) != o.on && (slices.Contains(own, f.Name) || f.Name == "runs" || f.Name == "policy") {
			with = append(with, "--"+f.Name)
		}
	})
	switch {
	case !o.on && len(with) > 0:
		return fmt.Errorf("%s: goes with --fleet only", with[0])
	case !o.on:
		return cobra.ExactArgs(1)(cmd, args)
	case len(with) > 0:
		return fmt.Errorf("%s: does not go with --fleet", with[0])
	case len(o.sweep) > 0 && (o.hosts != 0 || o.tasks != 0):
		return errors.New("--sweep says how many hosts there are, and tasks come in proportion: leave out --hosts and --tasks-per-hour")
	}
	return cobra.NoArgs(cmd, args)
}

// lookup are the names of the flags that go with --fleet alone.
func (crowdOptions) lookup() (names []string) {
	var scratch crowdOptions
	scratch.flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

func (a *app) runSimulateFleet(ctx context.Context, o crowdOptions, seed *uint64, svg string) error {
	if err := checkDrawing(svg); err != nil {
		return err
	}
	sizes, err := a.crowdSizes(o, seed)
	if err != nil {
		return err
	}
	if o.measure {
		costs, err := a.measureStore(ctx)
		if err != nil {
			return err
		}
		for i := range sizes {
			sizes[i].Costs = costs
		}
	}
	var reports []*crowd.Report
	for _, size := range sizes {
		p := a.progress()
		size.Progress = func(done, all int) { p.days(size.Hosts, done, all) }
		r, err := crowd.Run(ctx, size)
		p.clear()
		if err != nil {
			return fmt.Errorf("simulate fleet of %d hosts: %w", size.Hosts, err)
		}
		reports = append(reports, r)
	}
	switch {
	case a.json:
		printJSON(a.Stdout, crowdsOf(reports))
	case len(o.sweep) > 0:
		a.printCrowds(reports)
	default:
		a.printCrowd(reports[0])
	}
	return writeDrawing(svg, func() []byte { return crowdDrawing(reports) })
}

// crowdSizes are what is to be simulated, one after the other.
func (a *app) crowdSizes(o crowdOptions, seed *uint64) ([]crowd.Options, error) {
	options, err := a.crowdOptions(o, seed)
	if err != nil {
		return nil, err
	}
	hosts := []int(o.sweep)
	if len(hosts) == 0 {
		hosts = []int{options.Hosts}
	}
	var sizes []crowd.Options
	for _, n := range hosts {
		size := options
		size.Hosts = n
		size = size.Complete()
		if err := size.Validate(); err != nil {
			return nil, o.named(err)
		}
		sizes = append(sizes, size)
	}
	return sizes, nil
}

// named tells of an option by the flag that gives it.
func (o crowdOptions) named(err error) error {
	var wrong crowd.RangeError
	if !errors.As(err, &wrong) {
		return err
	}
	name, found := map[string]string{
		"Hosts": "hosts", "Workers": "workers-per-host", "Categories": "categories", "Lanes": "lanes", "Length": "days",
		"Every": "every", "Spread": "spread", "TasksPerHour": "tasks-per-hour", "TTL": "ttl", "Skew": "skew",
	}[wrong.Option]
	if !found {
		return err
	}
	if wrong.Option == "Hosts" && len(o.sweep) > 0 {
		name = "sweep"
	}
	wrong.Option = "--" + name
	return usage(wrong)
}

// sweepValue is --sweep: numbers of hosts.
type sweepValue []int

func (v *sweepValue) Type() string { return "N,..." }

func (v *sweepValue) String() string {
	var texts []string
	for _, n := range *v {
		texts = append(texts, strconv.Itoa(n))
	}
	return strings.Join(texts, ",")
}

// Set adds numbers, so that the flag may be given again.
func (v *sweepValue) Set(s string) error {
	for text := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 {
			return fmt.Errorf("%q: want numbers of hosts of 1 or more, such as 1,10,100", text)
		}
		*v = append(*v, n)
	}
	return nil
}

// crowdOptions are the defaults with what the flags say.
func (a *app) crowdOptions(o crowdOptions, seed *uint64) (crowd.Options, error) {
	c := crowd.Defaults()
	c.Hosts, c.Workers, c.Categories, c.Lanes = o.hosts.or(c.Hosts), o.workers.or(c.Workers), o.kinds.or(0), o.lanes.or(c.Lanes)
	const mostDays = 3650 // more overflows a duration when multiplied with
	if !(o.days > 0 && o.days <= mostDays) {
		return c, usage(fmt.Errorf("--days %g: want more than 0 and at most %d", o.days, mostDays))
	}
	if !(o.tasks >= 0) {
		return c, usage(fmt.Errorf("--tasks-per-hour %g: want 0, for the default, or more", o.tasks))
	}
	c.Length = time.Duration(o.days * 24 * float64(time.Hour))
	c.Every, c.Spread = time.Duration(o.every), o.spread
	c.TasksPerHour, c.TTL, c.Skew = o.tasks, time.Duration(o.ttl), o.skew
	if c.Seed = a.Random(); seed != nil {
		c.Seed = *seed
	}
	return c, nil
}

// measureStore measures a store in a temporary folder.
func (a *app) measureStore(ctx context.Context) (c crowd.Costs, err error) {
	dir, err := os.MkdirTemp("", "stint-measure-")
	if err != nil {
		return c, fmt.Errorf("measure a store: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := sqlite.Open(ctx, sqlite.Options{Dir: dir, Fleet: "measure", Workspace: dir, Now: a.Now, Settings: bandit.Defaults()})
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if c, err = crowd.Measure(ctx, s, a.Now); err != nil {
		return c, fmt.Errorf("measure a store in %s: %w", dir, err)
	}
	return c, nil
}

// days tells how much of the time of so many hosts is over.
func (p *progress) days(hosts, done, all int) {
	if percent := done * 100 / all; p.w != nil && percent > p.shown {
		p.shown = percent
		fmt.Fprintf(p.w, "\r%3d %% of %s for %d hosts", percent, time.Duration(all)*time.Second, hosts)
	}
}

func (a *app) printCrowd(r *crowd.Report) {
	n := strconv.Itoa
	percent := func(v float64) string { return fixed(100*v, 1) + "%" }
	spread := func(q crowd.Quantiles) string {
		return fmt.Sprintf("p50 %s  p95 %s  p99 %s  max %s", brief(q.P50), brief(q.P95), brief(q.P99), brief(q.Max))
	}
	a.table([][]string{
		{"fires", fmt.Sprintf("%d, %d given up, %d late", r.Fires, r.FiresFailed, r.FiresLate)},
		{"workers", fmt.Sprintf("%d: %d lane busy, %d idle, %d denied, %d given up", r.Runs, r.Busy, r.Idle, r.RunsDenied, r.GivenUp)},
		{"grants", n(r.Grants)},
		{"denials per grant", fixed(r.DenialsPerGrant, 4)},
		{"pivots per run", fixed(r.PivotsPerRun, 4)},
		{"time to claim", spread(r.TimeToClaim)},
		{"ready tasks waited", spread(r.TaskWait)},
		{"longest wait", brief(r.LongestWait)},
		{"never worked", fmt.Sprintf("%d of %d tasks, %s", r.NeverWorked, r.Tasks, percent(r.NeverShare))},
		{"double holders", n(r.DoubleHolders)},
		{"beside orphans", n(r.BesideOrphans)},
		{"sessions", fmt.Sprintf("%d ended, %d lost, %d died with their host, %d lost their supervisor, %d unrecorded, %d running",
			r.Completed, r.Lost, r.Died, r.Orphaned, r.Unrecorded, r.Running)},
		{"claims of the dead", fmt.Sprintf("%d given back by fires, %d taken by proof, %d by expiry", r.Reaped, r.TakenByProof, r.TakenByExpiry)},
		{"store waits", fmt.Sprintf("%s, %d given up", spread(r.StoreWait), r.Refused)},
		{"store utilisation", fmt.Sprintf("%s, on paper %s", percent(r.Utilisation), percent(r.Paper.Utilisation))},
		{"carries on paper", fixed(r.Paper.Hosts, 0) + " hosts"},
	})
	fmt.Fprintf(a.Stdout, "hosts=%d workers=%d days=%s tasks_per_hour=%s ttl=%s seed=%d\n",
		r.Options.Hosts, r.Options.Hosts*r.Workers, fixed(r.Length.Hours()/24, 2), fixed(r.TasksPerHour, 0), r.TTL, r.Seed)
}

func (a *app) printCrowds(list []*crowd.Report) {
	rows := [][]string{fields("HOSTS WORKERS GRANTS/H DENIALS/GRANT PIVOTS/RUN CLAIM-P50 CLAIM-P99 LONGEST-WAIT GIVEN-UP DOUBLE STORE ON-PAPER")}
	for _, r := range list {
		rows = append(rows, []string{
			strconv.Itoa(r.Options.Hosts), strconv.Itoa(r.Options.Hosts * r.Workers), fixed(float64(r.Grants)/r.Length.Hours(), 0),
			fixed(r.DenialsPerGrant, 4), fixed(r.PivotsPerRun, 4), brief(r.TimeToClaim.P50), brief(r.TimeToClaim.P99),
			brief(r.LongestWait), strconv.Itoa(r.GivenUp), strconv.Itoa(r.DoubleHolders),
			fixed(100*r.Utilisation, 1) + "%", fixed(100*r.Paper.Utilisation, 1) + "%",
		})
	}
	a.table(rows)
	fmt.Fprintf(a.Stdout, "days=%s ttl=%s seed=%d\n", fixed(list[0].Length.Hours()/24, 2), list[0].TTL, list[0].Seed)
}

// brief is a duration as a person reads it: three digits or so.
func brief(d time.Duration) string {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	default:
		return d.Round(10 * time.Microsecond).String()
	}
}

type quantilesObject struct {
	Mean float64 `json:"mean_seconds"`
	P50  float64 `json:"p50_seconds"`
	P95  float64 `json:"p95_seconds"`
	P99  float64 `json:"p99_seconds"`
	Max  float64 `json:"max_seconds"`
}

type paperObject struct {
	SessionsPerHour float64 `json:"sessions_per_hour"`
	Claims          float64 `json:"claims"`
	Utilisation     float64 `json:"utilisation"`
	Hosts           float64 `json:"hosts_at_full_utilisation"`
}

type crowdObject struct {
	Hosts           int             `json:"hosts"`
	Workers         int             `json:"workers"`
	TasksPerHour    float64         `json:"tasks_per_hour"`
	Tasks           int             `json:"tasks"`
	Fires           int             `json:"fires"`
	FiresFailed     int             `json:"fires_given_up"`
	FiresLate       int             `json:"fires_late"`
	Runs            int             `json:"runs"`
	Busy            int             `json:"busy"`
	Idle            int             `json:"idle"`
	RunsDenied      int             `json:"runs_denied"`
	GivenUp         int             `json:"runs_given_up"`
	Grants          int             `json:"grants"`
	Denials         int             `json:"denials"`
	DenialsPerGrant float64         `json:"denials_per_grant"`
	Pivots          int             `json:"pivots"`
	PivotsPerRun    float64         `json:"pivots_per_run"`
	Stale           int             `json:"takes_of_done_tasks"`
	DoubleHolders   int             `json:"double_holders"`
	BesideOrphans   int             `json:"beside_orphans"`
	Completed       int             `json:"sessions_ended"`
	Lost            int             `json:"sessions_lost"`
	Died            int             `json:"sessions_died"`
	Orphaned        int             `json:"sessions_orphaned"`
	Unrecorded      int             `json:"sessions_unrecorded"`
	Running         int             `json:"sessions_running"`
	TakenByProof    int             `json:"taken_by_proof"`
	TakenByExpiry   int             `json:"taken_by_expiry"`
	Reaped          int             `json:"claims_reaped"`
	HostDeaths      int             `json:"host_deaths"`
	TimeToClaim     quantilesObject `json:"time_to_claim"`
	TaskWait        quantilesObject `json:"task_wait"`
	LongestWait     float64         `json:"longest_wait_seconds"`
	NeverWorked     int             `json:"tasks_never_worked"`
	NeverShare      float64         `json:"share_never_worked"`
	StoreWait       quantilesObject `json:"store_wait"`
	Refused         int             `json:"store_given_up"`
	Utilisation     float64         `json:"store_utilisation"`
	Claims          float64         `json:"claims_held"`
	Paper           paperObject     `json:"on_paper"`
}

type costsObject struct {
	Write         float64 `json:"write"`
	Read          float64 `json:"read"`
	Fire          float64 `json:"fire"`
	FireRun       float64 `json:"fire_run"`
	Snapshot      float64 `json:"snapshot"`
	SnapshotClaim float64 `json:"snapshot_claim"`
	Sweep         float64 `json:"sweep"`
	SweepClaim    float64 `json:"sweep_claim"`
	Ask           float64 `json:"ask"`
}

type crowdsObject struct {
	Schema  string        `json:"schema"`
	Seed    uint64        `json:"seed,string"`
	Seconds float64       `json:"seconds"`
	TTL     float64       `json:"ttl_seconds"`
	Skew    float64       `json:"skew_seconds"`
	Costs   costsObject   `json:"cost_seconds"`
	Sizes   []crowdObject `json:"sizes"`
}

func crowdsOf(list []*crowd.Report) crowdsObject {
	first := list[0]
	c := first.Costs
	o := crowdsObject{
		Schema: "stint/fleet-simulation@1", Seed: first.Seed, Seconds: first.Length.Seconds(), TTL: first.TTL.Seconds(),
		Skew: first.Skew.Seconds(),
		Costs: costsObject{
			c.Write.Seconds(), c.Read.Seconds(), c.Fire.Seconds(), c.FireRun.Seconds(), c.Snapshot.Seconds(),
			c.SnapshotClaim.Seconds(), c.Sweep.Seconds(), c.SweepClaim.Seconds(), c.Ask.Seconds(),
		},
	}
	for _, r := range list {
		o.Sizes = append(o.Sizes, crowdOf(r))
	}
	return o
}

func crowdOf(r *crowd.Report) crowdObject {
	return crowdObject{
		Hosts: r.Options.Hosts, Workers: r.Options.Hosts * r.Workers, TasksPerHour: r.TasksPerHour, Tasks: r.Tasks,
		Fires: r.Fires, FiresFailed: r.FiresFailed, FiresLate: r.FiresLate,
		Runs: r.Runs, Busy: r.Busy, Idle: r.Idle, RunsDenied: r.RunsDenied, GivenUp: r.GivenUp,
		Grants: r.Grants, Denials: r.Denials, DenialsPerGrant: r.DenialsPerGrant, Pivots: r.Pivots, PivotsPerRun: r.PivotsPerRun,
		Stale: r.Stale, DoubleHolders: r.DoubleHolders, BesideOrphans: r.BesideOrphans,
		Completed: r.Completed, Lost: r.Lost, Died: r.Died, Orphaned: r.Orphaned, Unrecorded: r.Unrecorded, Running: r.Running,
		TakenByProof: r.TakenByProof, TakenByExpiry: r.TakenByExpiry, Reaped: r.Reaped, HostDeaths: r.HostDeaths,
		TimeToClaim: quantilesOf(r.TimeToClaim), TaskWait: quantilesOf(r.TaskWait), LongestWait: r.LongestWait.Seconds(),
		NeverWorked: r.NeverWorked, NeverShare: r.NeverShare,
		StoreWait: quantilesOf(r.StoreWait), Refused: r.Refused, Utilisation: r.Utilisation, Claims: r.Claims,
		Paper: paperObject{r.Paper.SessionsPerHour, r.Paper.Claims, r.Paper.Utilisation, r.Paper.Hosts},
	}
}

func quantilesOf(q crowd.Quantiles) quantilesObject {
	return quantilesObject{q.Mean.Seconds(), q.P50.Seconds(), q.P95.Seconds(), q.P99.Seconds(), q.Max.Seconds()}
}

// crowdDrawing shows, for each number of hosts, the store's load and the denials, hour by
// hour.
func crowdDrawing(list []*crowd.Report) []byte {
	load := plot.Lines{Title: "Load of the one store", X: "hours", Y: "utilisation"}
	denials := plot.Lines{Title: "Denials", X: "hours", Y: "per grant"}
	for i, r := range list {
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
