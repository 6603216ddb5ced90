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
	"stint/internal/store/table"
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

// Cut puts the bases of a cut in the place of the checkpoints that they were worked out from. It
// reports false, and changes nothing, if these are others by now, or grades were corrected since.
func (p Tx) Cut(c store.Cut) bool {
	p.Ahead(p.Believed.Ask("belief", 1), p.Checkpoints.Ask())
	row := p.fleet()
	if row.Edge.From.Equal(table.Whole(c.From)) {
		return true // the caller never heard of it
	}
	if !row.Edge.From.Equal(c.Was) || len(p.Believed.Where("belief", 1)) != c.Fates || !c.From.After(c.Was) {
		return false
	}
	rows := map[fleet.Category][]table.Checkpoint{}
	for _, row := range p.Checkpoints.Where() { // by category and number
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
	row.Edge.From = table.Whole(c.From)
	p.Fleet.Put(row)
	return true
}

// Forget deletes one batch of old rows, and returns how many runs and fires those were about. Nothing goes that the
// record does not begin after.
func (p Tx) Forget(before time.Time) (n int) {
	p.Ahead(p.Old.Ask(table.Forgettable(before)), p.Fired.Ask(oldFires()))
	row := p.fleet()
	if before.After(row.Edge.From) {
		return 0
	}
	runs := plain.Each(p.Old.Where(table.Forgettable(before)), func(r table.Run) fleet.RunID { return r.ID })
	first := row.Edge.Fire
	for _, f := range p.Fired.Where(oldFires()) {
		if f.ID != row.Edge.Fire+1 || !f.At.Before(before) {
			break
		}
		row.Edge.Fire = f.ID
	}
	p.Tx.Forget(runs, first, row.Edge.Fire, before)
	if row.Edge.Fire > first {
		p.Fleet.Put(row)
	}
	return len(runs) + int(row.Edge.Fire-first)
}

// oldFires bounds fires by one batch of those that still have all that was theirs.
func oldFires() table.Only {
	return table.Only{SQL: "id > (select kept_fire from fleet) order by id limit 100"}
}

// MoveEdge has the record begin later. If we die after it, all that it no longer covers is still there,
// and counts for nothing: [Writer.Forget] goes on.
func (w Writer) MoveEdge(ctx context.Context, c store.Cut) (moved bool, err error) {
	return decided(ctx, w, func(p Tx) bool { return p.Cut(c) }, "move where the record begins")
}

// Forget deletes one batch of what the record does not begin with. All of it is one transaction: if we
// die between two, the figures add up all the same, and the next call goes on.
func (w Writer) Forget(ctx context.Context, before time.Time) (n int, err error) {
	return decided(ctx, w, func(p Tx) int { return p.Forget(before) }, "forget what is old")
}

// sorted are entries in the order of a number.
func sorted(list []store.Entry, by func(store.Entry) int) {
	slices.SortFunc(list, func(a, b store.Entry) int { return cmp.Compare(by(a), by(b)) })
}
