package simulate

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/tomlfile"
)

const (
	mostFires      = 10_000_000 // days of computing; a typing error shows
	mostCategories = 1000
	mostWorkers    = 1000
	mostHosts      = 1000
)

// Load reads a scenario's file, as strictly as a configuration is read and with the same
// kind of errors.
func Load(path string) (*Scenario, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, tomlfile.Usagef("name the file by its absolute path", "read scenario: %w", err)
	}
	file, err := tomlfile.Load(path, kind(path))
	if err != nil {
		return nil, err
	}
	return scenarioIn(file)
}

// Parse reads a scenario's text as if it stood in the file path.
func Parse(path string, data []byte) (*Scenario, error) {
	file, err := tomlfile.Parse(path, data, kind(path))
	if err != nil {
		return nil, err
	}
	return scenarioIn(file)
}

func kind(path string) tomlfile.Kind {
	return tomlfile.Kind{
		What: "scenario", Name: "SCENARIO.toml", Write: "write one: stint simulate --help shows a complete one",
		Again: "stint simulate " + path,
	}
}

func scenarioIn(f *tomlfile.File) (*Scenario, error) {
	file := f.Root()
	s := &Scenario{
		Fires:        tomlfile.Get(file, "fires", 2000, tomlfile.Whole(1, mostFires)),
		Workers:      tomlfile.Get(file, "workers", 3, tomlfile.Whole(1, mostWorkers)),
		Hosts:        tomlfile.Get(file, "hosts", 1, tomlfile.Whole(1, mostHosts)),
		Grades:       grades(file.Child("grades")),
		Change:       change(file.Child("change")),
		Availability: optional(file, "availability", chain),
		Sessions:     optional(file, "sessions", sessions),
		Depletion:    optional(file, "depletion", depletion),
		Respawn:      optional(file, "respawn", respawn),
		Review:       optional(file, "review", reviewer),
		Fates:        optional(file, "fates", fates),
		Categories:   kindsOfWork(file),
		Policies:     plain.Each(file.Child("policy").Children(), func(p *tomlfile.Table) Policy { return policy(p, p.Name) }),
	}
	otherPools(file.Child("pool"), s)
	outages(file.Child("outage"), s)
	taught(file.Child("lesson"), s)
	file.Close()
	if err := f.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

func grades(t *tomlfile.Table) Grades {
	g := Grades{
		Noise:         tomlfile.Get(t, "noise", Bernoulli, tomlfile.OneOf(Bernoulli, Graded)),
		Concentration: tomlfile.Get(t, "concentration", 8, tomlfile.Number(0.001, 1e6)),
		Missing:       tomlfile.Get(t, "missing", 0, tomlfile.Fraction()),
		Nothing:       tomlfile.Get(t, "nothing", 0, tomlfile.Fraction()),
	}
	t.Close()
	return g
}

func change(t *tomlfile.Table) Change {
	c := Change{
		Kind:  tomlfile.Get(t, "kind", Still, tomlfile.OneOf(Still, Permute, Walk, Cycle)),
		Every: tomlfile.Get(t, "every", 500, tomlfile.Whole(1, mostFires)),
		SD:    tomlfile.Get(t, "sd", 0.01, tomlfile.Fraction()),
		Low:   tomlfile.Get(t, "low", 0.15, tomlfile.Fraction()),
		High:  tomlfile.Get(t, "high", 0.85, tomlfile.Fraction()),
		Swing: tomlfile.Get(t, "swing", 0.2, tomlfile.Fraction()),
	}
	if c.Kind == Walk && c.Low >= c.High {
		t.File.Report(t.Key, fmt.Errorf("low = %v is not below high = %v", c.Low, c.High), "write low = 0.15 and high = 0.85")
	}
	t.Close()
	return c
}

// optional reads a table by its keys; nil: the file has none.
func optional[T any](file *tomlfile.Table, name string, read func(*tomlfile.Table) T) *T {
	t := file.Child(name)
	if !file.Has(name) {
		return nil
	}
	v := read(t)
	t.Close()
	return &v
}

func chain(t *tomlfile.Table) Chain {
	return Chain{Wake: tomlfile.Get(t, "wake", 0.03, tomlfile.Fraction()), Sleep: tomlfile.Get(t, "sleep", 0.04, tomlfile.Fraction())}
}

func sessions(t *tomlfile.Table) Sessions {
	return Sessions{
		Median: tomlfile.Get(t, "median", 2.5, tomlfile.Number(0, 1e6)),
		Sigma:  tomlfile.Get(t, "sigma", 0.6, tomlfile.Number(0, 10)),
		Slots:  tomlfile.Get(t, "slots", 0, tomlfile.Whole(1, mostWorkers)),
		Lock:   tomlfile.Get(t, "lock", true, tomlfile.Truth()),
	}
}

func depletion(t *tomlfile.Table) Depletion {
	return Depletion{Amount: tomlfile.Get(t, "amount", 0.35, tomlfile.Fraction()), HalfLife: tomlfile.Get(t, "half_life", 6, tomlfile.Number(0.001, 1e6))}
}

func respawn(t *tomlfile.Table) Respawn {
	return Respawn{From: tomlfile.Get(t, "from", 0.65, tomlfile.Fraction()), Most: tomlfile.Get(t, "max_chain", 3, tomlfile.Whole(1, mostWorkers))}
}

func reviewer(t *tomlfile.Table) Review {
	r := Review{
		PerDay: tomlfile.Get(t, "per_day", 10, tomlfile.Number(0.001, 1e6)), Leaves: tomlfile.Get(t, "leaves", 0.15, tomlfile.Fraction()),
		Limit: tomlfile.Get(t, "limit", 50, tomlfile.Whole(0, mostFires)), MaxAge: tomlfile.Get(t, "max_age", 14, tomlfile.Number(0, 1e6)),
		First: tomlfile.Get(t, "first", 0, tomlfile.Whole(0, mostFires)), Last: tomlfile.Get(t, "last", 0, tomlfile.Whole(0, mostFires)),
		Order: tomlfile.Get(t, "order", ByWorth, tomlfile.OneOf(ByWorth, ByAge)),
	}
	r.AwayLimit = tomlfile.Get(t, "away_limit", 2*r.Limit, tomlfile.Whole(0, mostFires))
	return r
}

func fates(t *tomlfile.Table) Fates {
	f := Fates{
		First:       tomlfile.Get(t, "first", 0.55, tomlfile.Fraction()),
		SD:          tomlfile.Get(t, "sd", 0.15, tomlfile.Fraction()),
		Correlation: tomlfile.Get(t, "correlation", 0.3, tomlfile.Fraction()),
		After:       tomlfile.Get(t, "after", 48, tomlfile.Whole(1, mostFires)),
		Until:       tomlfile.Get(t, "until", 336, tomlfile.Whole(1, mostFires)),
	}
	if f.Until < f.After {
		t.Report("until", fmt.Errorf("%d is before after = %d", f.Until, f.After), fmt.Sprintf("write until = %d", f.After))
		f.Until = f.After
	}
	return f
}

// otherPools reads the pools beside the default one, of which each category is to know its own.
func otherPools(t *tomlfile.Table, s *Scenario) {
	for _, p := range t.Children() {
		s.Pools = append(s.Pools, Pool{
			Name: p.Name, PerFire: tomlfile.Get(p, "per_fire", 6, tomlfile.Whole(1, mostWorkers)), Workers: tomlfile.Get(p, "workers", 1, tomlfile.Whole(1, mostWorkers)),
		})
		p.Close()
	}
	others := 0
	for _, c := range s.Categories {
		if c.Pool == "" {
			continue
		}
		if slices.ContainsFunc(s.Pools, func(p Pool) bool { return p.Name == c.Pool }) {
			others++
		} else {
			t.File.Report(tomlfile.Dotted("category", string(c.Name), "pool"), fmt.Errorf("there is no pool %q", c.Pool), fmt.Sprintf("write [pool.%s]", c.Pool))
		}
	}
	if others > 0 && others == len(s.Categories) {
		t.File.Report("category", errors.New("none is of the default pool"), "leave out pool in one of them")
	}
}

func outages(t *tomlfile.Table, s *Scenario) {
	for _, p := range t.Children() {
		o := Outage{
			Agent:   tomlfile.Get(p, "agent", "", tomlfile.Text()),
			Outcome: tomlfile.Get(p, "outcome", fleet.Unavailable, tomlfile.OneOf(fleet.Unavailable, fleet.Failed)),
			Rest:    tomlfile.Get(p, "rest", false, tomlfile.Truth()),
		}
		o.First, o.Last, o.Category = span(p, s)
		if !slices.ContainsFunc(s.Categories, func(c Category) bool { return o.Agent == "" || o.Agent == c.Agent }) {
			p.Report("agent", fmt.Errorf("no category has agent %q", o.Agent), fmt.Sprintf("write agent = %q at one", o.Agent))
		}
		s.Outages = append(s.Outages, o)
		p.Close()
	}
}

func taught(t *tomlfile.Table, s *Scenario) {
	for _, p := range t.Children() {
		l := Lesson{
			Name: p.Name, Effect: tomlfile.Get(p, "effect", 0.1, tomlfile.Number(-1, 1)), Withhold: tomlfile.Get(p, "withhold", 0.2, tomlfile.Fraction()),
		}
		l.First, l.Last, l.Category = span(p, s)
		s.Lessons = append(s.Lessons, l)
		p.Close()
	}
}

// span are the fires, and the category, that something is limited to.
func span(p *tomlfile.Table, s *Scenario) (first, last int, only fleet.Category) {
	first = tomlfile.Get(p, "first", 1, tomlfile.Whole(1, mostFires))
	last = tomlfile.Get(p, "last", mostFires, tomlfile.Whole(1, mostFires))
	only = fleet.Category(tomlfile.Get(p, "category", "", tomlfile.Text()))
	if last < first {
		p.Report("last", fmt.Errorf("%d is before first = %d", last, first), fmt.Sprintf("write last = %d", first))
	}
	if only != "" && !slices.ContainsFunc(s.Categories, func(c Category) bool { return c.Name == only }) {
		p.Report("category", fmt.Errorf("there is no category %q", only), "name one, or leave it out")
	}
	return first, last, only
}

// kindsOfWork are the categories in the order of the file. Those without a share get
// equal parts of what the others leave, as in a configuration.
func kindsOfWork(file *tomlfile.Table) []Category {
	var (
		list    []Category
		rest    = 1.0
		without []int
	)
	tables := file.Child("category").Children()
	if len(tables) > mostCategories {
		file.Report("category", fmt.Errorf("want at most %d, not %d", mostCategories, len(tables)), "remove some")
	}
	for _, t := range tables {
		if _, err := fleet.ParseCategory(t.Name); err != nil {
			t.File.Report(t.Key, err, "rename it, as in [category.code]")
		}
		c := Category{
			Name: fleet.Category(t.Name), Mean: tomlfile.Get(t, "mean", 0, tomlfile.Fraction()), Share: tomlfile.Get(t, "share", 0, tomlfile.Fraction()),
			Supply: supply(t), Pool: tomlfile.Get(t, "pool", "", tomlfile.Text()), Agent: tomlfile.Get(t, "agent", "", tomlfile.Text()),
			ByHand:  tomlfile.Get(t, "by_hand", 0, tomlfile.Whole(0, mostFires)),
			Witness: tomlfile.Get(t, "witness", Grader, tomlfile.OneOf(Grader, NoWitness, Changes, Trust)),
		}
		if t.Has("report") {
			c.Report = new(tomlfile.Get(t, "report", 1, tomlfile.Fraction()))
		}
		if !t.Has("mean") {
			t.Missing("mean", "write mean = 0.5")
		}
		if t.Has("share") {
			rest -= c.Share
		} else {
			without = append(without, len(list))
		}
		t.Close()
		list = append(list, c)
	}
	for _, i := range without {
		list[i].Share = max(0, rest) / float64(len(without))
	}
	if len(list) == 0 {
		file.Missing("category", "write [category.code] and below it mean = 0.5")
	}
	return list
}

// supply is nil when the category always has work.
func supply(t *tomlfile.Table) *Chain {
	c := &Chain{
		Wake:  tomlfile.Get(t, "supply_wake", 0.02, tomlfile.Fraction()),
		Sleep: tomlfile.Get(t, "supply_sleep", 0.05, tomlfile.Fraction()),
	}
	if !t.Has("supply_wake") && !t.Has("supply_sleep") {
		return nil
	}
	return c
}

// policy is one that there is, or a new one on the base of one that there is, with some
// of its constants replaced.
func policy(t *tomlfile.Table, name string) Policy {
	known := Policies()
	names := plain.Each(known, func(p Policy) string { return p.Name })
	base := name
	if !slices.Contains(names, name) {
		if _, err := tomlfile.PlainName("a policy's name", "[policy.mine]").Parse(name); err != nil {
			t.File.Report(t.Key, err, "")
		}
		base = tomlfile.Get(t, "base", "", tomlfile.OneOf(names...))
		if !t.Has("base") {
			t.Missing("base", `write base = "stint", or name one of: `+strings.Join(names, ", "))
		}
	}
	p := Policy{Kind: Random}
	if i := slices.Index(names, base); i >= 0 {
		p = known[i]
	} else {
		t.Leave() // of an unknown base nothing can be said
	}
	p.Name = name
	switch p.Kind {
	case Ranked:
		settings(t, &p)
	case Additive, DiscountedTS, DiscountedUCB:
		p.Gamma = tomlfile.Get(t, "gamma", p.Gamma, tomlfile.Number(0.001, 1))
	case SlidingTS:
		p.Window = tomlfile.Get(t, "window", p.Window, tomlfile.Whole(1, mostFires))
	case Known, UCB1, Random, RoundRobin:
	}
	if p.Kind.IsIndex() {
		if p.Fair = tomlfile.Get(t, "fairness", p.Fair, tomlfile.Truth()); p.Fair {
			floorAndCap(t, &p.Settings)
		}
	}
	t.Close()
	return p
}

func settings(t *tomlfile.Table, p *Policy) {
	p.Learns = tomlfile.Get(t, "learns", Later, tomlfile.OneOf(Later, AtOnce, Never))
	s := p.Settings
	if tomlfile.Get(t, "core", false, tomlfile.Truth()) {
		s = s.Core()
	}
	if !tomlfile.Get(t, "fairness", true, tomlfile.Truth()) {
		s = s.Unfair()
	}
	floorAndCap(t, &s)
	s.HalfLife = tomlfile.Get(t, "half_life", s.HalfLife, orNever(tomlfile.Number(0.001, 1e9)))
	s.SlowHalfLife = tomlfile.Get(t, "slow_half_life", s.SlowHalfLife, orNever(tomlfile.Number(0.001, 1e9)))
	s.Alarm = tomlfile.Get(t, "alarm", s.Alarm, orNever(tomlfile.Number(0.001, 1e9)))
	s.Depletion = tomlfile.Get(t, "depletion", s.Depletion, tomlfile.Truth())
	s.Season = tomlfile.Get(t, "season", s.Season, tomlfile.Truth())
	s.Anchor = tomlfile.Get(t, "anchor", s.Anchor, tomlfile.Truth())
	s.Dispersion = tomlfile.Get(t, "dispersion", s.Dispersion, tomlfile.Truth())
	p.Settings = s
}

// floorAndCap are the bounds of the accounts, and what a debt weighs.
func floorAndCap(t *tomlfile.Table, s *bandit.Settings) {
	s.V = tomlfile.Get(t, "v", s.V, tomlfile.Number(0.001, 1e9))
	s.Floor = tomlfile.Get(t, "floor", s.Floor, tomlfile.Fraction())
	s.Cap = tomlfile.Get(t, "cap", s.Cap, orNever(tomlfile.Number(1, 1e9)))
}

// orNever takes inf as well as 0 for what never happens.
func orNever(r tomlfile.Rule[float64]) tomlfile.Rule[float64] {
	never := tomlfile.OrNone(r)
	parse := never.Parse
	never.Parse = func(value any) (float64, error) {
		if f, ok := value.(float64); ok && math.IsInf(f, 1) {
			return 0, nil
		}
		return parse(value)
	}
	return never
}
