package inspect

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"stint/internal/config"
	"stint/internal/explain/why"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/survey"
)

// refusal says why an agent is refused, and names the remedy.
func (e *Explainer) refusal(v survey.View, agent string, r fleet.RefusedError) why.Refusal {
	g := why.Refusal{Kind: r.By, Reason: r.Reason, Until: r.Until}
	if r.By == fleet.HinderedByAgent {
		state := v.Snapshot.Agent(agent)
		advice := e.advice(state)
		g.Do, g.Command, g.Lasting = advice.Do, advice.Command, state.Fault.Lasting()
	}
	return g
}

// whyCategory has the input of a fire of the category's pool now, and the last
// fires' results.
func (m *moment) whyCategory(ctx context.Context, name fleet.Category) (c why.Category, err error) {
	v, err := m.view(ctx)
	if err != nil {
		return c, err
	}
	own := m.Config.Categories[name]
	v.Pool, v.Full = own.Pool, m.Full(ctx)
	s := m.Situation(v)
	in := m.Input(v, s, new(uint64)) // of the chances, which are of all seeds alike
	in.Workers = m.Config.Pools[v.Pool].Workers
	ranking := rank.Rank(in)
	c = why.Category{
		Name: name, Now: v.Now, Path: m.Config.Path, Pool: v.Pool, Pools: len(m.Config.PoolNames()) > 1,
		Ordinary: v.Pool == config.DefaultPool, Slots: min(m.Config.Fanout.Slots, m.Config.Pools[v.Pool].Slots),
		Cooldown: own.Cooldown, Dead: v.Crashed[name].Run, Hinders: s.Obstacles(name), Gates: m.gatesOf(v, name), Held: heldOf(v, name, own.Lanes),
		States: map[fleet.TaskState]int{}, Ranking: ranking, Odds: ranking.Odds(survey.Redraws)[name],
	}
	for _, t := range v.Tasks {
		if t.Category == name {
			c.States[t.State]++
			if endless := t.OverLimit(); endless != "" {
				c.OverLimit = append(c.OverLimit, fmt.Sprintf("%q: %s", t.ID, endless))
			}
		}
	}
	c.Blocked = plain.Kept(in.Blocked, func(b rank.BlockedTask) bool { return b.Category == name })
	c.Pauses = plain.Kept(PausesAt(v.Snapshot.Pauses, v.Now), func(p fleet.Pause) bool { return p.Category == "" || p.Category == name })
	for _, r := range v.Snapshot.Open {
		if r.Category == name && v.Live[r.ID] {
			c.InFlight = append(c.InFlight, m.UnderWay(r, true, v.Now))
		}
	}
	for _, t := range m.timers(ctx) {
		if t.Pool == v.Pool {
			c.Timer = &t
		}
	}
	return c, m.pastOf(ctx, &c)
}

// gatesOf is everything that could keep a category's sessions from starting: its gate,
// and what is in the way of each of its agents. It counts when none of these can work.
func (m *moment) gatesOf(v survey.View, name fleet.Category) (list []why.Refusal) {
	if reason := v.Full[name]; reason != "" {
		g := why.Refusal{Kind: fleet.HinderedByReview, Reason: reason}
		if m.Config.Room(name).Takes {
			g.Command = "stint review"
		}
		list = append(list, g)
	}
	if o := m.Unfit(v, name, false); o.Kind != "" {
		list = append(list, why.Refusal{Kind: o.Kind, Reason: o.Reason, Unfit: true})
	}
	if m.WithoutAgent(v, name).Kind == "" {
		return list
	}
	for _, agent := range m.Config.Categories[name].Agents {
		for _, r := range m.Refusals(v, name, agent) {
			if g := m.refusal(v, agent, r); !slices.Contains(list, g) { // a budget may be of several
				list = append(list, g)
			}
		}
	}
	return list
}

// heldOf are the claims on a category's tasks and lanes that a take would be denied.
func heldOf(v survey.View, name fleet.Category, lanes int) (list []fleet.Claim) {
	keys := map[fleet.Key]bool{}
	for _, t := range v.Tasks {
		if t.Category == name {
			keys[t.ID.Key()] = true
		}
	}
	for lane := range lanes {
		keys[fleet.LaneKey(name, lane+1)] = true
	}
	for _, c := range v.Held {
		if keys[c.Key] {
			list = append(list, c)
		}
	}
	return list
}

// pastOf reads how the category's last fires and runs went.
func (m *moment) pastOf(ctx context.Context, c *why.Category) error {
	if m.Store == nil {
		return nil
	}
	fires, err := m.Store.LastFires(ctx, store.FireQuery{Brief: true, Limit: whyLook})
	if err != nil {
		return err
	}
	for _, f := range fires {
		ofPool := f.Pool == c.Pool && slices.ContainsFunc(f.Choices, func(o fleet.Choice) bool { return o.Category == c.Name })
		if len(c.Fires) < whyFires && ofPool {
			c.Fires = append(c.Fires, f)
		}
	}
	if c.Runs, err = m.Store.LastRuns(ctx, store.RunQuery{Category: c.Name, Ended: true, Limit: whyRuns}); err != nil {
		return err
	}
	if c.GradeChanges, err = m.Store.GradeChanges(ctx, store.ChangeQuery{Category: c.Name, Limit: whyChanges}); err != nil {
		return err
	}
	denials, err := m.Store.LastDenials(ctx, store.DenialQuery{Limit: whyLook})
	for _, d := range denials {
		if d.Category == c.Name && len(c.Denials) < whyDenials {
			c.Denials = append(c.Denials, d)
		}
	}
	return err
}

// whyTask has the obstacles of a task, its place and the sessions that tried it.
func (m *moment) whyTask(ctx context.Context, id fleet.TaskID) (t why.Task, err error) {
	v, err := m.view(ctx)
	if err != nil {
		return t, err
	}
	t = why.Task{ID: id, Now: v.Now, Task: taskOf(v, id)}
	if i := slices.IndexFunc(v.Held, func(c fleet.Claim) bool { return c.Key == id.Key() }); i >= 0 {
		t.Held = &v.Held[i]
		t.Worker = m.worker(v, *t.Held)
	}
	if t.Task == nil {
		t.Problem = problem(v, id)
	} else if err := m.standing(ctx, v, &t); err != nil {
		return t, err
	}
	if m.Store == nil {
		return t, nil
	}
	if t.Claim, _, err = m.Store.Check(ctx, id.Key()); err != nil {
		return t, err
	}
	if t.Runs, err = m.Store.LastRuns(ctx, store.RunQuery{Task: id, Limit: whyRuns}); err != nil {
		return t, err
	}
	t.Denials, err = m.Store.LastDenials(ctx, store.DenialQuery{Key: id.Key(), Limit: whyDenials})
	return t, err
}

// standing finds the facts that decide whether a session would take the task.
func (m *moment) standing(ctx context.Context, v survey.View, t *why.Task) error {
	s := m.Situation(v)
	t.Hinders, t.Ahead, t.Counts = s.TaskObstacles(t.Task), s.Ahead(t.Task), s.Counts(t.Task)
	t.Overlap = v.Overlaps[t.ID]
	if memory := t.Task.Memory; memory != nil {
		t.OverLimit = t.Task.OverLimit()
		if q, waits := memory.Waits(); waits {
			t.Waiting = &q
			t.Hinders = withoutWaiting(t.Hinders, *t.Task, *memory)
		}
	}
	t.Review = m.reviewOf(ctx, *t.Task)
	if _, known := m.Config.Categories[t.Task.Category]; known {
		c, err := m.whyCategory(ctx, t.Task.Category)
		if err != nil {
			return err
		}
		t.Category = &c
	}
	return nil
}

// reviewOf is the latest run whose work at a task that is ready for review waits there; empty: none.
// Trouble with git is logged: the task's state is known all the same.
func (m *moment) reviewOf(ctx context.Context, t fleet.Task) (latest fleet.RunID) {
	if t.State != fleet.StateReview || m.Work == nil {
		return ""
	}
	_, items, err := m.Review(ctx)
	if err != nil {
		m.Log.WarnContext(ctx, "what waits for review not listed", slog.Any("err", err))
	}
	for _, i := range items {
		if i.Open() && i.Session.Task == t.ID {
			latest = max(latest, i.Run)
		}
	}
	return latest
}

// worker is the run under way that holds a claim, or nil.
func (m *moment) worker(v survey.View, c fleet.Claim) *fleet.RunStatus {
	id, session := c.Holder.Run()
	if !session {
		return nil
	}
	for _, r := range v.Snapshot.Open {
		if r.ID == id && v.Live[id] {
			return new(m.UnderWay(r, true, v.Now))
		}
	}
	return nil
}

// withoutWaiting leaves out a wait that the task's memory causes alone: the answer has a sentence
// of its own for it.
func withoutWaiting(hinders []rank.Obstacle, t fleet.Task, m fleet.TaskMemory) []rank.Obstacle {
	blank := []fleet.Task{{ID: t.ID, Seen: t.Seen}}
	fleet.Recall(blank, []fleet.TaskMemory{m})
	return slices.DeleteFunc(hinders, func(h rank.Obstacle) bool {
		return h.Kind == fleet.HinderedByWaiting && t.WaitingFor == blank[0].WaitingFor
	})
}
