package rank

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"stint/internal/fleet"
)

// Kind names the kind of an event.
type Kind string

const (
	Fired     Kind = "fired"     // a fire moved the clocks of its pool's categories, and entitled them
	Began     Kind = "began"     // a session was granted its claim: the debit
	Used      Kind = "used"      // a session that was granted its claim ended, whatever came of it
	Ended     Kind = "ended"     // a session's first grade counts: at its end, or when its failure is held no longer
	Corrected Kind = "corrected" // a session's work became something that gives it another grade
	Empty     Kind = "empty"     // a session did nothing
	Fruitless Kind = "vain"      // stint could not run a session at its task
	Slept     Kind = "slept"     // a fire had seen work, and its session found none
	Woken     Kind = "woken"     // a task changed, or a person resumed a category, or all of them
)

// Event is one thing that a ranking depends on. Events are numbered in the order in which they were written.
type Event struct {
	Seq      int            `json:"-"` // from 1
	Kind     Kind           `json:"kind"`
	At       time.Time      `json:"at"`
	Category fleet.Category `json:"category,omitempty"`
	Run      fleet.RunID    `json:"run,omitempty"`
	Task     fleet.TaskID   `json:"task,omitempty"`
	Agent    string         `json:"agent,omitempty"` // Used, Ended, Corrected: that worked
	Last     bool           `json:"last,omitempty"`  // no other task is left
	Grade    float64        `json:"grade,omitempty"` // Ended: the first; Corrected: the one that counts from now on
	Was      float64        `json:"was,omitempty"`   // Corrected: the one that counted until now
	Mark     Mark           `json:"mark,omitzero"`   // Ended, Corrected: from the run's row

	// Of a fire.
	Host   string                     `json:"host,omitempty"` // empty: it begins a round each time
	Moves  []fleet.Category           `json:"moves,omitempty"`
	Due    map[fleet.Category]float64 `json:"due,omitempty"` // sessions that it entitles categories to
	Floor  float64                    `json:"floor,omitempty"`
	Cap    float64                    `json:"cap,omitempty"`
	Budget Amounts                    `json:"budget,omitzero"`
	Pool   string                     `json:"pool,omitempty"`
	Full   bool                       `json:"full,omitempty"`  // the slots alone kept it from starting one session more
	Extra  bool                       `json:"extra,omitempty"` // between those of a timer: it takes part in the current round

	// Of what was used.
	Use     Amounts `json:"use,omitzero"`      // below 0: nobody knows
	Assumed bool    `json:"assumed,omitempty"` // the cost is: it counts for the budget alone
}

// Mark has the facts of a session's earlier events that a later one needs. The session's row keeps it.
type Mark struct {
	Round   fleet.Round `json:"round,omitempty"`   // of its category when it began
	Load    float64     `json:"load,omitempty"`    // of its category before it
	Turn    Turn        `json:"turn,omitzero"`     // when it began
	Nth     int         `json:"-"`                 // which of its category's sessions it is, from 1
	Counted int         `json:"counted,omitempty"` // which of its category's grades it brought, from 1; 0: none yet

	// If its grade raised the alarm: the mean grade as it was believed before, and after. Else both are 0.
	Was, Became float64 `json:"-"`
}

// State has the sum of the events up to Seq. It is a cache: the fold from no state gives the same bits.
type State struct {
	Seq      int                                       `json:"-"`
	Settings Settings                                  `json:"settings"` // floor and cap are those of the last fire
	Arms     map[fleet.Category]*Arm                   `json:"arms"`
	Rounds   map[string]map[fleet.Category]fleet.Round `json:"rounds,omitempty"` // in which each host last fired
	Pairs    map[fleet.Category]Pairs                  `json:"pairs,omitempty"`
	Prices   Prices                                    `json:"prices"`
}

// Clone is the same state, of which no part is shared.
func (st *State) Clone() *State {
	c := *st
	c.Arms, c.Rounds, c.Prices = map[fleet.Category]*Arm{}, maps.Clone(st.Rounds), st.Prices.clone()
	c.Pairs = maps.Clone(st.Pairs)
	for name, a := range st.Arms {
		c.Arms[name] = new(*a)
	}
	for host, rounds := range c.Rounds {
		c.Rounds[host] = maps.Clone(rounds)
	}
	return &c
}

// Fold takes the next event into the state, and returns what the session's row is to keep. No sum is
// brought forward but by an event. So the state is the same to the last bit however often it was stored in between.
func (st *State) Fold(e Event) (m Mark) {
	st.Seq = e.Seq
	m = e.Mark
	switch a := st.arm(e.Category); e.Kind {
	case Fired:
		st.fire(e)
	case Began:
		m = Mark{Round: a.Round, Load: a.Debit(a.Round), Nth: a.Sessions}
	case Used:
		p := st.Pairs[e.Category][e.Agent]
		st.Prices.Ended(e.At, a, &p, e.Use, e.Assumed)
		st.pair(e, p)
	case Ended:
		p := st.prior()
		was := st.Settings.Belief(a, p).Mean()
		if st.Settings.Learn(a, p, Graded{Round: m.Round, Turn: m.Turn, Load: m.Load, Grade: e.Grade}) {
			m.Was, m.Became = was, st.Settings.Belief(a, st.prior()).Mean()
			st.forgetPairs(e.Category)
		} else {
			st.pair(e, st.Settings.LearnPair(st.Pairs[e.Category][e.Agent], a.Round, m, e.Grade))
		}
		m.Counted = a.Graded
	case Corrected:
		st.Settings.Revise(a, m, e.Was, e.Grade)
		if m.Counted > a.Kept.Last {
			st.pair(e, st.Settings.RevisePair(st.Pairs[e.Category][e.Agent], a.Round, m, e.Was, e.Grade))
		}
	case Empty, Fruitless:
		if e.Kind == Empty {
			a.NoopsEver++
		}
		a.Vain(e.Task, e.Last, a.Round, e.At)
	case Slept:
		a.Sleep(a.Round, e.At)
	case Woken:
		for c, a := range st.Arms {
			if e.Task != "" && a.VainAt == e.Task || e.Task == "" && (e.Category == "" || e.Category == c) {
				a.Wake()
			}
		}
	}
	return m
}

// pair keeps what is known of the event's agent in its category.
func (st *State) pair(e Event, p Pair) {
	if e.Agent == "" {
		return
	}
	if st.Pairs == nil {
		st.Pairs = map[fleet.Category]Pairs{}
	}
	st.Pairs[e.Category] = st.Pairs[e.Category].with(e.Agent, p)
}

// forgetPairs has the grades of a category's agents begin anew: those from before a change say little of them.
func (st *State) forgetPairs(c fleet.Category) {
	pairs := maps.Clone(st.Pairs[c])
	for agent, p := range pairs {
		pairs[agent] = Pair{Use: p.Use}
	}
	if pairs != nil {
		st.Pairs[c] = pairs
	}
}

// fire counts a fire of a host for the categories that it moves.
func (st *State) fire(e Event) {
	st.Settings.Floor, st.Settings.Cap = e.Floor, e.Cap
	st.Prices.Fired(e.At, e.Budget, e.Pool, e.Full)
	for _, c := range e.Moves {
		a := st.arm(c)
		due, entitled := e.Due[c]
		round := a.Round
		if !e.Extra {
			round = st.Coming(c, e.Host).Round
		}
		a.Move(st.Settings, Move{Round: round, Due: due, Entitled: entitled})
		if e.Host == "" || e.Extra {
			continue
		}
		if st.Rounds == nil {
			st.Rounds = map[string]map[fleet.Category]fleet.Round{}
		}
		if st.Rounds[e.Host] == nil {
			st.Rounds[e.Host] = map[fleet.Category]fleet.Round{}
		}
		st.Rounds[e.Host][c] = a.Round
	}
}

// Coming is a category in the round of the next fire of a host, if that counts. A host without an id begins a
// round with every fire.
func (st *State) Coming(c fleet.Category, host string) (a Arm) {
	if known := st.Arms[c]; known != nil {
		a = *known
	}
	if host == "" {
		return a.Coming(a.Round)
	}
	return a.Coming(st.Rounds[host][c])
}

// Arm returns the state of a category, which need not have run.
func (st *State) Arm(c fleet.Category) Arm {
	if a := st.Arms[c]; a != nil {
		return *a
	}
	return Arm{}
}

func (st *State) arm(c fleet.Category) *Arm {
	if c == "" {
		return nil
	}
	if st.Arms == nil {
		st.Arms = map[fleet.Category]*Arm{}
	}
	if st.Arms[c] == nil {
		st.Arms[c] = &Arm{}
	}
	return st.Arms[c]
}

// Beliefs are those about the mean grades of all categories that have one.
func (st *State) Beliefs() map[fleet.Category]Beta {
	list, prior := map[fleet.Category]Beta{}, st.prior()
	for c, a := range st.Arms {
		if a.Graded > 0 {
			list[c] = st.Settings.Belief(a, prior)
		}
	}
	return list
}

// prior is that of all arms, in their order: the order of a sum decides its last bit.
func (st *State) prior() Prior {
	var list []*Arm
	for _, c := range slices.Sorted(maps.Keys(st.Arms)) {
		list = append(list, st.Arms[c])
	}
	return st.Settings.Prior(list)
}

// Difference is a figure of a category that is not what the events come to.
type Difference struct {
	Category        fleet.Category
	Figure          string // as JSON names it, with dots between
	Stored, Counted string // as JSON writes them; empty: there is none
}

// Differs compares a stored state with the fold, to the last bit.
func (st *State) Differs(fold *State) (list []Difference) {
	all := maps.Clone(st.Arms)
	maps.Copy(all, fold.Arms)
	differ := func(c fleet.Category, stored, counted any) {
		was, _ := json.Marshal(stored) //nolint:errchkjson // it came from JSON, or from sums within their range
		is, _ := json.Marshal(counted) //nolint:errchkjson // the same
		for _, d := range Compare(was, is) {
			d.Category = c
			list = append(list, d)
		}
	}
	for _, c := range slices.Sorted(maps.Keys(all)) {
		differ(c, st.Arm(c), fold.Arm(c))
	}
	differ("", st.Prices, fold.Prices)
	differ("", st.Pairs, fold.Pairs)
	return list
}

// Compare lists the values in which two texts of JSON differ, in the order of their names.
func Compare(stored, counted []byte) (list []Difference) {
	was, is := figures(stored), figures(counted)
	names := maps.Clone(was)
	maps.Copy(names, is)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if was[name] != is[name] {
			list = append(list, Difference{Figure: name, Stored: was[name], Counted: is[name]})
		}
	}
	return list
}

// figures returns the values that a text of JSON holds, by their names, as they are written: that tells any two numbers apart.
func figures(text []byte) map[string]string {
	list := map[string]string{}
	var add func(name string, v any)
	add = func(name string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for below, v := range v {
				add(name+below+".", v)
			}
		case []any:
			for i, v := range v {
				add(name+strconv.Itoa(i)+".", v)
			}
		default:
			text, _ := json.Marshal(v) // it was decoded from JSON
			list[strings.TrimSuffix(name, ".")] = string(text)
		}
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var object any
	_ = d.Decode(&object) // what is no JSON holds null
	add("", object)
	return list
}

// Pane is the grades that the last alarm kept.
type Pane struct {
	First int         `json:"first"` // which of the category's grades; 0: there was no alarm
	Last  int         `json:"last"`
	Scale float64     `json:"scale"` // the weight of each then
	Round fleet.Round `json:"round"`
}

// weights are those with which a grade stands in the fast and the slow sums. After an alarm they do not go by its age.
func (s Settings) weights(e Evidence, m Mark) (fast, slow float64) {
	switch p := e.Kept; {
	case m.Counted > p.Last:
		age := float64(e.At - m.Round)
		return fade(age, s.HalfLife), fade(age, s.SlowHalfLife)
	case m.Counted < p.First:
		return 0, 0
	default:
		age := float64(e.At - p.Round)
		return float64(p.Scale * fade(age, s.HalfLife)), float64(p.Scale * fade(age, s.SlowHalfLife))
	}
}

// Revise has a session that was learnt from count with another grade. The change detector goes by what sessions
// do now, and hears nothing of it; only the grades that it has gathered are corrected.
func (s Settings) Revise(a *Arm, m Mark, was, is float64) {
	if m.Counted == 0 {
		return
	}
	e := s.forward(a.Evidence, a.Round)
	fast, slow := s.weights(e, m)
	by := fade(float64(e.At-m.Round), s.SlowHalfLife)
	e.Fast.revise(fast, was, is)
	e.Slow.revise(slow, was, is)
	e.Shift += float64(fast * (is - was))
	e.Slope.revise(by, m.Load, 0, is-was)
	for i, turn := range m.Turn {
		x, y := waves(turn)
		e.Seasons[i].revise(by, x, y, is-was)
	}
	for _, d := range []*Drift{&e.Up, &e.Down} {
		if d.From > 0 && m.Counted >= d.From {
			d.Since.revise(1, was, is)
			d.Shift += is - was
		}
	}
	a.Evidence = e
}

func (s *Sums) revise(weight, was, is float64) {
	s.S += float64(weight * (is - was))
	s.G2 += float64(weight * (float64(is*is) - float64(was*was)))
}
