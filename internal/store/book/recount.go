package book

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
)

// Discrepancies recomputes the figures that the store keeps beside its record, and returns the differences: stored
// states of the ranking, rows of runs against events, budgets of days, epochs of claims, and gaps in the record. It
// cannot notice a store whose record was rewritten as well. The trials of lessons are not recomputed.
func Discrepancies(l store.Ledger) []fleet.Discrepancy {
	r := &recount{Ledger: l, there: map[fleet.RunID]bool{}}
	for _, e := range l.Runs {
		r.there[e.ID] = true
	}
	for _, missing := range l.Missing {
		r.add(fleet.OffRecord, missing, "its row", "missing", "one")
	}
	r.fires()
	r.ranking()
	r.runs()
	r.budgets()
	r.claims()
	return r.list
}

type recount struct {
	store.Ledger
	there map[fleet.RunID]bool // runs
	list  []fleet.Discrepancy
}

func (r *recount) add(kind fleet.DiscrepancyKind, subject, figure, stored, recorded string) {
	r.list = append(r.list, fleet.Discrepancy{Kind: kind, Subject: subject, Figure: figure, Stored: stored, Recorded: recorded})
}

// fires finds missing fires, since their numbers have no gap, and missing runs that they started.
func (r *recount) fires() {
	next := fleet.FireID(1)
	for _, f := range append(slices.Clone(r.Fires), fleet.Fire{ID: r.LastFire + 1}) {
		if f.ID > next {
			r.add(fleet.OffRecord, "fires", fmt.Sprintf("number %d to %d", next, f.ID-1), "missing", "one each")
		}
		next = max(next, f.ID+1)
		for _, c := range f.Choices {
			if c.Run != "" && !r.there[c.Run] {
				r.add(fleet.OffRecord, fmt.Sprintf("run %s of fire %d", c.Run, f.ID), "its row", "missing", "one")
			}
		}
	}
}

// ranking reports where stored states differ from the events.
func (r *recount) ranking() {
	for _, d := range r.Recount.Off {
		switch first, _, _ := strings.Cut(d.Figure, "."); first {
		case "at", "fast", "slow", "slope", "seasons", "lately", "shift", "graded", "alarms", "up", "down", "kept":
			r.add(fleet.MismatchBelief, string(d.Category), d.Figure, d.Stored, d.Counted)
		case "events", "state":
			r.add(fleet.OffRecord, "the ranking", d.Figure, d.Stored, d.Counted)
		default:
			r.add(fleet.OffAccount, string(d.Category), d.Figure, d.Stored, d.Counted)
		}
	}
}

// runs compares the rows of runs with the events.
func (r *recount) runs() {
	for _, e := range r.Runs {
		subject := "run " + string(e.ID)
		if has := e.First != nil && !e.Held; has != (e.Counted > 0) {
			r.add(fleet.OffRecord, subject, "its grade", graded(has), graded(!has))
			continue
		}
		s, base := r.Recount.Sessions[e.ID], r.Recount.Base.Arm(e.Category)
		switch {
		case s != nil:
			r.run(subject, e.Recounted, *s)
		case e.Nth > base.Sessions || e.Counted > base.Graded:
			r.add(fleet.OffRecord, subject, "its events", "missing", "some")
		}
	}
	for _, id := range slices.Sorted(maps.Keys(r.Recount.Sessions)) {
		if !r.there[id] {
			r.add(fleet.OffRecord, "run "+string(id), "its row", "missing", "one")
		}
	}
}

// run compares the row of a run with its events.
func (r *recount) run(subject string, row, events rank.Recounted) {
	compare := func(figure, stored, recorded string) {
		if stored != recorded {
			r.add(fleet.OffRecord, subject, figure, stored, recorded)
		}
	}
	compare("category", string(row.Category), string(events.Category))
	compare("round", strconv.Itoa(int(row.Round)), strconv.Itoa(int(events.Round)))
	compare("load", exact(row.Load), exact(events.Load))
	if row.Counted > 0 && events.First != nil { // otherwise its grade is older than the base
		compare("place among the grades", strconv.Itoa(row.Counted), strconv.Itoa(events.Counted))
		compare("grade", exact(*row.First), exact(*events.First))
		compare("final grade", exact(*row.Final), exact(*events.Final))
	}
}

func graded(is bool) string {
	if is {
		return "there"
	}
	return "none that counted"
}

// compare notes a figure that differs by more than another order of addition explains.
func (r *recount) compare(kind fleet.DiscrepancyKind, subject, figure string, stored, recorded float64) {
	const most = 1e-6
	if math.Abs(stored-recorded) > most*max(1, math.Abs(stored), math.Abs(recorded)) {
		r.add(kind, subject, figure, number(stored), number(recorded))
	}
}

func exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func number(x float64) string { return strconv.FormatFloat(x, 'g', 7, 64) }

// budgets recomputes the use of each day.
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
		subject, is, comes := fmt.Sprintf("%s on %s", at.scope, at.day), stored[at], recorded[at]
		r.compare(fleet.OffBudget, subject, "runs", float64(is.Runs), float64(comes.Runs))
		r.compare(fleet.OffBudget, subject, "tokens", float64(is.Tokens), float64(comes.Tokens))
		r.compare(fleet.OffBudget, subject, "usd", is.USD, comes.USD)
	}
}

// claims compares the claims of runs with the epochs at which they were granted.
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
