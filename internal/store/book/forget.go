package book

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"time"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/store"
)

// CutAt works out where the arms stood when the last of the runs ended that may be forgotten if what
// ended before a time is not kept. That is what a checkpoint is for: it takes the place of those before
// it, and whatever it covers may go. A category whose figures do not add up keeps its record.
//
// Fires stay, without what they were decided by, so that the moves of a category's clock are on record
// for ever: they are few, and small.
func CutAt(l store.Ledger, from time.Time) store.Cut {
	cut := store.Cut{Was: l.Edge.From, From: from, Fates: l.Fates, Bases: map[fleet.Category]store.Base{}}
	r := newRecount(l)
	r.fires()
	for c, points := range l.Checkpoints {
		if b, moved := r.base(c, points, from); moved {
			cut.Bases[c] = b
		}
	}
	return cut
}

// base is what takes the place of the first checkpoints of a category, if anything does.
func (r *recount) base(c fleet.Category, points []store.Checkpoint, from time.Time) (b store.Base, moved bool) {
	off := len(r.list)
	r.arm(c)
	if len(points) == 0 || len(r.list) > off {
		return store.Base{}, false
	}
	sessions, grades, moves := r.sessions[c], r.graded[c], r.moves[c]
	first := points[0].Arm
	is := first // the numbers that can be covered
	for _, e := range sessions {
		if ended(e, from) {
			is.Sessions, is.Round = e.Nth, e.Round
		}
	}
	for _, e := range grades {
		if ended(e, from) {
			is.Graded = e.Counted
		}
	}
	at := 0
	for i, p := range points {
		if p.Arm.Sessions <= is.Sessions && p.Arm.Graded <= is.Graded && p.Arm.Round <= max(is.Round, first.Round) {
			at = i
		}
	}
	was, fires := points[at], len(moves)
	if at+1 < len(points) { // not past the next, after which other settings hold, or grades were forgotten
		next := points[at+1].Arm
		is.Sessions, is.Graded, fires = min(is.Sessions, next.Sessions), min(is.Graded, next.Graded), next.Fires
		if alarmed(was.Arm, next) && is.Graded == next.Graded {
			is.Graded--
		}
	}
	is.Sessions, is.Graded, is.Round = max(is.Sessions, was.Arm.Sessions), max(is.Graded, was.Arm.Graded), was.Arm.Round
	h := bandit.History{Graded: learnt(part(grades, was.Arm.Graded-first.Graded, is.Graded-first.Graded))}
	for _, e := range part(sessions, was.Arm.Sessions-first.Sessions, is.Sessions-first.Sessions) {
		h.Debits, is.Round = append(h.Debits, e.Round), max(is.Round, e.Round)
	}
	h.Moves = plain.Kept(part(moves, was.Arm.Fires, fires), func(m bandit.Move) bool { return m.Round <= is.Round })
	b = store.Base{Was: points[:at+1], Checkpoint: store.Checkpoint{Settings: was.Settings, Arm: was.Settings.Recount(was.Arm, h)}}
	return b, at > 0 || !reflect.DeepEqual(b.Arm, was.Arm)
}

func ended(e store.Entry, before time.Time) bool { return !e.Open && e.Ended.Before(before) }

// SetEdge says where the record begins from now on.
func (p *Page) SetEdge(e store.Edge) { p.Edge, p.Edged = e, true }

// Cut puts the bases of a cut in the place of the checkpoints that they were worked out from. It
// reports false, and changes nothing, if these are others by now, or grades were corrected since.
func (p *Page) Cut(c store.Cut) bool {
	if p.Edge.From.Equal(whole(c.From)) {
		return true // the caller never heard of it
	}
	if !p.Edge.From.Equal(c.Was) || p.Fated != c.Fates || !c.From.After(c.Was) {
		return false
	}
	rows := map[fleet.Category][]Checkpoint{}
	for row := range p.Checkpoints.All() { // by category and number
		rows[row.Category] = append(rows[row.Category], row)
	}
	for category, b := range c.Bases {
		rows := rows[category]
		if len(rows) < len(b.Was) {
			return false
		}
		for i, was := range b.Was {
			if !reflect.DeepEqual(rows[i].Checkpoint, was) {
				return false
			}
		}
	}
	for category, b := range c.Bases {
		last := len(b.Was) - 1
		for _, row := range rows[category][:last] {
			p.Checkpoints.Delete(row)
		}
		row := rows[category][last]
		row.Checkpoint = b.Checkpoint
		p.Checkpoints.Put(row)
	}
	p.SetEdge(store.Edge{From: whole(c.From), Fire: p.Edge.Fire})
	return true
}

// Forget deletes the batch of old rows that is on the page, and returns how many runs and fires those
// were about. Nothing goes that the record does not begin after.
func (p *Page) Forget(before time.Time) (n int) {
	if before.After(p.Edge.From) {
		return 0
	}
	old := map[fleet.RunID]bool{}
	for _, id := range p.Old {
		old[id] = p.Runs.Delete(Run{Run: fleet.Run{ID: id}})
	}
	p.Holds.DeleteAll(func(h Hold) bool { return old[h.Run] })
	p.Uses.DeleteAll(func(u LessonUse) bool { return old[u.Run] })
	p.Fates.DeleteAll(func(f Fate) bool { return old[f.Run] })
	p.Changes.DeleteAll(func(c fleet.GradeChange) bool { return old[c.Run] })
	p.Denials.Delete(func(d fleet.DeniedClaim) bool { return old[d.Run] })
	last := p.Edge.Fire
	for {
		f, found := p.Fires.Get(Fire{Fire: fleet.Fire{ID: last + 1}})
		if !found || !f.At.Before(before) {
			break
		}
		last, f.Inputs, f.Selection = f.ID, nil, nil
		p.Fires.Put(f)
	}
	p.Choices.DeleteAll(func(c Choice) bool { return c.Fire <= last })
	p.Notices.DeleteAll(func(n Notice) bool { return n.At.Before(before) })
	n = len(p.Old) + int(last-p.Edge.Fire)
	if last > p.Edge.Fire {
		p.SetEdge(store.Edge{From: p.Edge.From, Fire: last})
	}
	return n
}

// MoveEdge has the record begin later. If we die after it, all that it no longer covers is still there,
// and counts for nothing: [Writer.Forget] goes on.
func (w Writer) MoveEdge(ctx context.Context, c store.Cut) (moved bool, err error) {
	return decided(ctx, w, Need{Edge: true}, func(p *Page) bool { return p.Cut(c) }, "move where the record begins")
}

// Forget deletes one batch of what the record does not begin with. All of it is one transaction: if we
// die between two, the figures add up all the same, and the next call goes on.
func (w Writer) Forget(ctx context.Context, before time.Time) (n int, err error) {
	return decided(ctx, w, Need{Forget: before}, func(p *Page) int { return p.Forget(before) }, "forget what is old")
}

// sorted are entries in the order of a number.
func sorted(list []store.Entry, by func(store.Entry) int) {
	slices.SortFunc(list, func(a, b store.Entry) int { return cmp.Compare(by(a), by(b)) })
}
