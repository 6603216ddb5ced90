package main

import (
	"time"

	"stint/internal/bandit"
)

// awake is a category's back-off after a session that did something.
func awake(b bandit.Backoff) bandit.Backoff {
	b.Wake()
	return b
}

// Counts are what happened in all. Each grant ends in one way, or goes on when the time is
// over.
type Counts struct {
	Tasks int // that came

	Fires       int
	FiresFailed int // the store kept them waiting for too long
	FiresLate   int // the one before was still under way
	Runs        int // workers started
	Busy        int // that found every lane taken
	Idle        int // that found nothing to do
	RunsDenied  int // that were denied every claim they tried
	GivenUp     int // that could not get at the store

	Denials       int
	Pivots        int
	Grants        int
	DoubleHolders int // grants while another session believed the claim its own: must be 0
	BesideOrphans int // grants while a session without supervisor still worked
	Stale         int // takes of tasks that were done since they were seen
	Renewals      int // and tries
	Refused       int // transactions that waited for too long

	TakenByProof  int // claims of sessions proven gone, by their own host
	TakenByExpiry int // by another host
	Reaped        int // claims given back by a fire that found their sessions gone

	Completed  int
	Lost       int // sessions whose claim was gone before they were done
	Died       int // with their host
	Orphaned   int // sessions that lost their supervisor
	Unrecorded int // whose end the store would not take

	HostDeaths int
}

// span is what happened within an hour.
type span struct {
	busy     time.Duration
	denials  int
	grants   int
	sessions int // under way at its end
}

// tally is what the report is made of.
type tally struct {
	Counts
	toClaim histogram
	toWork  histogram // from when a task could be worked on to when it was
	hours   []span
	sampled time.Duration
	lastUse time.Duration
	lastDen int
	held    float64 // claims, summed up over seconds
	stood   time.Duration
}

func (w *world) hour() *span {
	i := int(w.now / time.Hour)
	for len(w.hours) <= i {
		w.hours = append(w.hours, span{})
	}
	return &w.hours[i]
}

// sample notes what changes continually.
func (w *world) sample() {
	w.held += float64(w.claims) * (w.now - w.stood).Seconds()
	w.stood = w.now
	for w.sampled+time.Hour <= w.now {
		i := int(w.sampled / time.Hour)
		for len(w.hours) <= i {
			w.hours = append(w.hours, span{})
		}
		use := w.store.busy - max(0, w.store.free-w.now) // what was begun and lies ahead is not work yet
		w.hours[i].busy, w.hours[i].denials, w.hours[i].sessions = use-w.lastUse, w.Denials-w.lastDen, w.claims
		w.lastUse, w.lastDen = use, w.Denials
		w.sampled += time.Hour
	}
}

func (w *world) waited(t *task) { w.toWork.add(w.now - t.ready) }

// Quantiles are of a duration.
type Quantiles struct{ Mean, P50, P95, P99, Max time.Duration }

func (h *histogram) quantiles() Quantiles {
	return Quantiles{h.mean(), h.quantile(0.50), h.quantile(0.95), h.quantile(0.99), h.most}
}

// Hour is a point of a report's curves.
type Hour struct {
	Utilisation     float64
	DenialsPerGrant float64
	Claims          int // held at its end
}

// Report is what a simulation found.
type Report struct {
	Options
	Counts
	Running         int // sessions under way at the end, with a supervisor
	TimeToClaim     Quantiles
	TaskWait        Quantiles // of tasks that were taken up, each time from when they could be
	LongestWait     time.Duration
	NeverWorked     int // tasks
	StoreWait       Quantiles
	Transactions    int // the costs of several are counted as one where they follow each other
	Utilisation     float64
	Claims          float64 // held, on average
	Paper           Paper
	Hours           []Hour
	DenialsPerGrant float64
	PivotsPerRun    float64
	NeverShare      float64
}

func (w *world) report() *Report {
	r := &Report{
		Options: w.Options, Counts: w.Counts, TimeToClaim: w.toClaim.quantiles(), TaskWait: w.toWork.quantiles(),
		LongestWait: w.toWork.most, StoreWait: w.store.waits.quantiles(), Transactions: w.store.served,
		Utilisation: (w.store.busy - max(0, w.store.free-w.now)).Seconds() / w.Length.Seconds(),
		Claims:      w.held / w.Length.Seconds(), Paper: OnPaper(w.Options),
		DenialsPerGrant: ratio(w.Denials, w.Grants), PivotsPerRun: ratio(w.Pivots, w.Runs),
	}
	for i := range w.tasks {
		t := &w.tasks[i]
		r.Running += int(t.sessions)
		if t.place == nobody {
			continue
		}
		r.LongestWait = max(r.LongestWait, w.now-t.ready)
		if !t.worked {
			r.NeverWorked++
		}
	}
	r.NeverShare = ratio(r.NeverWorked, w.Tasks)
	for _, h := range w.hours {
		r.Hours = append(r.Hours, Hour{h.busy.Hours(), ratio(h.denials, h.grants), h.sessions})
	}
	return r
}

func ratio(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}
