package inspect

import (
	"context"

	"stint/internal/explain/replay"
	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/survey"
)

// Fires are the latest fires, newest first.
func (e *Explainer) Fires(ctx context.Context, q store.FireQuery) ([]fleet.Fire, error) {
	return e.Record().LastFires(ctx, q)
}

// LastFire is the number of the last fire; 0: there was none.
func (e *Explainer) LastFire(ctx context.Context) (fleet.FireID, error) {
	last, err := e.Fires(ctx, store.FireQuery{Brief: true, Limit: 1})
	if err != nil || len(last) == 0 {
		return 0, err
	}
	return last[0].ID, nil
}

// maxOfFire bounds the runs of a fire that are shown: a fire starts fewer.
const maxOfFire = 200

// FireDetail is a fire, its ranking as it comes out when it is ranked again, and what it
// started.
type FireDetail struct {
	fleet.Fire
	Result *replay.Result // nil: it cannot be ranked again
	Why    string         // it cannot
	Runs   []fleet.RunStatus
}

// FireDetail reads one fire; one that does not exist wraps [fleet.ErrNotFound].
func (e *Explainer) FireDetail(ctx context.Context, id fleet.FireID) (d FireDetail, err error) {
	if d.Fire, err = e.Record().Fire(ctx, id); err != nil {
		return d, err
	}
	if d.Runs, err = e.Runs(ctx, store.RunQuery{Fire: id, Limit: maxOfFire}); err != nil {
		return d, err
	}
	if result, unread := replay.Fire(d.Fire, survey.Redraws); unread != nil {
		d.Why = unread.Error() // an old record can be shown, if not ranked again
	} else {
		d.Result = &result
	}
	return d, nil
}

// Denials are the latest denials of claims, newest first.
func (e *Explainer) Denials(ctx context.Context, limit int) ([]fleet.DeniedClaim, error) {
	return e.Record().LastDenials(ctx, store.DenialQuery{Limit: limit})
}

// Run reads one run; one that does not exist wraps [fleet.ErrNotFound].
func (e *Explainer) Run(ctx context.Context, id fleet.RunID) (fleet.Run, error) {
	return e.Record().Run(ctx, id)
}

// Readable says why the record cannot be read, if it cannot.
func (e *Explainer) Readable(ctx context.Context) error {
	_, _, err := e.Record().Check(ctx, fleet.LaneKey("readable", 1))
	return err
}

// Replay ranks a recorded fire again and compares it with the record. It changes
// nothing, and the configuration of today has no say in it. A fire that does not exist
// wraps [fleet.ErrNotFound].
func (e *Explainer) Replay(ctx context.Context, id fleet.FireID) (replay.Result, error) {
	f, err := e.Record().Fire(ctx, id)
	if err != nil {
		return replay.Result{}, err
	}
	return replay.Fire(f, survey.Redraws)
}
