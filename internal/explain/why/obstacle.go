package why

import (
	"fmt"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/rank"
)

// Obstacles are all that keeps the category from being started by the next fire.
func (c Category) Obstacles() (list []Obstacle) {
	for _, h := range c.Hinders {
		switch {
		case h.Kind == fleet.HinderedByPause:
			list = append(list, c.pauses(h)...)
		case h.Kind.Gate():
			list = append(list, c.gates(h)...)
		case h.Kind == fleet.HinderedByLane:
			list = append(list, plain.Each(c.InFlight, func(r fleet.RunStatus) Obstacle { return c.inLane(h.Kind, r) })...)
		default:
			list = append(list, c.obstacle(h))
		}
	}
	return append(list, c.limits()...)
}

// obstacle describes one that stands for itself.
func (c Category) obstacle(h rank.Obstacle) Obstacle {
	o := Obstacle{Kind: h.Kind, Until: later(h.Until, c.Now)}
	switch {
	case h.Kind == fleet.HinderedByList:
		o.Reason = "Fires may not start it: it is not in their allow-list."
		o.Change = sentence("Name it under allow in [fanout] of %s, or start a session by hand", c.Path)
		o.Command = command("stint", "run", "--category", string(c.Name))
	case h.Kind == fleet.HinderedByHost:
		o.Reason = capital(sentence("it is %s", h.Reason))
		o.Change = sentence("Fires of other hosts start it: hosts in [category.%s] and the tables [host.NAME] of %s say which", c.Name, c.Path)
	case h.Kind == fleet.HinderedByRest:
		if c.Dead != "" {
			o.Until = time.Time{}
			o.Reason = sentence("Run %s crashed (no result recorded). Its cooldown of %s begins when that run is closed, which the next fire does first", c.Dead, c.Cooldown)
			o.Change, o.Command = "It takes a person to close the run sooner.", "stint reap"
			break
		}
		o.Reason = sentence("Its cooldown after the last session lasts until %s", moment(h.Until, c.Now))
		o.Change = sentence("That ends by itself: cooldown in [category.%s] is %s. A session by hand does not wait", c.Name, c.Cooldown)
		o.Command = command("stint", "run", "--category", string(c.Name))
	case h.Kind == fleet.HinderedBySource:
		o.Reason = capital(sentence("%s", h.Reason))
		o.Change = "It takes a source that can be read, or a task file."
		o.Command = "stint doctor"
	case h.Kind == fleet.HinderedByTasks:
		o.Reason = c.noTask()
		o.Change = "It takes a task that can be worked on."
		o.Command = command("stint", "task", "add", "--category", string(c.Name)) + " TITLE"
	case h.Kind == fleet.HinderedByOverlap:
		o.Reason = c.noTask()
		o.Change = overlapEnds
		o.Command = "stint review"
	case h.Kind == fleet.HinderedByEmpty:
		o.Reason = c.noTask()
		o.Change = "That ends by itself, with a change of such a task, or by a person."
		o.Command = command("stint", "resume", string(c.Name))
	case h.Kind == fleet.HinderedByClaim:
		o.Reason = sentence("Other claims keep it from work: %s", c.claims(h.Reason == rank.ClaimBlocked))
		o.Change = "It takes the end of a claim, or another task."
		o.Command = command("stint", "task", "add", "--category", string(c.Name)) + " TITLE"
		if h.Reason == rank.ClaimBlocked {
			o.Change, o.Command = "The next fire releases what crashed runs hold; the command does it at once.", "stint reap"
		}
	case h.Kind == fleet.HinderedByBackoff:
		o.Reason = capital(sentence("it %s", h.Reason))
		o.Change = "A grade, a new or changed task, or a person ends that."
		o.Command = command("stint", "resume", string(c.Name))
	default:
		o.Reason = capital(sentence("it cannot start: %s", h.Reason))
	}
	return o
}

// overlapEnds is when a task need not wait for other work any more.
const overlapEnds = "That ends by itself: with the session, or once the work is merged or rejected."

// noTask says of how many tasks how many wait for what.
func (c Category) noTask() string {
	open := 0
	for state, n := range c.States {
		if !state.Settled() && state != fleet.StateExpired {
			open += n
		}
	}
	if open == 0 {
		return "It has no open task."
	}
	why := plain.Each(c.Blocked, func(b rank.BlockedTask) string { return fmt.Sprintf("%q %s", b.ID, b.Reason) })
	for _, state := range fleet.TaskStates() {
		if n := c.States[state]; n > 0 && !state.Workable() && !state.Settled() && state != fleet.StateExpired {
			why = append(why, fmt.Sprintf("%d in state %s", n, state))
		}
	}
	return sentence("None of its %s can be worked on: %s", plain.Plural(open, "open task"), listed(why))
}

// claims are those on the lanes of the category, or on its tasks.
func (c Category) claims(lanes bool) string {
	var words []string
	for _, h := range c.Held {
		if h.Key.IsLane() != lanes {
			continue
		}
		words = append(words, fmt.Sprintf("%q by %s until %s", h.Key, h.Holder, plain.Stamp(h.ExpiresAt)))
	}
	return listed(words)
}

func (c Category) pauses(h rank.Obstacle) (list []Obstacle) {
	for _, p := range c.Pauses {
		o := Obstacle{Kind: h.Kind, Until: later(p.Until, c.Now), Change: "It takes a person to end that.", Command: "stint resume"}
		what := "The whole fleet is"
		if p.Category != "" {
			what, o.Command = "It is", command("stint", "resume", string(p.Category))
		}
		until := "until it is resumed"
		if !p.Until.IsZero() {
			until = "until " + moment(p.Until, c.Now)
			o.Change = "That ends by itself, or by a person."
		}
		o.Reason = sentence("%s paused since %s, %s%s", what, plain.Stamp(p.Since), until, tail(p.Reason))
		list = append(list, o)
	}
	return list
}

// gates lists the obstacles behind a gate. Where several agents rest, one that can work is
// enough.
func (c Category) gates(h rank.Obstacle) (list []Obstacle) {
	for _, g := range c.Gates {
		o := Obstacle{Kind: g.Kind, Reason: capital(sentence("%s", g.Reason)), Until: later(g.Until, c.Now)}
		switch {
		case g.Kind == fleet.HinderedByReview:
			o.Reason = sentence("Its gate is closed: %s", g.Reason)
			limit := "[review]"
			if o.Command = g.Command; o.Command == "" { // they wait elsewhere
				limit = fmt.Sprintf("[category.%s.wip]", c.Name)
			}
			o.Change = sentence("It takes a person to look at them, or a higher limit in %s of %s", limit, c.Path)
		case g.Kind == fleet.HinderedByTrust:
			o.Change, o.Command = "It takes a person's confirmation.", "stint config trust"
		case g.Unfit:
			o.Change, o.Command = "It takes a person to put that right.", "stint doctor"
		case g.Kind == fleet.HinderedByAgent:
			o.Change, o.Command = g.agentChange()
		case g.Kind == fleet.HinderedBySeats:
			o.Change = "It takes the end of one of the agent's sessions, or more slots for the agent."
		case g.Kind == fleet.HinderedByBudget:
			o.Change = sentence("That ends at midnight, UTC, or with a higher budget in %s", c.Path)
		}
		list = append(list, o)
	}
	if len(list) == 0 {
		list = append(list, Obstacle{Kind: h.Kind, Reason: capital(sentence("%s", h.Reason))})
	}
	return list
}

// agentChange says what ends an agent's rest.
func (g Refusal) agentChange() (change, command string) {
	change, command = "That ends by itself, or when a person says that agents can work again.", "stint resume"
	if g.Lasting {
		change = "It takes a person to fix that. Then stint resume ends the wait at once; without it, one session tries the agent when the wait is over."
	}
	if g.Do != "" {
		change = sentence("%s", capital(g.Do)) + " " + change
	}
	if g.Command != "" {
		command = g.Command
	}
	return change, command
}

func (c Category) inLane(kind fleet.Hindrance, r fleet.RunStatus) Obstacle {
	o := Obstacle{Kind: kind, Change: "It takes the end of that session."}
	work := ""
	if r.Task != "" {
		work = fmt.Sprintf(" on %q", r.Task)
	}
	if r.Machine != "" {
		work += " on host " + r.Machine
	}
	switch r.State {
	case fleet.RunWaiting:
		o.Reason = sentence("Its lane is kept for run %s, which begins at %s", r.ID, moment(r.NotBefore, c.Now))
	case fleet.RunPlanned:
		o.Reason = sentence("Its lane is kept for run %s, which is about to begin", r.ID)
	case fleet.RunRunning, fleet.RunSuspended, fleet.RunCrashed, fleet.RunEnded:
		o.Reason = sentence("Its lane is busy: run %s works%s since %s", r.ID, work, moment(r.StartedAt, c.Now))
		if r.Timeout > 0 {
			o.Until = later(r.StartedAt.Add(r.Timeout), c.Now)
			o.Change = sentence("It takes the end of that session, by %s at the latest, or a person who stops it", plain.Stamp(r.StartedAt.Add(r.Timeout)))
		}
	}
	o.Command = command("stint", "stop", string(r.ID))
	if r.Unheard {
		o.Reason += fmt.Sprintf(" Nothing was heard of that host for %s.", plain.Span(c.Now.Sub(r.Heard)))
		o.Change, o.Command = "That ends by itself once its claim has expired. If the host is off for good, say so.", command("stint", "host", "gone", r.Machine)
	}
	return o
}

// limits are those of the fire itself.
func (c Category) limits() (list []Obstacle) {
	if c.Ranking.Closed != "" {
		list = append(list, Obstacle{
			Kind: fleet.HinderedByMachine, Reason: sentence("The host is short of memory, and fires start nothing: %s", c.Ranking.Closed),
			Change: "It takes more free memory. A session by hand does not wait.", Command: command("stint", "run", "--category", string(c.Name)),
		})
	}
	if c.Ranking.Free <= 0 {
		list = append(list, Obstacle{
			Kind: fleet.HinderedBySlots, Reason: sentence("No slot is free: running sessions take all %d", c.Slots),
			Change: sentence("It takes the end of a session, or more slots in [fanout], or in [pool.%s], of %s", c.Pool, c.Path),
		})
	}
	s, place := c.score()
	if s.Candidate != nil && s.In && c.Ranking.Free > 0 && c.Ranking.Closed == "" && c.Odds < 1-sure {
		list = append(list, Obstacle{
			Kind:   fleet.HinderedByWorkers,
			Reason: sentence("A fire starts %d at most, and others are practically always before it: it is number %d", c.Ranking.Workers, place+1),
			Change: "It takes more workers, in the configuration or for one fire.", Command: c.fire("-n", fmt.Sprint(place+1)),
		})
	}
	return list
}

// fire is the command that fires its pool.
func (c Category) fire(more ...string) string {
	words := []string{"stint", "fanout"}
	if !c.Ordinary {
		words = append(words, "--pool", c.Pool)
	}
	return command(append(words, more...)...)
}
