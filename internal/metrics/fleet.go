package metrics

import (
	"maps"
	"slices"

	"stint/internal/explain/inspect"
	"stint/internal/fleet"
)

// About has the facts that distinguish one page of metrics from another.
type About struct {
	Fleet   fleet.Name
	Version string
}

// Text writes the page.
func Text(a About, c inspect.Counters) []byte {
	p := &page{}
	p.family("stint_build_info", gauge, "Always 1: the version of stint that answers, and for which fleet.").
		add(1, "fleet", string(a.Fleet), "version", a.Version)
	p.family("stint_metrics_timestamp_seconds", gauge, "When these figures were read.").time(c.Status.At)
	p.fires(c)
	p.ever(c)
	p.now(c.Status)
	p.hosts(c.Status)
	p.trouble(c.Status)
	p.spent(c.Status.Spent)
	p.day(c)
	return []byte(p.String())
}

// hosts are the machines of a fleet that has several.
func (p *page) hosts(s inspect.Status) {
	list := s.Hosts
	if len(list) == 0 {
		return
	}
	f := p.family("stint_host_heard_timestamp_seconds", gauge, "When a machine of the fleet last fired, or a session there had its heartbeat.")
	for _, h := range list {
		f.time(h.HeardAt, "host", h.Name)
	}
	f = p.family("stint_host_sessions", gauge, "Sessions on a machine that live, or are about to.")
	for _, h := range list {
		f.add(float64(h.Sessions), "host", h.Name)
	}
	f = p.family("stint_host_gone", gauge, "1 where a person says that a machine is off, else 0.")
	for _, h := range list {
		f.add(truth(h.Gone()), "host", h.Name)
	}
}

func (p *page) fires(c inspect.Counters) {
	p.family("stint_fires_total", counter, "Fires: rankings that were recorded.").add(float64(c.Fires))
	if len(c.Status.Fires) > 0 {
		last := c.Status.Fires[0]
		p.family("stint_last_fire_timestamp_seconds", gauge, "When the last fire was.").time(last.At)
		f := p.family("stint_last_fire_categories", gauge, "Categories by what the last fire decided about them.")
		for _, d := range []fleet.Decision{fleet.Spawn, fleet.Skip, fleet.StartFailed} {
			f.add(float64(last.Count(d)), "decision", string(d))
		}
	}
	if len(c.Status.Timers) == 0 {
		return
	}
	f := p.family("stint_timer_active", gauge, "1 where the service manager will fire a pool again, else 0.")
	for _, t := range c.Status.Timers {
		f.add(truth(t.Active), "pool", t.Pool)
	}
	f = p.family("stint_timer_next_timestamp_seconds", gauge, "When a pool is fired next.")
	for _, t := range c.Status.Timers {
		f.time(t.Next, "pool", t.Pool)
	}
}

// ever writes the counts since the store was made, and the beliefs.
func (p *page) ever(c inspect.Counters) {
	names := slices.Sorted(maps.Keys(c.Arms))
	each := func(name string, k kind, help string, value func(fleet.Category) float64) {
		f := p.family(name, k, help)
		for _, category := range names {
			f.add(value(category), "category", string(category))
		}
	}
	each("stint_sessions_total", counter, "Sessions: runs that got a claim, also those by hand.",
		func(n fleet.Category) float64 { return float64(c.Arms[n].Sessions) })
	each("stint_sessions_graded_total", counter, "Sessions that brought a grade.",
		func(n fleet.Category) float64 { return float64(c.Arms[n].Graded) })
	each("stint_sessions_noop_total", counter, "Sessions that did nothing although there was something to do.",
		func(n fleet.Category) float64 { return float64(c.Arms[n].NoopsEver) })
	each("stint_sessions_entitled_total", counter, "Sessions that all fires entitled a category to.",
		func(n fleet.Category) float64 { return c.Arms[n].Entitled })
	each("stint_alarms_total", counter, "Changes detected in what a category's sessions are worth.",
		func(n fleet.Category) float64 { return float64(c.Arms[n].Alarms) })
	each("stint_share_ratio", gauge, "The part of all sessions that a category is to get.",
		func(n fleet.Category) float64 { return c.Shares[n] })

	f := p.family("stint_belief_grade_ratio", gauge, "Mean of the belief about a category's mean grade.")
	for _, b := range c.Status.Beliefs {
		f.add(b.Mean(), "category", string(b.Category))
	}
	f = p.family("stint_belief_grade_deviation_ratio", gauge, "Standard deviation of the belief about a category's mean grade.")
	for _, b := range c.Status.Beliefs {
		f.add(b.SD(), "category", string(b.Category))
	}
}

// now writes the runs under way.
func (p *page) now(s inspect.Status) {
	lanes, busy := map[fleet.Category]int{}, map[fleet.Category]int{}
	for _, l := range s.Lanes {
		lanes[l.Category]++
		if l.Run != nil {
			busy[l.Category]++
		}
	}
	counts(p.family("stint_lanes", gauge, "Lanes of a category."), lanes, lanes)
	counts(p.family("stint_lanes_busy", gauge, "Lanes of a category that a run holds."), lanes, busy)
	open, waiting, crashed, tokens := map[fleet.Category]int{}, map[fleet.Category]int{}, 0, int64(0)
	for _, r := range s.Open {
		open[r.Category]++
		switch r.State {
		case fleet.RunCrashed:
			crashed++
		case fleet.RunWaiting:
			waiting[r.Category]++
		case fleet.RunPlanned, fleet.RunRunning, fleet.RunSuspended, fleet.RunEnded:
		}
		if r.Tokens != nil {
			tokens += *r.Tokens
		}
	}
	for c := range lanes {
		open[c] += 0 // a series that comes and goes cannot be added up
	}
	counts(p.family("stint_runs_open", gauge, "Runs that have not ended, those that are about to start included."), open, open)
	counts(p.family("stint_runs_waiting", gauge, "Of them, those that follow a good session and wait until its category has rested."), open, waiting)
	p.family("stint_runs_crashed", gauge, "Runs that crashed, so that no result is recorded; the next fire, or stint reap, closes them.").
		add(float64(crashed))
	p.family("stint_runs_open_tokens", gauge, "Tokens that the open runs used so far, as far as their agents report them.").
		add(float64(tokens))
	p.family("stint_claims_held", gauge, "Claims that are held, by runs and by people.").add(float64(len(s.Claims)))
}

// counts writes a count for each of all.
func counts(f *family, all, count map[fleet.Category]int) {
	for _, c := range slices.Sorted(maps.Keys(all)) {
		f.add(float64(count[c]), "category", string(c))
	}
}

// trouble writes the reasons that keep sessions from starting.
func (p *page) trouble(s inspect.Status) {
	paused, closed, whole := map[fleet.Category]int{}, map[fleet.Category]int{}, false
	for _, l := range s.Lanes {
		paused[l.Category], closed[l.Category] = 0, 0
	}
	for _, v := range s.Pauses {
		if v.Category == "" {
			whole = true
			continue
		}
		paused[v.Category] = 1
	}
	machine := 0
	for _, g := range s.Closed {
		if g.Category == "" {
			machine++
			continue
		}
		closed[g.Category]++
	}
	p.family("stint_fleet_paused", gauge, "1 while the whole fleet is paused, else 0.").add(truth(whole))
	counts(p.family("stint_paused", gauge, "1 while a category is paused by itself, else 0."), paused, paused)
	p.family("stint_machine_gates_closed", gauge, "Why fires start nothing: memory, pressure or load of the machine.").add(float64(machine))
	counts(p.family("stint_gates_closed", gauge, "Gates that keep a category out: an agent, a budget or results that wait for review."), closed, closed)
	p.family("stint_agents_stopped", gauge, "Agents of which no session may start.").add(float64(len(s.Stopped)))
	p.family("stint_tasks_waiting_for_person", gauge, "Tasks that wait for a person because sessions failed at them, or left them as they were.").add(float64(len(s.Waiting)))
	if s.Review.Known {
		p.family("stint_in_review", gauge, "Results of sessions that wait for review.").add(float64(s.Review.Open))
		p.family("stint_in_review_rotten", gauge, "Those that conflict with the target, or whose check failed.").add(float64(s.Review.Rotten))
		oldest := 0.0
		if !s.Review.Oldest.IsZero() {
			oldest = s.At.Sub(s.Review.Oldest).Seconds()
		}
		p.family("stint_in_review_oldest_seconds", gauge, "Age of the oldest of them.").add(oldest)
	}
}

func (p *page) spent(list []fleet.Spent) {
	each := func(name, help string, value func(fleet.Spent) float64) {
		f := p.family(name, gauge, help)
		for _, s := range list {
			f.add(value(s), "scope", string(s.Scope))
		}
	}
	each("stint_today_runs", "Runs of today, UTC, by what a budget is for.", func(s fleet.Spent) float64 { return float64(s.Runs) })
	each("stint_today_tokens", "Tokens used today, UTC, with what sessions under way are expected to use.", func(s fleet.Spent) float64 { return float64(s.Tokens) })
	each("stint_today_cost_usd", "US dollars used today, UTC, with what sessions under way are expected to use.", func(s fleet.Spent) float64 { return s.USD })
}
