package book

import (
	"fmt"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store/table"
)

// Tx is one write while it is decided. Rules ask it for rows, which it reads on demand.
type Tx struct{ *table.Tx }

// run asks for the row of a run.
func (p Tx) run(id fleet.RunID) (table.Run, bool) { return p.Runs.Get(runRow(id)) }

func runRow(id fleet.RunID) table.Run { return table.Run{Run: fleet.Run{ID: id}} }

// open returns a run that has not ended, or [fleet.ErrLost].
func (p Tx) open(id fleet.RunID) (table.Run, error) {
	r, found := p.run(id)
	if !found || !r.EndedAt.IsZero() {
		return table.Run{}, fmt.Errorf("run %s is not open: %w", id, fleet.ErrLost)
	}
	return r, nil
}

// underWay returns the open runs, in brief.
func (p Tx) underWay() []table.Run { return p.Open.Where("ended_at", nil) }

func (p Tx) task(id fleet.TaskID) fleet.TaskMemory {
	m, _ := p.Tasks.Get(fleet.TaskMemory{Task: id})
	return m
}

func (p Tx) review(run fleet.RunID) table.Review {
	r, _ := p.Reviews.Get(reviewRow(run))
	return r
}

func reviewRow(run fleet.RunID) table.Review { return table.Review{Review: fleet.Review{Run: run}} }

func (p Tx) agent(name string) fleet.AgentState {
	a, _ := p.Agents.Get(fleet.AgentState{Agent: name})
	return a
}

func (p Tx) arm(c fleet.Category) rank.Arm { return p.ranking().Arm(c) }

// fleet returns the store's one row.
func (p Tx) fleet() table.Fleet {
	f, _ := p.Fleet.Get(table.Fleet{})
	return f
}

// claim returns a key's row; for a new key one with epoch 0.
func (p Tx) claim(key fleet.Key) table.Claim {
	c, _ := p.Claims.Get(claimRow(key))
	return c
}

func claimRow(key fleet.Key) table.Claim { return table.Claim{Claim: fleet.Claim{Key: key}} }

// claims returns the claims that a holder has not released.
func (p Tx) claims(holder fleet.Holder) []table.Claim {
	return p.Claims.Where("holder", holder, "released_at", nil)
}
