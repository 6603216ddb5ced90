package book

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/store"
)

// Discrepancies works out anew what the store keeps beside the record of what ran, and returns
// what does not add up: beliefs and accounts of categories from their last checkpoint on, each
// checkpoint from the one before, budgets of days, epochs of claims, and gaps in the record. It
// cannot see a store that was rewritten as a whole, record and all, nor what was before the edge of the
// record, if not all of it is kept. The change detector, the
// back-off and the trials of lessons are not worked out.
func Discrepancies(l store.Ledger) []fleet.Discrepancy {
	r := newRecount(l)
	for _, missing := range l.Missing {
		r.add(fleet.OffRecord, missing, "its row", "missing", "one")
	}
	r.fires()
	for _, c := range slices.Sorted(maps.Keys(r.categories())) {
		r.arm(c)
	}
	r.budgets()
	r.claims()
	return r.list
}

// newRecount sorts what is on record of runs by category. The first checkpoint of a category covers all
// that has lower numbers, whether it is on record still or not.
func newRecount(l store.Ledger) *recount {
	r := &recount{
		Ledger: l, sessions: map[fleet.Category][]store.Entry{}, graded: map[fleet.Category][]store.Entry{}, moves: map[fleet.Category][]bandit.Move{},
	}
	for _, e := range l.Runs {
		from := r.first(e.Category)
		if e.Nth > from.Sessions {
			r.sessions[e.Category] = append(r.sessions[e.Category], e)
		}
		switch has := e.Grade != nil && !e.Held; {
		case has != (e.Counted > 0):
			r.add(fleet.OffRecord, "run "+string(e.ID), "its grade", graded(has), graded(!has))
		case has && e.Counted > from.Graded:
			r.graded[e.Category] = append(r.graded[e.Category], e)
		}
	}
	return r
}

// first is a category's arm where its record begins. Without an edge that is before all that ran.
func (r *recount) first(c fleet.Category) bandit.Arm {
	if points := r.Checkpoints[c]; len(points) > 0 && !r.Edge.From.IsZero() {
		return points[0].Arm
	}
	return bandit.Arm{}
}

func graded(is bool) string {
	if is {
		return "there"
	}
	return "none that counted"
}

type recount struct {
	store.Ledger
	sessions, graded map[fleet.Category][]store.Entry
	moves            map[fleet.Category][]bandit.Move
	list             []fleet.Discrepancy
}

func (r *recount) add(kind fleet.DiscrepancyKind, subject, figure, stored, recorded string) {
	r.list = append(r.list, fleet.Discrepancy{Kind: kind, Subject: subject, Figure: figure, Stored: stored, Recorded: recorded})
}

// compare notes a figure that is off by more than sums in another order are.
func (r *recount) compare(kind fleet.DiscrepancyKind, subject, figure string, stored, recorded float64) {
	const most = 1e-6
	if math.Abs(stored-recorded) > most*max(1, math.Abs(stored), math.Abs(recorded)) {
		r.add(kind, subject, figure, number(stored), number(recorded))
	}
}

func exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func number(x float64) string { return strconv.FormatFloat(x, 'g', 7, 64) }

func (r *recount) categories() map[fleet.Category]bool {
	all := map[fleet.Category]bool{}
	for c := range r.Arms {
		all[c] = true
	}
	for c := range r.Checkpoints {
		all[c] = true
	}
	for c := range r.sessions {
		all[c] = true
	}
	return all
}

// fires looks for fires that are gone, as their numbers have no gap, and for what they moved.
func (r *recount) fires() {
	next := fleet.FireID(1)
	for _, f := range append(slices.Clone(r.Fires), store.Moves{Fire: r.LastFire + 1}) {
		if f.Fire > next {
			r.add(fleet.OffRecord, "fires", fmt.Sprintf("number %d to %d", next, f.Fire-1), "missing", "one each")
		}
		next = max(next, f.Fire+1)
		for c, round := range f.Rounds {
			due, entitled := f.Due[c]
			r.moves[c] = append(r.moves[c], bandit.Move{Round: round, Due: due, Entitled: entitled})
		}
	}
}

// arm works out one category.
func (r *recount) arm(c fleet.Category) {
	stored, subject := r.Arms[c], string(c)
	nth, counted := func(e store.Entry) int { return e.Nth }, func(e store.Entry) int { return e.Counted }
	sessions, grades := r.sessions[c], r.graded[c]
	sorted(sessions, nth)
	sorted(grades, counted)
	moves := r.moves[c]
	whole, first := true, r.first(c)
	alarms := slices.DeleteFunc(slices.Clone(r.Alarms[c]), func(at int) bool { return at <= first.Graded })
	for _, of := range []struct {
		kind    fleet.DiscrepancyKind
		figure  string
		stored  int
		after   int // numbers up to this one are covered
		numbers []int
	}{
		{fleet.OffAccount, "sessions", stored.Sessions, first.Sessions, plain.Each(sessions, nth)},
		{fleet.OffBelief, "graded", stored.Graded, first.Graded, plain.Each(grades, counted)},
		{fleet.OffAccount, "fires", stored.Fires, 0, span(0, len(moves))},
		{fleet.OffAccount, "round", int(stored.Round), 0, begun(moves)},
		{fleet.OffBelief, "alarms", stored.Alarms, first.Alarms, span(first.Alarms, first.Alarms+len(alarms))},
	} {
		if !slices.Equal(of.numbers, span(of.after, of.stored)) {
			whole = false
			r.add(of.kind, subject, of.figure, strconv.Itoa(of.stored), listed(of.numbers, of.after))
		}
	}
	if !whole {
		return // no sum of theirs can be right
	}
	var base store.Checkpoint
	for i, next := range append(slices.Clone(r.Checkpoints[c]), store.Checkpoint{Arm: stored}) {
		if i == 0 && !reflect.DeepEqual(first, bandit.Arm{}) { // there is nothing to work it out from
			base = next
			continue
		}
		was, is := base.Arm, next.Arm
		h := bandit.History{Graded: learnt(part(grades, was.Graded-first.Graded, is.Graded-first.Graded)), Moves: part(moves, was.Fires, is.Fires)}
		for _, e := range part(sessions, was.Sessions-first.Sessions, is.Sessions-first.Sessions) {
			h.Debits = append(h.Debits, e.Round)
		}
		if subject = string(c); i < len(r.Checkpoints[c]) {
			subject = fmt.Sprintf("%s at checkpoint %d", c, i+1)
		}
		r.sums(subject, is, base.Settings.Recount(was, h), alarmed(was, is))
		base = next
	}
}

// begun are the rounds that fires began.
func begun(moves []bandit.Move) (rounds []int) {
	var last fleet.Round
	for _, m := range moves {
		if m.Round != last {
			rounds = append(rounds, int(m.Round))
		}
		last = m.Round
	}
	return rounds
}

// span are the numbers after one and up to another.
func span(after, until int) (all []int) {
	for n := after + 1; n <= until; n++ {
		all = append(all, n)
	}
	return all
}

// listed says which numbers there are, of those after one.
func listed(all []int, after int) string {
	for i, n := range all {
		if n > after+i+1 {
			return fmt.Sprintf("%d, without number %d", after+len(all), after+i+1)
		}
		if n < after+i+1 {
			return fmt.Sprintf("%d, with number %d twice", after+len(all), n)
		}
	}
	return strconv.Itoa(after + len(all))
}

// part is what has the numbers after one and up to another, of what is numbered from 1.
func part[T any](list []T, after, until int) []T {
	until = max(0, min(until, len(list)))
	return list[min(max(0, after), until):until]
}

// sums compares what is kept of an arm with what it comes to. An alarm at the end of the time
// between has had all grades forgotten but a few.
func (r *recount) sums(subject string, stored, recorded bandit.Arm, alarm bool) {
	if alarm {
		recorded.Alarms, recorded.Fast, recorded.Slow, recorded.Shift = stored.Alarms, stored.Fast, stored.Slow, stored.Shift
	}
	got, want := figures(stored), figures(recorded)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		kind := fleet.OffAccount
		switch first, _, _ := strings.Cut(name, "."); first {
		case "up", "down", "noops", "noops_ever", "asleep_until":
			continue // which depend on more than is on record
		case "at", "fast", "slow", "slope", "season", "shift", "graded", "alarms":
			kind = fleet.OffBelief
		}
		if is, comes := got[name], want[name]; math.Float64bits(is) != math.Float64bits(comes) {
			r.add(kind, subject, name, exact(is), exact(comes))
		}
	}
}

// figures are the numbers of an arm, by the names that they have in JSON.
func figures(a bandit.Arm) map[string]float64 {
	text, err := json.Marshal(a)
	if err != nil {
		return nil // an infinite sum, which no record gives
	}
	var object map[string]any
	_ = json.Unmarshal(text, &object) // it was just made
	list := map[string]float64{}
	for name, v := range object {
		switch v := v.(type) {
		case float64:
			list[name] = v
		case map[string]any:
			for below, v := range v {
				if x, ok := v.(float64); ok {
					list[name+"."+below] = x
				}
			}
		}
	}
	return list
}

// budgets works out what was used in each day.
func (r *recount) budgets() {
	type account struct {
		day   string
		scope fleet.Scope
	}
	recorded, stored := map[account]fleet.Spent{}, map[account]fleet.Spent{}
	add := func(to map[account]fleet.Spent, day string, s fleet.Spent, sign int) {
		sum := to[account{day, s.Scope}]
		sum.Runs += sign * s.Runs
		sum.Tokens += int64(sign) * s.Tokens
		sum.USD += float64(float64(sign) * s.USD)
		to[account{day, s.Scope}] = sum
	}
	for _, e := range r.Runs {
		for _, scope := range []fleet.Scope{fleet.FleetScope, fleet.AgentScope(e.Agent), fleet.CategoryScope(e.Category)} {
			if e.Day != "" {
				add(recorded, e.Day, fleet.Spent{Scope: scope, Runs: 1, Tokens: e.Tokens, USD: e.USD}, 1)
			}
		}
	}
	for _, s := range r.Resets {
		add(recorded, s.Day, s.Spent, -1)
	}
	for _, s := range r.Spent {
		add(stored, s.Day, s.Spent, 1)
		add(recorded, s.Day, fleet.Spent{Scope: s.Scope}, 1)
	}
	order := func(a, b account) int { return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.scope, b.scope)) }
	for _, at := range slices.SortedFunc(maps.Keys(recorded), order) {
		if !r.Edge.From.IsZero() && at.day <= r.Edge.From.UTC().Format(time.DateOnly) {
			continue // runs of that day may be gone
		}
		subject, is, comes := fmt.Sprintf("%s on %s", at.scope, at.day), stored[at], recorded[at]
		r.compare(fleet.OffBudget, subject, "runs", float64(is.Runs), float64(comes.Runs))
		r.compare(fleet.OffBudget, subject, "tokens", float64(is.Tokens), float64(comes.Tokens))
		r.compare(fleet.OffBudget, subject, "usd", is.USD, comes.USD)
	}
}

// claims holds the claims of runs against the epochs at which they were granted.
func (r *recount) claims() {
	type grant struct {
		key   fleet.Key
		epoch fleet.Epoch
	}
	granted := map[grant]fleet.RunID{}
	for _, e := range r.Runs {
		if e.Key == "" {
			continue
		}
		c, key := r.Claims[e.Key], fmt.Sprintf("%q", e.Key)
		if other, twice := granted[grant{e.Key, e.Epoch}]; twice {
			r.add(fleet.OffEpoch, key, fmt.Sprintf("epoch %d", e.Epoch), "of run "+string(e.ID), "run "+string(other))
		}
		granted[grant{e.Key, e.Epoch}] = e.ID
		switch own := e.ID.Holder(); {
		case c.Epoch < e.Epoch:
			r.add(fleet.OffEpoch, key, "epoch", strconv.Itoa(int(c.Epoch)), fmt.Sprintf("%d, granted to run %s", e.Epoch, e.ID))
		case c.Epoch == e.Epoch && c.Holder != own:
			r.add(fleet.OffEpoch, key, fmt.Sprintf("holder at epoch %d", c.Epoch), string(c.Holder), string(own))
		case e.Open && c.Epoch > e.Epoch:
			r.add(fleet.OffEpoch, key, "epoch", fmt.Sprintf("%d, of %s", c.Epoch, c.Holder), fmt.Sprintf("%d of run %s, which lives", e.Epoch, e.ID))
			r.list[len(r.list)-1].Run = e.ID
		case e.Open && !c.ReleasedAt.IsZero():
			r.add(fleet.OffEpoch, key, "claim", "given back", fmt.Sprintf("that of run %s, which lives", e.ID))
			r.list[len(r.list)-1].Run = e.ID
		}
	}
}
