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

// agents are those that may do the run in a category, the preferred one first, without those
// that are not installed. When none is, the first is to say so.
func (w *worker) agents(c fleet.Category) (list []fleet.Terms) {
	names := []string{w.run.Agent}
	if w.asked == "" {
		for _, agent := range w.Config.Categories[c].Agents {
			if agent != w.run.Agent {
				names = append(names, agent)
			}
		}
	}
	for _, agent := range names {
		if w.Installed(agent) {
			list = append(list, w.Terms(c, agent))
		}
	}
	if len(list) == 0 {
		return []fleet.Terms{w.Terms(c, names[0])}
	}
	return list
}
