package engine_test

import (
	"context"
	"testing"

	"stint/internal/claim"
	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/testkit/must"
)

// ended is a store in which one session ended at each task.
type ended struct {
	store.Store
	run fleet.Run
}

func (e ended) LastRuns(_ context.Context, q store.RunQuery) ([]fleet.Run, error) {
	e.run.Task = q.Task
	return []fleet.Run{e.run}, nil
}

// TestResumesTheProvenGone goes on with a conversation once its session is known to be over: while that cannot be told, two
// programs might write in it.
func TestResumesTheProvenGone(t *testing.T) {
	t.Parallel()
	b := newBench(t, "[agent.fake.cli]\nresume = [\"--resume\", \"{session}\"]\n[category.code]\n")
	b.addTask("fix", "code", fleet.StateTodo)
	last := fleet.Run{
		ID: fleet.NewRunID(b.clock(), 1), Location: b.Here, Category: "code", Agent: "fake", Key: "fix", EndedAt: b.clock(),
		Conversation: fleet.Conversation{ID: "c1"}, Verdict: fleet.Verdict{Outcome: fleet.Quota},
	}
	b.Store = ended{b.db, last}
	told := func() fleet.Conversation {
		return must.Get(b.Preview(t.Context(), engine.RunOptions{Category: "code"}))(t).Run.Conversation
	}
	name := "run " + string(last.ID)
	must.Equal(t, "nobody knows", told(), fleet.Conversation{Why: name + " may still be at work"})
	lock := must.Get(claim.Locks(b.Config.State).Live(last.ID))(t)
	must.Equal(t, "alive", told(), fleet.Conversation{Why: name + " may still be at work"})
	must.Do(t, lock.Close())
	must.Equal(t, "gone", told(), fleet.Conversation{ID: "c1", Resumes: last.ID, Why: name + " met a usage limit"})
}
