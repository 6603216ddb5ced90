package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/simulate"
)

const (
	mostFires      = 10_000_000 // days of computing; a typing error shows
	mostCategories = 1000
	mostWorkers    = 1000
)

// LoadScenario reads the file of "stint simulate", as strictly as [Load] does and with
// the same kind of errors.
func LoadScenario(path string) (*simulate.Scenario, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, usagef("name the file by its absolute path", "read scenario: %w", err)
	}
	info, err := os.Stat(path) // before it is opened: to open a pipe waits for its writer
	switch {
	case err != nil:
		return nil, usagef("stint simulate --help shows a complete one", "read scenario: %w", err)
	case !info.Mode().IsRegular():
		return nil, usagef("name a TOML file", "read scenario: %s is not a regular file", path)
	case info.Size() > maxBytes:
		return nil, usagef("name a scenario", "read scenario: %s has more than %d bytes", path, maxBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, usagef("see for yourself: cat "+path, "read scenario: %w", err)
	}
	return ParseScenario(path, data)
}

// ParseScenario reads a scenario's text as if it stood in the file path.
func ParseScenario(path string, data []byte) (*simulate.Scenario, error) {
	text, entries, err := decode(path, data, kind{
		write: "write one: stint simulate --help shows a complete one", again: "stint simulate " + path,
	})
	if err != nil {
		return nil, err
	}
	r := &reader{source: text}
	scenario := r.scenario(&table{reader: r, entries: entries})
	if err := r.source.check(r.faults); err != nil {
		return nil, err
	}
	return scenario, nil
}

func (r *reader) scenario(file *table) *simulate.Scenario {
	s := &simulate.Scenario{
		Fires:        get(file, "fires", 2000, whole(1, mostFires)),
		Workers:      get(file, "workers", 3, whole(1, mostWorkers)),
		Grades:       grades(file.child("grades")),
		Change:       r.change(file.child("change")),
		Availability: optional(file, "availability", chain),
		Sessions:     optional(file, "sessions", sessions),
		Depletion:    optional(file, "depletion", depletion),
		Respawn:      optional(file, "respawn", respawn),
		Categories:   r.kindsOfWork(file),
		Policies:     r.policies(file.child("policy")),
	}
	r.otherPools(file.child("pool"), s)
	r.outages(file.child("outage"), s)
	r.taught(file.child("lesson"), s)
	file.close()
	r.refuseNUL()
	return s
}

func grades(t *table) simulate.Grades {
	g := simulate.Grades{
		Noise:         simulate.Noise(get(t, "noise", string(simulate.Bernoulli), oneOf(string(simulate.Bernoulli), string(simulate.Graded)))),
		Concentration: get(t, "concentration", 8, amount(0.001, 1e6)),
		Missing:       get(t, "missing", 0, fraction()),
		Nothing:       get(t, "nothing", 0, fraction()),
	}
	t.close()
	return g
}

func (r *reader) change(t *table) simulate.Change {
	c := simulate.Change{
		Kind: simulate.ChangeKind(get(t, "kind", string(simulate.Still),
			oneOf(string(simulate.Still), string(simulate.Permute), string(simulate.Walk), string(simulate.Cycle)))),
		Every: get(t, "every", 500, whole(1, mostFires)),
		SD:    get(t, "sd", 0.01, fraction()),
		Low:   get(t, "low", 0.15, fraction()),
		High:  get(t, "high", 0.85, fraction()),
		Swing: get(t, "swing", 0.2, fraction()),
	}
	if c.Kind == simulate.Walk && c.Low >= c.High {
		r.reportAt(r.source.at[t.key], t.key, fmt.Errorf("low = %v is not below high = %v", c.Low, c.High), "write low = 0.15 and high = 0.85")
	}
	t.close()
	return c
}

// optional reads a table by its keys; nil: the file has none.
func optional[T any](file *table, name string, read func(*table) T) *T {
	t := file.child(name)
	if !file.has(name) {
		return nil
	}
	v := read(t)
	t.close()
	return &v
}

func chain(t *table) simulate.Chain {
	return simulate.Chain{Wake: get(t, "wake", 0.03, fraction()), Sleep: get(t, "sleep", 0.04, fraction())}
}

func sessions(t *table) simulate.Sessions {
	return simulate.Sessions{
		Median: get(t, "median", 2.5, amount(0, 1e6)),
		Sigma:  get(t, "sigma", 0.6, amount(0, 10)),
		Slots:  get(t, "slots", 0, whole(1, mostWorkers)),
		Lock:   get(t, "lock", true, truth()),
	}
}

func depletion(t *table) simulate.Depletion {
	return simulate.Depletion{Amount: get(t, "amount", 0.35, fraction()), HalfLife: get(t, "half_life", 6, amount(0.001, 1e6))}
}

func respawn(t *table) simulate.Respawn {
	return simulate.Respawn{From: get(t, "from", 0.65, fraction()), Most: get(t, "max_chain", 3, whole(1, mostWorkers))}
}

// otherPools reads the pools beside the default one, of which each category is to know its own.
func (r *reader) otherPools(t *table, s *simulate.Scenario) {
	for _, p := range r.inOrder(t) {
		s.Pools = append(s.Pools, simulate.Pool{
			Name: p.name, PerFire: get(p.table, "per_fire", 6, whole(1, mostWorkers)), Workers: get(p.table, "workers", 1, whole(1, mostWorkers)),
		})
		p.close()
	}
	others := 0
	for _, c := range s.Categories {
		if c.Pool == "" {
			continue
		}
		if slices.ContainsFunc(s.Pools, func(p simulate.Pool) bool { return p.Name == c.Pool }) {
			others++
		} else {
			r.report(under(dotted("category", string(c.Name)), "pool"), fmt.Errorf("there is no pool %q", c.Pool), fmt.Sprintf("write [pool.%s]", c.Pool))
		}
	}
	if others > 0 && others == len(s.Categories) {
		r.report("category", errors.New("none is of the default pool"), "leave out pool in one of them")
	}
}

func (r *reader) outages(t *table, s *simulate.Scenario) {
	for _, p := range r.inOrder(t) {
		o := simulate.Outage{
			Agent:   get(p.table, "agent", "", text()),
			Outcome: fleet.Outcome(get(p.table, "outcome", string(fleet.Unavailable), oneOf(string(fleet.Unavailable), string(fleet.Failed)))),
			Rest:    get(p.table, "rest", false, truth()),
		}
		o.First, o.Last, o.Category = r.span(p, s)
		if !slices.ContainsFunc(s.Categories, func(c simulate.Category) bool { return o.Agent == "" || o.Agent == c.Agent }) {
			r.report(under(p.key, "agent"), fmt.Errorf("no category has agent %q", o.Agent), fmt.Sprintf("write agent = %q at one", o.Agent))
		}
		s.Outages = append(s.Outages, o)
		p.close()
	}
}

func (r *reader) taught(t *table, s *simulate.Scenario) {
	for _, p := range r.inOrder(t) {
		l := simulate.Lesson{
			Name: p.name, Effect: get(p.table, "effect", 0.1, amount(-1, 1)), Withhold: get(p.table, "withhold", 0.2, fraction()),
		}
		l.First, l.Last, l.Category = r.span(p, s)
		s.Lessons = append(s.Lessons, l)
		p.close()
	}
}

// span are the fires, and the category, that something is limited to.
func (r *reader) span(p named, s *simulate.Scenario) (first, last int, only fleet.Category) {
	first = get(p.table, "first", 1, whole(1, mostFires))
	last = get(p.table, "last", mostFires, whole(1, mostFires))
	only = fleet.Category(get(p.table, "category", "", text()))
	if last < first {
		r.report(under(p.key, "last"), fmt.Errorf("%d is before first = %d", last, first), fmt.Sprintf("write last = %d", first))
	}
	if only != "" && !slices.ContainsFunc(s.Categories, func(c simulate.Category) bool { return c.Name == only }) {
		r.report(under(p.key, "category"), fmt.Errorf("there is no category %q", only), "name one, or leave it out")
	}
	return first, last, only
}

// named is one of a table's children.
type named struct {
	*table
	name string
}

// inOrder are the children of a table as they stand in the file.
func (r *reader) inOrder(t *table) (list []named) {
	for name, child := range t.children() {
		list = append(list, named{child, name})
	}
	slices.SortFunc(list, func(a, b named) int { return cmp.Compare(r.source.at[a.key], r.source.at[b.key]) })
	return list
}

// kindsOfWork are the categories in the order of the file. Those without a share get
// equal parts of what the others leave, as in a configuration.
func (r *reader) kindsOfWork(file *table) []simulate.Category {
	var (
		list    []simulate.Category
		rest    = 1.0
		without []int
	)
	tables := r.inOrder(file.child("category"))
	if len(tables) > mostCategories {
		r.report("category", fmt.Errorf("want at most %d, not %d", mostCategories, len(tables)), "remove some")
	}
	for _, t := range tables {
		if _, err := fleet.ParseCategory(t.name); err != nil {
			r.report(t.key, err, "rename it, as in [category.code]")
		}
		c := simulate.Category{
			Name: fleet.Category(t.name), Mean: get(t.table, "mean", 0, fraction()), Share: get(t.table, "share", 0, fraction()),
			Supply: supply(t.table), Pool: get(t.table, "pool", "", text()), Agent: get(t.table, "agent", "", text()),
			ByHand: get(t.table, "by_hand", 0, whole(0, mostFires)),
			Witness: simulate.Witness(get(t.table, "witness", string(simulate.Grader),
				oneOf(string(simulate.Grader), string(simulate.NoWitness), string(simulate.Changes), string(simulate.Trust)))),
		}
		if t.has("report") {
			c.Report = new(get(t.table, "report", 1, fraction()))
		}
		if !t.has("mean") {
			t.missing("mean", "write mean = 0.5")
		}
		if t.has("share") {
			rest -= c.Share
		} else {
			without = append(without, len(list))
		}
		t.close()
		list = append(list, c)
	}
	for _, i := range without {
		list[i].Share = max(0, rest) / float64(len(without))
	}
	if len(list) == 0 {
		file.missing("category", "write [category.code] and below it mean = 0.5")
	}
	return list
}

// supply is nil when the category always has work.
func supply(t *table) *simulate.Chain {
	c := &simulate.Chain{
		Wake:  get(t, "supply_wake", 0.02, fraction()),
		Sleep: get(t, "supply_sleep", 0.05, fraction()),
	}
	if !t.has("supply_wake") && !t.has("supply_sleep") {
		return nil
	}
	return c
}

func (r *reader) policies(t *table) []simulate.Policy {
	var list []simulate.Policy
	for _, p := range r.inOrder(t) {
		list = append(list, r.policy(p.table, p.name))
	}
	return list
}

// policy is one that there is, or a new one on the base of one that there is, with some
// of its constants replaced.
func (r *reader) policy(t *table, name string) simulate.Policy {
	known := simulate.Policies()
	names := mapped(known, func(p simulate.Policy) string { return p.Name })
	base := name
	if !slices.Contains(names, name) {
		if !isPlainName(name) {
			r.report(t.key,
				errors.New("a policy's name is 1 to 32 of a-z, A-Z, 0-9, _ and -, not starting with _ or -"),
				"rename it, as in [policy.mine]")
		}
		base = get(t, "base", "", oneOf(names...))
		if !t.has("base") {
			t.missing("base", `write base = "stint", or name one of: `+simulate.Names(known))
		}
	}
	p := simulate.Policy{Kind: simulate.Random}
	if i := slices.Index(names, base); i >= 0 {
		p = known[i]
	} else {
		t.known = slices.Collect(maps.Keys(t.entries)) // of an unknown base nothing can be said
	}
	p.Name = name
	switch p.Kind {
	case simulate.Ranked:
		settings(t, &p)
	case simulate.Additive, simulate.DiscountedTS, simulate.DiscountedUCB:
		p.Gamma = get(t, "gamma", p.Gamma, amount(0.001, 1))
	case simulate.SlidingTS:
		p.Window = get(t, "window", p.Window, whole(1, mostFires))
	case simulate.Known, simulate.UCB1, simulate.Random, simulate.RoundRobin:
	}
	if p.Kind.IsIndex() {
		if p.Fair = get(t, "fairness", p.Fair, truth()); p.Fair {
			floorAndCap(t, &p.Settings)
		}
	}
	t.close()
	return p
}

func settings(t *table, p *simulate.Policy) {
	s := p.Settings
	if get(t, "core", false, truth()) {
		s = s.Core()
	}
	if !get(t, "fairness", true, truth()) {
		s = s.Unfair()
	}
	floorAndCap(t, &s)
	s.HalfLife = get(t, "half_life", s.HalfLife, orNever(amount(0.001, 1e9)))
	s.SlowHalfLife = get(t, "slow_half_life", s.SlowHalfLife, orNever(amount(0.001, 1e9)))
	s.Alarm = get(t, "alarm", s.Alarm, orNever(amount(0.001, 1e9)))
	s.Depletion = get(t, "depletion", s.Depletion, truth())
	s.Season = get(t, "season", s.Season, truth())
	s.Anchor = get(t, "anchor", s.Anchor, truth())
	s.Dispersion = get(t, "dispersion", s.Dispersion, truth())
	p.Settings = s
}

// floorAndCap are the bounds of the accounts, and what a debt weighs.
func floorAndCap(t *table, s *bandit.Settings) {
	s.V = get(t, "v", s.V, amount(0.001, 1e9))
	s.Floor = get(t, "floor", s.Floor, fraction())
	s.Cap = get(t, "cap", s.Cap, orNever(amount(1, 1e9)))
}

// amount is a number from low to high, which nan is not.
func amount(low, high float64) rule[float64] {
	return rule[float64]{literal(low), func(value any) (float64, error) {
		f, ok := value.(float64)
		if n, isWhole := value.(int64); isWhole {
			f, ok = float64(n), true
		}
		if inside := f >= low && f <= high; !ok || !inside {
			return 0, wanted(fmt.Sprintf("a number from %v to %v", low, high), value)
		}
		return f, nil
	}}
}

// orNever is a number, or 0 or inf for what never happens.
func orNever(r rule[float64]) rule[float64] {
	return rule[float64]{r.example, func(value any) (float64, error) {
		if f, ok := value.(float64); value == any(int64(0)) || ok && (f == 0 || math.IsInf(f, 1)) {
			return 0, nil
		}
		f, err := r.parse(value)
		if err != nil {
			err = fmt.Errorf("%w, or 0 or inf for never", err)
		}
		return f, err
	}}
}
