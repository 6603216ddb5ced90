package engine

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

const (
	// batchesAFire is how many batches a fire deletes at most: others write between two of them, and
	// the next fire goes on.
	batchesAFire = 10
	// The record begins anew in steps of this part of the time for which it is kept: few fires have much to delete.
	edgeSteps = 20
)

// forget deletes what the record need not keep.
//
// If we die between two batches, all figures add up from the edge on, whatever is left there; the next fire goes on.
func (e *Engine) forget(ctx context.Context) error {
	keep := e.Config.Keep.Record
	if keep == 0 {
		return nil
	}
	edge, err := e.Store.Edge(ctx)
	if err != nil || edge.Oldest.IsZero() {
		return err
	}
	before := e.Now().Add(-keep).Truncate(time.Millisecond) // as the store has times
	if late := before.Add(-keep / edgeSteps); edge.Oldest.Before(late) && edge.From.Before(late) {
		edge.From = before
	}
	if edge.From.IsZero() || !edge.Oldest.Before(edge.From) {
		return nil
	}
	all := 0
	for range batchesAFire {
		n, err := e.Store.Forget(ctx, edge.From)
		if err != nil {
			return err
		}
		if all += n; n == 0 {
			break
		}
	}
	if all > 0 {
		e.Log.InfoContext(ctx, "old record deleted", slog.String("reason", fmt.Sprintf("[keep] record: %d runs and fires", all)))
	}
	return nil
}
