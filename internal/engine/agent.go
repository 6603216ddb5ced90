package engine

import (
	"slices"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/selector"
	"stint/internal/store/book"
	"stint/internal/why"
)

// withoutAgent says why no session of the category could start now, for want of an agent
// that can work or of a budget, or "".
func (e *Engine) withoutAgent(v view, c fleet.Category) string {
	var reasons []string
	for _, agent := range e.Config.Categories[c].Agents {
		refusals := e.refusals(v, c, agent)
		if len(refusals) == 0 {
			return ""
		}
		reasons = append(reasons, refusals[0].Reason)
	}
	return strings.Join(slices.Compact(reasons), "; ")
}

// able are those of the category's agents that can work, but for their slots, and are
// installed; when there is none, the first of all.
func (e *Engine) able(v view, c fleet.Category) (list []string) {
	agents := e.Config.Categories[c].Agents
	for _, agent := range agents {
		barred := slices.ContainsFunc(e.refusals(v, c, agent), func(r fleet.RefusedError) bool { return r.Outcome != fleet.Busy })
		if !barred && e.installed(agent) {
			list = append(list, agent)
		}
	}
	if len(list) == 0 {
		return agents[:1]
	}
	return list
}

// seats are the slots of the agents that have a limit of their own.
func (e *Engine) seats(v view) selector.Seats {
	seats := selector.Seats{}
	for name, a := range e.Config.Agents {
		if a.Slots > 0 {
			seats[name] = selector.Seat{All: a.Slots, Free: max(0, a.Slots-v.busy[name])}
		}
	}
	return seats
}

// firstAgent is the agent that a session of the category would have now.
func (e *Engine) firstAgent(v view, c fleet.Category) string {
	list := e.able(v, c)
	if agent, _, ok := e.seats(v).Take(list); ok {
		return agent
	}
	return list[0]
}

// installed says whether all programs that a session of the agent needs can be started:
// looked for in the workspace, of which a worktree has what is committed.
func (e *Engine) installed(agent string) bool {
	a, known := e.Config.Agents[agent]
	return known && !slices.ContainsFunc(a.Programs(), func(program string) bool {
		return e.Agents.Find(program, e.passed(a), e.Config.Workspace) != nil
	})
}

// refusals are all that keeps an agent from a session of the category. The store goes by the same
// rule when the session takes its claim.
func (e *Engine) refusals(v view, c fleet.Category, agent string) []fleet.RefusedError {
	state := v.snapshot.Agent(agent)
	return book.Admission{
		Terms: e.terms(c, agent), State: state, Probing: v.live[state.Probe], Busy: v.busy[agent], Spent: v.snapshot.Spent, Now: v.now,
	}.Refusals()
}

// gate is why an agent is refused, and what helps.
func (e *Engine) gate(v view, agent string, r fleet.RefusedError) why.Gate {
	switch {
	case r.Outcome == fleet.Busy:
		return why.Gate{Kind: why.GateSlots, Reason: r.Reason}
	case r.Scope != "":
		return why.Gate{Kind: why.GateBudget, Reason: r.Reason, Until: nextDay(v.now)}
	}
	state := v.snapshot.Agent(agent)
	advice := e.advice(state)
	return why.Gate{
		Kind: why.GateAgent, Reason: r.Reason, Until: state.Until, Do: advice.Do, Command: advice.Command, Lasting: state.Fault.Lasting(),
	}
}

// nextDay is when budgets begin anew.
func nextDay(now time.Time) time.Time { return now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1) }

// terms are those of an agent's sessions of a category.
func (e *Engine) terms(c fleet.Category, agent string) fleet.Terms {
	return fleet.Terms{Agent: agent, Slots: e.Config.Agents[agent].Slots, Budgets: e.Config.Budgets(c, agent)}
}

// agents are those that may do the run, the preferred one first, without those that are
// not installed. When none is, the first is to say so.
func (w *worker) agents() (list []fleet.Terms) {
	names := []string{w.run.Agent}
	if w.asked == "" {
		for _, agent := range w.Config.Categories[w.run.Category].Agents {
			if agent != w.run.Agent {
				names = append(names, agent)
			}
		}
	}
	for _, agent := range names {
		if w.installed(agent) {
			list = append(list, w.terms(w.run.Category, agent))
		}
	}
	if len(list) == 0 {
		return []fleet.Terms{w.terms(w.run.Category, names[0])}
	}
	return list
}
