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
		Availability: chain(file, "availability"),
		Sessions:     sessions(file),
		Depletion:    depletion(file),
		Categories:   r.kindsOfWork(file),
		Policies:     r.policies(file.child("policy")),
	}
	file.close()
	r.refuseNUL()
	return s
}

func grades(t *table) simulate.Grades {
	g := simulate.Grades{
		Noise:         simulate.Noise(get(t, "noise", string(simulate.Bernoulli), oneOf(string(simulate.Bernoulli), string(simulate.Graded)))),
		Concentration: get(t, "concentration", 8, amount(0.001, 1e6)),
		Missing:       get(t, "missing", 0, fraction()),
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

// chain is nil when the file has no such table.
func chain(file *table, name string) *simulate.Chain {
	t, given := file.child(name), file.has(name)
	c := &simulate.Chain{
		Wake:  get(t, "wake", 0.03, fraction()),
		Sleep: get(t, "sleep", 0.04, fraction()),
	}
	t.close()
	if !given {
		return nil
	}
	return c
}

func sessions(file *table) *simulate.Sessions {
	t, given := file.child("sessions"), file.has("sessions")
	s := &simulate.Sessions{
		Median: get(t, "median", 2.5, amount(0, 1e6)),
		Sigma:  get(t, "sigma", 0.6, amount(0, 10)),
		Slots:  get(t, "slots", 0, whole(1, mostWorkers)),
		Lock:   get(t, "lock", true, truth()),
	}
	t.close()
	if !given {
		return nil
	}
	return s
}

func depletion(file *table) *simulate.Depletion {
	t, given := file.child("depletion"), file.has("depletion")
	d := &simulate.Depletion{
		Amount:   get(t, "amount", 0.35, fraction()),
		HalfLife: get(t, "half_life", 6, amount(0.001, 1e6)),
	}
	t.close()
	if !given {
		return nil
	}
	return d
}

// kindsOfWork are the categories in the order of the file. Those without a share get
// equal parts of what the others leave, as in a configuration.
func (r *reader) kindsOfWork(file *table) []simulate.Category {
	var (
		list    []simulate.Category
		rest    = 1.0
		without []int
	)
	tables := file.child("category").children()
	if len(tables) > mostCategories {
		r.report("category", fmt.Errorf("want at most %d, not %d", mostCategories, len(tables)), "remove some")
	}
	at := func(name string) int { return r.source.at[dotted("category", name)] }
	for _, name := range slices.SortedFunc(maps.Keys(tables), func(a, b string) int { return cmp.Compare(at(a), at(b)) }) {
		t := tables[name]
		if _, err := fleet.ParseCategory(name); err != nil {
			r.report(t.key, err, "rename it, as in [category.code]")
		}
		c := simulate.Category{
			Name: fleet.Category(name), Mean: get(t, "mean", 0, fraction()), Share: get(t, "share", 0, fraction()),
			Supply: supply(t),
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
	for name, p := range t.children() {
		list = append(list, r.policy(p, name))
	}
	slices.SortFunc(list, func(a, b simulate.Policy) int {
		return cmp.Compare(r.source.at[dotted("policy", a.Name)], r.source.at[dotted("policy", b.Name)])
	})
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
	case simulate.Additive, simulate.DiscountedTS:
		p.Gamma = get(t, "gamma", p.Gamma, amount(0.001, 1))
	case simulate.EpsilonGreedy:
		p.Epsilon = get(t, "epsilon", p.Epsilon, fraction())
	case simulate.UCB1, simulate.Random, simulate.RoundRobin:
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
	s.V = get(t, "v", s.V, amount(0.001, 1e9))
	s.Floor = get(t, "floor", s.Floor, fraction())
	s.Cap = get(t, "cap", s.Cap, orNever(amount(1, 1e9)))
	s.HalfLife = get(t, "half_life", s.HalfLife, orNever(amount(0.001, 1e9)))
	s.SlowHalfLife = get(t, "slow_half_life", s.SlowHalfLife, orNever(amount(0.001, 1e9)))
	s.Alarm = get(t, "alarm", s.Alarm, orNever(amount(0.001, 1e9)))
	s.Depletion = get(t, "depletion", s.Depletion, truth())
	s.Season = get(t, "season", s.Season, truth())
	s.Anchor = get(t, "anchor", s.Anchor, truth())
	s.Dispersion = get(t, "dispersion", s.Dispersion, truth())
	p.Settings = s
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
