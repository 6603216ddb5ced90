package main

import (
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/plan"
	"stint/internal/selector"
)

// launch is what systemd takes to start a worker's unit, and stint to open the store.
const launch = 20 * time.Millisecond

// fireDue begins a fire, as Fanout in package engine: it sweeps up, looks, decides,
// records and starts. A timer does not start what still runs.
func (w *world) fireDue(h int32) {
	host := &w.hosts[h]
	if host.down {
		return
	}
	w.foresee(w.now.Truncate(w.Every)+w.Every+w.uniform(w.Spread), fireDue, h, host.life)
	if host.firing {
		w.FiresLate++
		return
	}
	host.firing = true
	w.ask(0, w.Costs.Sweep+w.Costs.Snapshot+time.Duration(w.claims)*(w.Costs.SweepClaim+w.Costs.SnapshotClaim), fireSwept, h, host.life)
}

// fireSwept closes the runs of the host that are proven gone, as Reap in package engine,
// and looks.
func (w *world) fireSwept(e event) {
	h := e.who
	if e.refused {
		w.hosts[h].firing = false
		w.FiresFailed++
		return
	}
	dead := w.hosts[h].dead
	for _, id := range dead {
		w.abandon(id)
	}
	w.hosts[h].dead = dead[:0]
	writes := time.Duration(len(dead)) * w.Costs.Write
	w.ask(writes, w.lookCost(), fireSees, h, w.hosts[h].life)
}

// lookCost is what a snapshot takes.
func (w *world) lookCost() time.Duration {
	return w.Costs.Snapshot + time.Duration(w.claims)*w.Costs.SnapshotClaim
}

// abandon gives back what a dead run has left, as Abandon in store/sqlite.
func (w *world) abandon(id int32) {
	r := &w.runs[id]
	if w.tasks[r.task].release(id) {
		w.Reaped++
		w.reopen(r.task, false)
	}
	w.vacate(id)
}

// fireSees decides on what the store holds at this moment.
func (w *world) fireSees(e event) {
	h := e.who
	host := &w.hosts[h]
	if e.refused {
		host.firing = false
		w.FiresFailed++
		return
	}
	host.plan = w.decide(h)
	w.ask(w.Costs.Fire+time.Duration(len(host.plan))*w.Costs.FireRun, 0, fireRecorded, h, host.life)
}

// decide ranks the categories that the host could start, and returns those that it does
// start, in order: [plan.Decide] keeps the limits.
func (w *world) decide(h int32) []int16 {
	var in plan.Input
	for c := range int16(w.Categories) {
		if w.available(h, c) {
			in.Request.Categories = append(in.Request.Categories, selector.Named{Category: string(w.names[c]), Source: fleet.FromScores})
			in.Allowed = append(in.Allowed, w.names[c])
		}
	}
	names := in.Request.Categories
	w.chance.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	in.Known, in.Workers, in.Free = in.Allowed, w.Workers, max(0, w.Workers-w.hosts[h].running)
	var started []int16
	for _, c := range plan.Decide(in).Choices {
		if c.Decision == fleet.Spawn {
			started = append(started, w.number[c.Category])
		}
	}
	return started
}

// available is what Assess in package selector asks of a category with tasks.
func (w *world) available(h int32, c int16) bool {
	p, b := w.place(h, c), &w.backlog[c]
	switch {
	case int(p.open) >= w.Lanes, w.now < p.rests:
		return false
	case len(b.open) == 0 && !slices.ContainsFunc(b.disputed, func(id int32) bool { return w.free(h, id) }):
		return false
	}
	return !w.arms[c].Asleep(fleet.Round(w.fire)+1, at(b.news))
}

func (w *world) fireRecorded(e event) {
	h := e.who
	host := &w.hosts[h]
	host.firing = false
	if e.refused {
		w.FiresFailed++
		return
	}
	w.fire++
	w.Fires++
	for _, c := range host.plan {
		id := w.newRun(h, c, host.plan)
		host.running++
		w.place(h, c).open++
		w.Runs++
		w.foresee(w.now+launch+w.uniform(launch), runBegins, id, w.runs[id].turn)
	}
}
