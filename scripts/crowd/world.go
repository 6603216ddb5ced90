package main

import (
	"math"
	"math/rand/v2"
	"time"

	"stint/internal/bandit"
	claims "stint/internal/claim"
	"stint/internal/fleet"
)

// host is one machine.
type host struct {
	skew    time.Duration
	life    uint32 // its events of an earlier one are void
	down    bool
	firing  bool
	running int // planned and living sessions
	dead    []int32
	plan    []int16
}

// place is a category on a host.
type place struct {
	rests  time.Duration // cools down until then
	open   uint8         // planned and living sessions, as a fire counts them
	locked uint8         // lanes that are locked, or inhabited by an orphan
}

// run is one worker, and its session.
type run struct {
	turn     uint32
	host     int32
	category int16
	planned  int16 // the category for which it was started
	task     int32
	epoch    uint32
	known    known

	plan     []int16 // its fire's ranking
	next     int     // of the plan
	pivots   int
	shun     []int32
	denied   bool
	laned    bool // it has a lane
	sees     int32
	turnSeen uint32 // of the task that it sees

	began  time.Duration
	ends   time.Duration // its session
	beat   time.Duration // the next renewal
	renews time.Duration // when it was last renewed
	dies   time.Duration // its supervisor
	tries  int           // to record the end

	lives      bool // its session
	laid       bool // it is among the crashed ones of its host
	supervised bool
}

// world is everything that happens.
type world struct {
	Options
	agenda
	now     time.Duration
	store   queue
	lookers lookers
	chance  *rand.Rand

	hosts    []host
	places   []place // host by host
	runs     []run
	freeRuns []int32
	tasks    []task
	freeTask []int32
	backlog  []backlog
	arms     []bandit.Backoff
	names    []fleet.Category
	number   map[fleet.Category]int16
	fire     fleet.FireID
	claims   int // not released
	doubtful bool
	tally
}

func newWorld(o Options) *world {
	w := &world{
		Options: o, chance: rand.New(rand.NewPCG(o.Seed, 0x5eed)),
		hosts: make([]host, o.Hosts), places: make([]place, o.Hosts*o.Categories),
		backlog: make([]backlog, o.Categories), arms: make([]bandit.Backoff, o.Categories),
		names: make([]fleet.Category, o.Categories), number: map[fleet.Category]int16{},
		// Where even claims that are renewed in time may look expired to some host, each
		// is in dispute.
		doubtful: 2*o.Skew+patience >= o.TTL-claims.Beat(o.TTL),
		lookers:  make(lookers, o.Lookers),
	}
	for i := range w.backlog {
		w.backlog[i] = backlog{tasks: &w.tasks, family: nobody}
		w.names[i] = categoryName(i)
		w.number[w.names[i]] = int16(i)
	}
	for i := range w.hosts {
		if o.Skew > 0 {
			w.hosts[i].skew = time.Duration((2*w.chance.Float64() - 1) * float64(o.Skew))
		}
		w.foresee(w.uniform(o.Spread), fireDue, int32(i), 0)
		w.foreseeDeath(int32(i))
	}
	w.foreseeTask()
	return w
}

func categoryName(i int) fleet.Category {
	digits := []byte("c0000")
	for at := len(digits) - 1; i > 0; at, i = at-1, i/10 {
		digits[at] = byte('0' + i%10)
	}
	return fleet.Category(digits)
}

func (w *world) uniform(below time.Duration) time.Duration {
	return time.Duration(w.chance.Float64() * float64(below))
}

func (w *world) exponential(mean time.Duration) time.Duration {
	return time.Duration(w.chance.ExpFloat64() * float64(mean))
}

func (w *world) foresee(at time.Duration, k kind, who int32, turn uint32) {
	w.add(event{at: at, kind: k, who: who, turn: turn})
}

// ask has the store write and look, and foresees the end, or that it was waited for in
// vain. Where looks do not wait for writes, a core of the server's is at each.
func (w *world) ask(write, look time.Duration, k kind, who int32, turn uint32) {
	if w.Lookers == 0 {
		write, look = write+look, 0
	}
	begin, end, ok := w.now, w.now, true
	if write > 0 {
		begin, end, ok = w.store.enter(w.now, write)
	}
	if ok && look > 0 {
		_, end, ok = w.lookers.next().enter(end, look)
	}
	if !ok {
		w.Refused++
		begin, end = w.now+patience, w.now+patience
	}
	w.add(event{at: end, kind: k, who: who, turn: turn, refused: !ok, begin: begin})
}

func (w *world) foreseeTask() {
	w.foresee(w.now+w.exponential(time.Duration(float64(time.Hour)/w.TasksPerHour)), taskComes, 0, 0)
}

func (w *world) foreseeDeath(h int32) {
	if w.HostLife > 0 {
		w.foresee(w.now+w.exponential(w.HostLife), hostDies, h, w.hosts[h].life)
	}
}

// run lets time go by, and stops when stop gives an error: it is asked now and then.
func (w *world) run(stop func() error) error {
	const often = 1 << 16
	for n := 0; len(w.heap) > 0 && w.heap[0].at < w.Length; n++ {
		if n%often == 0 {
			if err := stop(); err != nil {
				return err
			}
		}
		e := w.pop()
		w.now = e.at
		w.sample()
		w.happen(e)
	}
	w.now = w.Length
	w.sample()
	return nil
}

// void reports whether an event was foreseen for what is no more: a host before its last
// death, or a run that has ended.
func (w *world) void(e event) bool {
	switch {
	case e.kind == taskComes:
		return false
	case e.kind < runBegins:
		return e.turn != w.hosts[e.who].life
	default:
		return e.turn != w.runs[e.who].turn
	}
}

func (w *world) happen(e event) {
	if w.void(e) {
		return
	}
	switch e.kind {
	case taskComes:
		w.newTask()
		w.foreseeTask()
	case hostDies:
		w.hostDies(e.who)
	case hostReturns:
		w.hosts[e.who].down = false
		w.foreseeDeath(e.who)
		w.fireDue(e.who)
	case fireDue:
		w.fireDue(e.who)
	case fireSwept:
		w.fireSwept(e)
	case fireSees:
		w.fireSees(e)
	case fireRecorded:
		w.fireRecorded(e)
	case runBegins:
		w.runBegins(e.who)
	case runBegun:
		w.runBegun(e)
	case runSees:
		w.runSees(e)
	case runTook:
		w.runTook(e)
	case runNoted:
		w.runNoted(e)
	case runWakes:
		w.runWakes(e.who)
	case runRenewed:
		w.runRenewed(e)
	case runRetries:
		w.complete(e.who)
	case runCompleted:
		w.runCompleted(e)
	case runEnded:
		w.runEnded(e)
	case orphanEnds:
		w.orphanEnds(e.who)
	}
}

func (w *world) place(h int32, category int16) *place {
	return &w.places[int(h)*w.Categories+int(category)]
}

// newTask adds a task that anyone may work on.
func (w *world) newTask() {
	var id int32
	if n := len(w.freeTask); n > 0 {
		id, w.freeTask = w.freeTask[n-1], w.freeTask[:n-1]
	} else {
		id = int32(len(w.tasks))
		w.tasks = append(w.tasks, task{})
	}
	category := int16(w.chance.IntN(w.Categories))
	b := &w.backlog[category]
	if b.family == nobody || w.chance.Float64() >= w.Siblings {
		b.family = int32(w.Tasks) // a number of its own
	}
	w.tasks[id] = task{
		claim: claim{holder: nobody}, created: w.now, ready: w.now, place: nobody, family: b.family,
		category: category, priority: uint8(w.chance.IntN(len(priorities()))), turn: w.tasks[id].turn,
	}
	b.news = w.now
	b.offer(id)
	w.Tasks++
}

// free reports whether a claim would be free for a host that looks now: it asks whether
// the session in the way lives, as Desk.Holder in package claim does.
func (w *world) free(h, id int32) bool {
	c := &w.tasks[id].claim
	return c.row().Free(at(w.now+w.hosts[h].skew), w.liveness(h, c))
}

// liveness is what a host knows of the session that holds a claim.
func (w *world) liveness(h int32, c *claim) fleet.Liveness {
	if c.holder == nobody || w.runs[c.holder].host != h {
		return fleet.Unknown
	}
	if r := &w.runs[c.holder]; r.lives && r.epoch == c.epoch {
		return fleet.Lives
	}
	return fleet.Gone
}

// reopen puts a task whose claim was given back where it can be worked on, unless it is
// done.
func (w *world) reopen(id int32, done bool) {
	t := &w.tasks[id]
	b := &w.backlog[t.category]
	b.settle(id)
	w.claims--
	if t.settled = done; !done {
		t.begun, t.ready = true, w.now
		b.news = w.now
		b.offer(id)
	}
	w.forget(id)
}

// forget makes room of a task that is done and that nobody works on.
func (w *world) forget(id int32) {
	if t := &w.tasks[id]; t.settled && t.sessions == 0 && t.orphans == 0 {
		t.settled, t.holder = false, nobody
		t.turn++
		w.freeTask = append(w.freeTask, id)
	}
}

// leave takes a session off the task it worked on.
func (w *world) leave(r *run) {
	t := &w.tasks[r.task]
	if r.supervised {
		t.sessions--
	} else {
		t.orphans--
	}
	r.lives = false
	w.forget(r.task)
}

// hostDies takes all sessions with it. Their claims stay theirs in the store until they expire,
// or until the host is back and knows.
func (w *world) hostDies(h int32) {
	w.HostDeaths++
	host := &w.hosts[h]
	host.down, host.firing = true, false
	host.life++
	for id := range w.runs {
		if r := &w.runs[id]; r.host == h && r.plan != nil {
			w.die(int32(id))
		}
	}
	for c := range int16(w.Categories) {
		p := w.place(h, c)
		p.open, p.locked = 0, 0
	}
	host.running = 0
	w.foresee(w.now+w.HostRepair, hostReturns, h, host.life)
}

// die ends a run without a word.
func (w *world) die(id int32) {
	r := &w.runs[id]
	if r.lives {
		if r.supervised {
			w.Died++
		}
		w.leave(r)
		w.backlog[w.tasks[r.task].category].disputeHeld(r.task, id)
	}
	r.turn++ // no event of it comes true
	if r.task == nobody {
		w.vacate(id)
		return
	}
	if !r.laid {
		r.laid = true
		w.hosts[r.host].dead = append(w.hosts[r.host].dead, id)
	}
}

// disputeHeld lists a task that a dead run holds.
func (b *backlog) disputeHeld(id, holder int32) {
	if t := &(*b.tasks)[id]; t.holder == holder && !t.released {
		b.dispute(id)
	}
}

// newRun finds room for a run.
func (w *world) newRun(h int32, category int16, plan []int16) int32 {
	var id int32
	if n := len(w.freeRuns); n > 0 {
		id, w.freeRuns = w.freeRuns[n-1], w.freeRuns[:n-1]
	} else {
		id = int32(len(w.runs))
		w.runs = append(w.runs, run{})
	}
	old := &w.runs[id]
	w.runs[id] = run{
		turn: old.turn, host: h, category: category, planned: category, plan: plan, task: nobody, sees: nobody,
		shun: old.shun[:0], began: w.now,
	}
	return id
}

// vacate gives a run's room to the next.
func (w *world) vacate(id int32) {
	r := &w.runs[id]
	r.turn++
	r.plan, r.lives, r.task = nil, false, nobody
	w.freeRuns = append(w.freeRuns, id)
}

// length is how long a session takes that ends by itself or by its time-out.
func (w *world) length() time.Duration {
	d := float64(w.Median) * math.Exp(w.Sigma*w.chance.NormFloat64())
	return time.Duration(min(d, float64(w.Timeout)))
}
