package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/rank"
)

// Options say what of the past a report is about.
type Options struct {
	From, To time.Time
	Step     time.Duration // in which the tallies were counted apart
	Settings rank.Settings
	Beliefs  map[fleet.Category]rank.Beta // at the end of that time, as the ranking has them
	Before   map[fleet.Category]rank.Beta // at its beginning; a category that it lacks had no grade on record
	Runs     []fleet.Run                  // the latest, of which lanes are drawn
	Fires    []fleet.Fire                 // the latest
	AllRuns  bool                         // Runs are all that there were in that time
	Tasks    []fleet.Task                 // as they are now, with what is remembered of them
	Reviewed []Reviewed                   // the latest first
}

// Reviewed is a decision about the work of a run.
type Reviewed struct {
	Run      fleet.RunID
	Category fleet.Category
	Task     fleet.TaskID
	Decision fleet.ReviewDecision // landed or rejected
	By       string               // a user's name, forge or git
	At       time.Time
	As       string // the target's commit that has landed work; empty: nobody knows
	Reason   string // of a rejection
}

// Report says what a fleet did in a span of time, and what it came to.
type Report struct {
	Options
	First      time.Time // when the first run was created, to a step where there were too many to read; zero: there is none
	Audit      Audit
	All        Use
	Categories []CategoryUse // those of the audit, with what is believed of them
	Agents     []AgentUse    // by name
	Pairs      []PairUse     // by category, then by agent
	Merged     []MergedWork  // of the runs at hand, by category, then by agent
	Steps      []Step        // that had runs, in order of time
	Lanes      []Lane        // by category, then by number
	Respawns   int           // runs that followed a good one
	Findings   []Finding     // what deserves attention, worst first
}

// Use sums up runs.
type Use struct {
	Runs     int // open ones included
	Ended    int
	Empty    int // of these, see [fleet.Verdict.Empty]
	Spawned  int // started by fires
	Sessions int // that had a claim
	Outcomes map[fleet.Outcome]int
	Graded   int
	Grades   float64 // their sum
	Tokens   int64   // as far as they are known
	USD      float64
	Guessed  float64 // of USD: computed from prices, or assumed
	Worked   time.Duration
}

// add counts a tally in. It is called for each that there is.
func (u *Use) add(t fleet.Tally) {
	if u.Outcomes == nil {
		u.Outcomes = map[fleet.Outcome]int{}
	}
	u.Runs += t.Runs
	if t.Outcome != "" {
		u.Ended += t.Runs
		u.Empty += t.Empty
		u.Outcomes[t.Outcome] += t.Runs
	}
	if t.Fired {
		u.Spawned += t.Runs
	}
	if t.Claimed {
		u.Sessions += t.Runs
	}
	u.Graded += t.Graded
	u.Grades += t.Grades
	u.Tokens += t.Tokens
	u.USD += t.USD
	u.Guessed += t.Guessed
	u.Worked += t.Worked
}

// uses are sums by some key.
type uses[K comparable] map[K]*Use

func (m uses[K]) of(key K) *Use {
	u, found := m[key]
	if !found {
		u = &Use{}
		m[key] = u
	}
	return u
}

// Mean is that of the grades; 0 without any.
func (u Use) Mean() float64 { return ratio(u.Grades, float64(u.Graded)) }

// Posterior is the distribution of the mean that the grades are drawn around: that of a
// uniform prior, with a grade g as g of a success and 1-g of a failure. Grades in [0,1]
// vary by no more than such trials do (Bhatia and Davis, "A Better Bound on the Variance",
// Amer. Math. Monthly 107, 2000), so that it is rather too wide than too narrow.
func (u Use) Posterior() rank.Beta {
	return rank.Beta{A: 1 + max(0, u.Grades), B: 1 + max(0, float64(u.Graded)-u.Grades)}
}

// Estimate is a mean grade, and the interval that holds it with a probability of 95 %. The
// zero value is none.
type Estimate struct{ Mean, Low, High float64 }

// Alone estimates from the grades by themselves; zero without any.
func (u Use) Alone() Estimate {
	if u.Graded == 0 {
		return Estimate{}
	}
	low, high := u.Posterior().Credible()
	return Estimate{u.Mean(), low, high}
}

// NoopRate is the part of the ended runs that were empty, in [0,1].
func (u Use) NoopRate() float64 { return ratio(float64(u.Empty), float64(u.Ended)) }

// Productive counts the runs that did work.
func (u Use) Productive() int { return u.Outcomes[fleet.Productive] }

// USDPerProductive returns the cost of all runs for each productive one; 0 without one.
func (u Use) USDPerProductive() float64 {
	return ratio(u.USD, float64(u.Productive()))
}

func ratio(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole
}

// CategoryUse compares what a category got with what it was entitled to.
type CategoryUse struct {
	Category fleet.Category
	Use
	Part     float64  // of all sessions, in [0,1]
	Share    float64  // that it is to get where every category can start; 0: it is not in the configuration, or fires may not start it
	Entitled float64  // by the fires of that time, in sessions
	Target   float64  // of all sessions that there were, in [0,1]: what it was entitled to
	Believed Estimate // of its mean grade, by the ranking, at the end; zero: it is not in the configuration
	Was      *float64 // what was believed of it at the beginning; nil: it had no grade on record
	Judgement
}

// Judgement says whether a category got about what fires entitled it to, see
// [rank.Settings.Judge].
type Judgement = rank.Judgement

// Why says by how much a category got less, or more, than fires entitled it to.
func (c CategoryUse) Why() string {
	return fmt.Sprintf("%s is %s: %s, which is %s of all, where fires entitled it to %.1f",
		c.Category, c.Judgement, plain.Plural(c.Sessions, "session"), Percent(c.Part), c.Entitled)
}

// Ratio returns a category's sessions over those that it was entitled to.
func (c CategoryUse) Ratio() float64 { return ratio(float64(c.Sessions), c.Entitled) }

// AgentUse has the sessions of an agent.
type AgentUse struct {
	Agent string // empty: none was chosen
	Use
}

// PairUse has the sessions of an agent in a category.
type PairUse struct {
	Category fleet.Category
	Agent    string
	Use
}

// Step has the sessions that began in one step of a report.
type Step struct {
	From time.Time
	Use
	Categories []CategoryUse // that had runs, by name; without parts and shares
}

// New reports on a record, all of which is from the time of the options.
func New(r Record, o Options) Report {
	p := Report{Options: o, Audit: NewAudit(r, o.Settings)}
	p.All, p.Categories = p.Audit.All, slices.Clone(p.Audit.Categories)
	agents, pairs := uses[string]{}, uses[pair]{}
	for _, t := range r.Tallies {
		if t.Outcome == fleet.Unavailable && !t.Claimed {
			t.Agent = "" // it rested, and was not asked
		}
		agents.of(t.Agent).add(t)
		pairs.of(pair{t.Category, t.Agent}).add(t)
		if t.Source == fleet.FromRespawn {
			p.Respawns += t.Runs
		}
	}
	for i := range p.Categories {
		c := &p.Categories[i]
		if b, believed := p.Beliefs[c.Category]; believed {
			c.Believed.Mean = b.Mean()
			c.Believed.Low, c.Believed.High = b.Credible()
		}
		if b, graded := p.Before[c.Category]; graded {
			c.Was = new(b.Mean())
		}
	}
	p.Agents = plain.Each(slices.Sorted(maps.Keys(agents)), func(a string) AgentUse { return AgentUse{a, *agents[a]} })
	p.Pairs = plain.Each(slices.SortedFunc(maps.Keys(pairs), pair.compare), func(k pair) PairUse { return PairUse{k.category, k.agent, *pairs[k]} })
	p.Merged = mergedWork(o.Runs, o.From, o.To)
	p.Steps = steps(r.Tallies)
	p.First = p.first()
	p.Lanes = lanes(r.Holds.Kept, p)
	p.Findings = p.findings(r.GradeChanges)
	return p
}

func (p Report) first() time.Time {
	if len(p.Steps) == 0 {
		return time.Time{}
	}
	first := plain.Latest(p.Steps[0].From, p.From)
	if !p.AllRuns {
		return first
	}
	oldest := time.Time{}
	for _, r := range p.Runs {
		if !r.CreatedAt.Before(p.From) && (oldest.IsZero() || r.CreatedAt.Before(oldest)) {
			oldest = r.CreatedAt
		}
	}
	return plain.Latest(first, oldest)
}

type pair struct {
	category fleet.Category
	agent    string
}

func (p pair) compare(other pair) int {
	return cmp.Or(cmp.Compare(p.category, other.category), cmp.Compare(p.agent, other.agent))
}

// compare holds the categories against what they were entitled to.
func (a Audit) compare(got uses[fleet.Category], r Record, s rank.Settings) (list []CategoryUse) {
	for _, name := range slices.Sorted(maps.Keys(got)) {
		c := CategoryUse{Category: name, Use: *got[name], Share: r.Shares[name], Entitled: r.Entitled[name]}
		c.Part, c.Target = ratio(float64(c.Sessions), float64(a.All.Sessions)), ratio(c.Entitled, float64(a.All.Sessions))
		if c.Share > 0 && c.Entitled > 0 { // what no fire could start was for people to start
			c.Judgement = s.Judge(c.Sessions, c.Entitled)
		}
		list = append(list, c)
	}
	return list
}

// steps puts tallies together that are of one step. They come in that order.
func steps(tallies []fleet.Tally) (list []Step) {
	for _, t := range tallies {
		if len(list) == 0 || !list[len(list)-1].From.Equal(t.From) {
			list = append(list, Step{From: t.From})
		}
		s := &list[len(list)-1]
		s.add(t)
		at, found := slices.BinarySearchFunc(s.Categories, t.Category, func(c CategoryUse, name fleet.Category) int {
			return cmp.Compare(c.Category, name)
		})
		if !found {
			s.Categories = slices.Insert(s.Categories, at, CategoryUse{Category: t.Category})
		}
		s.Categories[at].add(t)
	}
	return list
}

// PerHour returns the sessions in an hour, from the first run on: the record may
// be younger than what was asked for. The first hour counts as a whole one.
func (p Report) PerHour() float64 { return p.per(time.Hour) }

// PerDay returns the sessions in a day. The first day counts as a whole one: one hour
// says nothing of a day.
func (p Report) PerDay() float64 { return p.per(24 * time.Hour) }

func (p Report) per(unit time.Duration) float64 {
	return ratio(float64(p.All.Sessions)*float64(unit), float64(max(unit, p.To.Sub(p.First))))
}

// NeglectedSpawned counts the runs of neglected categories that fires started.
func (p Report) NeglectedSpawned() (n int) {
	for _, c := range p.Categories {
		if c.Judgement == rank.Neglected {
			n += c.Spawned
		}
	}
	return n
}

// Average is the mean grade at a time, over the steps before it.
type Average struct {
	At time.Time
	Use
}

// averageSteps is over how many steps a mean goes: a tenth of what is usual.
const averageSteps = 6

// Averages returns the mean grade at the end of each step that has one.
func (p Report) Averages() (list []Average) {
	for i, s := range p.Steps {
		a := Average{At: s.From.Add(p.Step)}
		if a.At.After(p.To) {
			a.At = p.To
		}
		for j := i; j >= 0 && s.From.Sub(p.Steps[j].From) < averageSteps*p.Step; j-- {
			a.Graded += p.Steps[j].Graded
			a.Grades += p.Steps[j].Grades
		}
		if a.Graded > 0 {
			list = append(list, a)
		}
	}
	return list
}
