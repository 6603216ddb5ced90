package engine

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/selector"
	"stint/internal/why"
)

// withoutAgent says why no session of the category could start now, for want of an agent
// that can work or of a budget, or "".
func (e *Engine) withoutAgent(v view, c fleet.Category) string {
	var reasons []string
	for _, agent := range e.Config.Categories[c].Agents {
		reason := e.hindrance(v, c, agent)
		if reason == "" {
			return ""
		}
		reasons = append(reasons, reason)
	}
	return strings.Join(slices.Compact(reasons), "; ")
}

// able are those of the category's agents that can work, but for their slots, and are
// installed; when there is none, the first of all.
func (e *Engine) able(v view, c fleet.Category) (list []string) {
	agents := e.Config.Categories[c].Agents
	for _, agent := range agents {
		barred := false
		for h := range e.hindrances(v, c, agent) {
			barred = barred || h.Kind != why.GateSlots
		}
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

// hindrance says what keeps an agent from a session of the category, or "".
func (e *Engine) hindrance(v view, c fleet.Category, agent string) string {
	for h := range e.hindrances(v, c, agent) {
		return h.Reason
	}
	return ""
}

// hindrances are all that keeps an agent from a session of the category.
func (e *Engine) hindrances(v view, c fleet.Category, agent string) iter.Seq[why.Gate] {
	var state fleet.AgentState
	if i := slices.IndexFunc(v.snapshot.Agents, func(a fleet.AgentState) bool { return a.Agent == agent }); i >= 0 {
		state = v.snapshot.Agents[i]
	}
	return func(yield func(why.Gate) bool) {
		if reason := state.Blocked(v.now, v.live[state.Probe]); reason != "" {
			advice := e.advice(state)
			gate := why.Gate{
				Kind: why.GateAgent, Reason: fmt.Sprintf("agent %s: %s", agent, reason), Until: state.Until,
				Do: advice.Do, Command: advice.Command, Lasting: state.Fault.Lasting(),
			}
			if !yield(gate) {
				return
			}
		}
		if slots := e.Config.Agents[agent].Slots; slots > 0 && v.busy[agent] >= slots &&
			!yield(why.Gate{Kind: why.GateSlots, Reason: fmt.Sprintf("agent %s: all of its %d slots are in use", agent, slots)}) {
			return
		}
		budgets := e.Config.Budgets(c, agent)
		tokens, usd := state.Expected(budgets)
		for _, b := range budgets {
			var spent fleet.Spent
			if i := slices.IndexFunc(v.snapshot.Spent, func(s fleet.Spent) bool { return s.Scope == b.Scope }); i >= 0 {
				spent = v.snapshot.Spent[i]
			}
			reason := b.Gone(spent, tokens, usd)
			if reason != "" && !yield(why.Gate{Kind: why.GateBudget, Reason: reason, Until: nextDay(v.now)}) {
				return
			}
		}
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
