package engine

import (
	"stint/internal/fleet"
	"stint/internal/survey"
)

// firstAgent is the agent that a session of the category would have now.
func (e *Engine) firstAgent(v survey.View, c fleet.Category) string {
	list := e.Able(v, c)
	if agent, _, ok := e.Seats(v).Take(list); ok {
		return agent
	}
	return list[0]
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
		if w.Installed(agent) {
			list = append(list, w.Terms(w.run.Category, agent))
		}
	}
	if len(list) == 0 {
		return []fleet.Terms{w.Terms(w.run.Category, names[0])}
	}
	return list
}
