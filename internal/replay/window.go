package replay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/selector"
)

// Record is what happened in a stretch of time.
type Record struct {
	Fires []fleet.Fire // oldest first
	Runs  []fleet.Run  // those that the fires started; others do no harm
}

// Window is what other settings would have changed in it.
type Window struct {
	Fires      int      // that were ranked again
	Foreign    int      // that followed another selector's payload: these settings had no say
	Unreadable int      // whose inputs were recorded in another format
	Changed    []Change // fires that would have started others, oldest first
	Categories []Picks  // by name
	Estimate
	// Uncovered is the part of the sessions under the other settings, in [0,1], that
	// the fires had no chance to start: nothing is known of their worth.
	Uncovered float64
}

// shownUncovered is the least part of the sessions worth a warning.
const shownUncovered = 0.01

// Warnings say why not to trust the estimate.
func (w Window) Warnings() (list []string) {
	if w.Effective < few {
		list = append(list, fmt.Sprintf("the estimate rests on %.1f effective sessions: too few to go by", w.Effective))
	}
	if w.Clipped > 0 {
		list = append(list, fmt.Sprintf("%d weights were clipped at %.1f: the estimate is drawn towards the logged mean", w.Clipped, w.Clip))
	}
	if w.Uncovered >= shownUncovered {
		list = append(list, fmt.Sprintf("%.0f%% of the sessions under these settings had no chance in the record: the estimate is of the others", 100*w.Uncovered))
	}
	return list
}

// Change is a fire that would have started others.
type Change struct {
	Fire  fleet.FireID
	At    time.Time
	Then  []fleet.Category // best first
	Now   []fleet.Category
	Start []fleet.Category // now and not then
	Leave []fleet.Category // then and not now
}

// Picks counts the fires that picked a category.
type Picks struct {
	Category  fleet.Category
	Then, Now int
}

// NewWindow ranks the record's fires again, with the seeds and the redraws that they
// were fired with, under other settings. Beliefs, loads, sessions in flight and the categories
// that could be started stay as they were recorded; debts are carried on from the first fire as
// the other settings and picks would have had them.
func NewWindow(r Record, c Changes, redraws int) Window {
	t := tally{redraws: redraws, grades: grades(r.Runs), ledger: ledger{}, picks: map[fleet.Category]*Picks{}}
	for _, f := range r.Fires {
		t.add(f, c)
	}
	w := t.window
	w.Estimate = NewEstimate(t.sessions)
	if t.mass > 0 {
		w.Uncovered = t.uncovered / t.mass
	}
	for _, p := range t.picks {
		w.Categories = append(w.Categories, *p)
	}
	slices.SortFunc(w.Categories, func(a, b Picks) int { return cmp.Compare(a.Category, b.Category) })
	return w
}

func grades(runs []fleet.Run) map[fleet.RunID]float64 {
	list := map[fleet.RunID]float64{}
	for _, r := range runs {
		if r.Verdict.Grade != nil {
			list[r.ID] = *r.Verdict.Grade
		}
	}
	return list
}

// tally goes through the fires.
type tally struct {
	window          Window
	redraws         int
	grades          map[fleet.RunID]float64
	ledger          ledger
	picks           map[fleet.Category]*Picks
	sessions        []Session
	mass, uncovered float64 // sessions to expect under the other settings
}

func (t *tally) add(f fleet.Fire, c Changes) {
	recorded, err := Read(f)
	if err != nil {
		t.window.Unreadable++
		clear(t.ledger) // what it entitled to is not known: the accounts start anew
		return
	}
	in := recorded
	in.Candidates = slices.Clone(recorded.Candidates)
	for _, change := range c.apply {
		change(&in)
	}
	t.ledger.carry(&in)
	s := selector.Rank(in)
	then := started(f)
	now := then
	if f.Own {
		now = best(s)
		t.compare(f, then, now)
		t.weigh(f, s.Odds(t.redraws))
	} else {
		t.window.Foreign++
	}
	t.ledger.note(recorded, s, then, now)
}

// started are the categories that a fire decided to start, best first.
func started(f fleet.Fire) (list []fleet.Category) {
	for _, c := range f.Choices {
		if wanted(c) {
			list = append(list, c.Category)
		}
	}
	return list
}

// best are the categories that a ranking would start, best first.
func best(s selector.Selection) (list []fleet.Category) {
	for _, c := range s.Ranked() {
		if c.Picked {
			list = append(list, c.Category)
		}
	}
	return list
}

func (t *tally) compare(f fleet.Fire, then, now []fleet.Category) {
	t.window.Fires++
	for _, c := range then {
		t.of(c).Then++
	}
	for _, c := range now {
		t.of(c).Now++
	}
	change := Change{Fire: f.ID, At: f.At, Then: then, Now: now, Start: without(now, then), Leave: without(then, now)}
	if len(change.Start)+len(change.Leave) > 0 {
		t.window.Changed = append(t.window.Changed, change)
	}
}

func (t *tally) of(c fleet.Category) *Picks {
	if t.picks[c] == nil {
		t.picks[c] = &Picks{Category: c}
	}
	return t.picks[c]
}

func without(list, others []fleet.Category) []fleet.Category {
	return slices.DeleteFunc(slices.Clone(list), func(c fleet.Category) bool { return slices.Contains(others, c) })
}

// weigh takes up a fire's graded sessions with their odds then and now. A session is
// that of the category for which it was started, wherever its worker went from there.
func (t *tally) weigh(f fleet.Fire, now map[fleet.Category]float64) {
	logged := map[fleet.Category]float64{}
	for _, c := range f.Choices {
		if c.Odds == nil {
			continue
		}
		logged[c.Category] = *c.Odds
		if grade, ok := t.grades[c.Run]; ok {
			t.sessions = append(t.sessions, t.session(grade, *c.Odds, now[c.Category]))
		}
	}
	for _, c := range slices.Sorted(maps.Keys(now)) { // the order must not decide the last bit
		t.mass += now[c]
		if logged[c] == 0 {
			t.uncovered += now[c]
		}
	}
}

// session counts one redraw more of each when none of the fire's redraws started what
// the fire itself did.
func (t *tally) session(grade, logged, now float64) Session {
	if logged == 0 {
		one := 1 / float64(t.redraws)
		logged, now = logged+one, now+one
	}
	return Session{Grade: grade, Logged: logged, Other: now}
}
