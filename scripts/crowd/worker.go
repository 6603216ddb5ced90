package main

import (
	"time"

	claims "stint/internal/claim"
	"stint/internal/fleet"
)

const (
	// insistence and closing are how often, and how long, a worker tries to record its end:
	// "insist" and closingTime in package engine.
	insistence = time.Second
	closing    = 20 * time.Second
)

// runBegins marks the run as begun, as BeginRun in store/sqlite, and reads what it is
// about.
func (w *world) runBegins(id int32) {
	r := &w.runs[id]
	w.ask(w.Costs.Write, 2*w.Costs.Read, runBegun, id, r.turn)
}

func (w *world) runBegun(e event) {
	if e.refused {
		w.giveUp(e.who)
		return
	}
	w.try(e.who)
}

// giveUp ends a run whose way was blocked by the store. No end is on record; the next
// fire of the host closes it.
func (w *world) giveUp(id int32) {
	w.GivenUp++
	w.unlock(id)
	w.depart(id)
	w.vacate(id)
}

// try works one category, as try in package engine: a lane first, then a look. From taken
// lanes, and when there is nothing to do, it goes on only after a denial.
func (w *world) try(id int32) {
	r := &w.runs[id]
	for {
		p := w.place(r.host, r.category)
		if int(p.locked) < w.Lanes {
			p.locked++
			r.laned = true
			if r.denied {
				r.pivots++
				w.Pivots++
			}
			w.ask(w.Costs.Write, w.Costs.Read+w.lookCost(), runSees, id, r.turn)
			return
		}
		if !r.denied {
			w.Busy++
			w.end(id)
			return
		}
		if !w.advance(r) {
			w.RunsDenied++
			w.end(id)
			return
		}
	}
}

// advance goes to the next category of the fire's ranking, as work in package engine. Only
// one with a free lane counts as a pivot.
func (w *world) advance(r *run) bool {
	for ; r.next < len(r.plan); r.next++ {
		if c := r.plan[r.next]; c != r.planned {
			r.next++
			p := w.place(r.host, r.category)
			p.open--
			r.category = c
			w.place(r.host, c).open++
			return true
		}
	}
	return false
}

// onward leaves a category after a denial, or after nothing was found, for the next one,
// if there is one and it may still try.
func (w *world) onward(id int32) {
	r := &w.runs[id]
	w.unlock(id)
	if r.pivots == w.MaxPivots || !w.advance(r) {
		w.RunsDenied++
		w.end(id)
		return
	}
	w.try(id)
}

// unlock gives the run's lane back.
func (w *world) unlock(id int32) {
	if r := &w.runs[id]; r.laned {
		r.laned = false
		w.place(r.host, r.category).locked--
	}
}

// depart takes the run out of what its host's fires count.
func (w *world) depart(id int32) {
	r := &w.runs[id]
	w.place(r.host, r.category).open--
	w.hosts[r.host].running--
}

// end ends a run without a session.
func (w *world) end(id int32) {
	w.ask(w.Costs.Write, 0, runEnded, id, w.runs[id].turn)
}

func (w *world) runEnded(e event) {
	w.depart(e.who)
	w.vacate(e.who)
}

// runSees picks a task on what the store holds at this moment, as pick in package
// engine, and takes it. Asking whether sessions live costs the store nothing.
func (w *world) runSees(e event) {
	r := &w.runs[e.who]
	if e.refused {
		w.giveUp(e.who)
		return
	}
	r.sees = w.backlog[r.category].best(r.shun, func(id int32) bool { return w.free(r.host, id) })
	r.known = known{}
	switch {
	case r.sees != nobody:
		r.turnSeen = w.tasks[r.sees].turn
		w.ask(w.Costs.Write, 0, runTook, e.who, r.turn)
	case r.denied:
		w.onward(e.who)
	default:
		w.idle(e.who)
	}
}

// idle ends a run that found nothing to do. Its category backs off.
func (w *world) idle(id int32) {
	r := &w.runs[id]
	w.Idle++
	w.arms[r.category].Sleep(fleet.Round(w.fire), at(w.now))
	w.unlock(id)
	w.ask(2*w.Costs.Write, 0, runEnded, id, r.turn)
}

// runTook learns whether the claim was granted. Where a session is in the way the run asks
// whether that lives and tries once more with the answer, as TakeForRun in package claim.
func (w *world) runTook(e event) {
	r := &w.runs[e.who]
	if e.refused {
		w.giveUp(e.who)
		return
	}
	t := &w.tasks[r.sees]
	if t.turn != r.turnSeen || t.settled {
		// It was done since it was seen. The claim of what is done is free: a session begins, and
		// finds nothing to do.
		w.Stale++
		w.unlock(e.who)
		w.ask(4*w.Costs.Write, 0, runEnded, e.who, r.turn)
		return
	}
	before := t.claim
	if t.take(e.who, e.begin+w.hosts[r.host].skew, w.TTL, r.known) {
		w.granted(e.who, before)
		return
	}
	found := known{t.epoch, w.liveness(r.host, &t.claim)}
	if found.session != fleet.Lives && found != r.known {
		r.known = found
		w.ask(w.Costs.Write, 0, runTook, e.who, r.turn)
		return
	}
	w.Denials++
	r.denied = true
	r.shun = append(r.shun, t.family)
	w.ask(2*w.Costs.Write, 0, runNoted, e.who, r.turn)
}

// runNoted goes on when the denial is on record and the lane given back.
func (w *world) runNoted(e event) {
	if e.refused {
		w.giveUp(e.who)
		return
	}
	w.onward(e.who)
}

// granted begins the session. It is here that two must never meet.
func (w *world) granted(id int32, before claim) {
	r := &w.runs[id]
	t := &w.tasks[r.sees]
	b := &w.backlog[t.category]
	b.withdraw(r.sees)
	b.settle(r.sees)
	if before.epoch > 0 && !before.released {
		w.takenOver(r.host, before)
	} else {
		w.claims++
	}
	if t.sessions > 0 {
		w.DoubleHolders++
	}
	if t.orphans > 0 {
		w.BesideOrphans++
	}
	t.sessions++
	w.Grants++
	w.toClaim.add(w.now - r.began)
	w.hour().grants++
	w.waited(t)
	t.worked = true
	r.task, r.epoch, r.lives, r.supervised = r.sees, t.epoch, true, true
	r.renews, r.ends, r.beat = w.now, w.now+w.length(), w.now+claims.Beat(w.TTL)
	if r.dies = never; w.chance.Float64() < w.Orphans {
		r.dies = w.now + w.uniform(r.ends-w.now)
	}
	if w.doubtful {
		b.dispute(r.task)
	}
	w.sleep(id)
}

const never = time.Duration(1<<63 - 1)

// takenOver counts how a claim that was not given back was taken.
func (w *world) takenOver(h int32, before claim) {
	if w.runs[before.holder].host == h {
		w.TakenByProof++
	} else {
		w.TakenByExpiry++
	}
}

// sleep waits for whatever comes first in a session.
func (w *world) sleep(id int32) {
	r := &w.runs[id]
	w.foresee(min(r.ends, r.beat, r.dies), runWakes, id, r.turn)
}

func (w *world) runWakes(id int32) {
	r := &w.runs[id]
	switch {
	case w.now == r.dies:
		w.orphan(id)
	case w.now == r.ends:
		w.complete(id)
	case w.now-r.renews >= claims.Lease(w.TTL):
		w.lose(id)
	default:
		w.ask(w.Costs.Write, 0, runRenewed, id, r.turn)
	}
}

// runRenewed is a beat of [claim.Keeper]: a renewal that failed is tried again, one that
// came too late, or failed for a whole lease, loses the claim.
func (w *world) runRenewed(e event) {
	r := &w.runs[e.who]
	t := &w.tasks[r.task]
	b := &w.backlog[t.category]
	w.Renewals++
	switch {
	case w.now-r.renews >= claims.Lease(w.TTL):
		w.lose(e.who)
		return
	case !e.refused && t.renew(e.who, r.epoch, e.begin+w.hosts[r.host].skew, w.TTL):
		r.renews, r.beat = w.now, w.now+claims.Beat(w.TTL)
		if !w.doubtful {
			b.settle(r.task)
		}
	case !e.refused:
		w.lose(e.who)
		return
	default:
		b.disputeHeld(r.task, e.who)
		r.beat = min(w.now+claims.Retry(w.TTL, w.chance.Float64()), r.renews+claims.Lease(w.TTL))
	}
	if r.ends <= w.now { // while the renewal was under way
		r.ends = w.now
	}
	r.dies = max(r.dies, w.now)
	w.sleep(e.who)
}

// lose ends a session that has lost its claim.
func (w *world) lose(id int32) {
	r := &w.runs[id]
	w.Lost++
	w.leave(r)
	w.finish(id)
}

// complete records the end of a session, as Complete, ReleaseHolder and LaneReleased do.
func (w *world) complete(id int32) {
	r := &w.runs[id]
	if r.tries == 0 {
		r.ends = w.now
	}
	r.tries++
	w.ask(3*w.Costs.Write, 0, runCompleted, id, r.turn)
}

func (w *world) runCompleted(e event) {
	id := e.who
	r := &w.runs[id]
	t := &w.tasks[r.task]
	switch {
	case e.refused && w.now-r.ends < closing:
		w.foresee(w.now+insistence, runRetries, id, r.turn)
		return
	case e.refused:
		w.Unrecorded++
		w.unlock(id)
		w.depart(id)
		w.leave(r)
		w.backlog[t.category].disputeHeld(r.task, id)
		w.lay(id)
		return
	case !t.held(id, r.epoch, e.begin+w.hosts[r.host].skew):
		w.lose(id)
		return
	}
	w.Completed++
	w.arms[r.category] = awake(w.arms[r.category])
	w.leave(r)
	w.finish(id)
}

// lay puts a run among the crashed ones of its host, until a fire finds it.
func (w *world) lay(id int32) {
	r := &w.runs[id]
	r.turn++
	if !r.laid {
		r.laid = true
		w.hosts[r.host].dead = append(w.hosts[r.host].dead, id)
	}
}

// finish gives everything back.
func (w *world) finish(id int32) {
	r := &w.runs[id]
	t := &w.tasks[r.task]
	won := w.runs[id].epoch == t.epoch
	if t.release(id) {
		w.reopen(r.task, won && w.chance.Float64() < w.Done)
	}
	w.place(r.host, r.category).rests = w.now + w.Cooldown
	w.unlock(id)
	w.depart(id)
	w.vacate(id)
}

// orphan takes the supervisor from a session. The agent works on, in its lane, and
// renews nothing.
func (w *world) orphan(id int32) {
	r := &w.runs[id]
	t := &w.tasks[r.task]
	w.Orphaned++
	t.sessions--
	t.orphans++
	r.supervised = false
	w.backlog[t.category].disputeHeld(r.task, id)
	w.foresee(max(w.now, r.ends), orphanEnds, id, r.turn)
}

// orphanEnds leaves the claim to a worker that can prove that the session is gone.
func (w *world) orphanEnds(id int32) {
	r := &w.runs[id]
	w.unlock(id)
	w.depart(id)
	w.leave(r)
	w.lay(id)
}
