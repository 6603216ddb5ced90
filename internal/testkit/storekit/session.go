package storekit

import (
	"context"
	"errors"
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
)

// RunTake is a session of one offer, whose agent is one, in no lane.
type RunTake struct {
	store.TakeRequest
	fleet.Terms // of the agent that is to work; without a name, it is the one in the run's row
	Run         fleet.RunID
	PID         int
	Task        fleet.TaskID
	Memory      fleet.TaskMemory
	Lessons     []fleet.LessonUse
	Apart       []fleet.TaskID
}

// TakeForRun has a run begin a session. A refusal is an error.
func TakeForRun(ctx context.Context, s store.Runs, t RunTake) (fleet.Grant, fleet.Claim, error) {
	t.Known.Key = t.Key
	return granted(s.Begin(ctx, store.Begin{
		Run: t.Run, PID: t.PID, TTL: t.TTL, Agents: []fleet.Terms{t.Terms}, Known: []store.Known{t.Known},
		Offers: []store.Offer{{Task: t.Task, Key: t.Key, Memory: t.Memory, Lessons: t.Lessons, Excluded: t.Apart}},
	}))
}

// TakeLane has a run take a lane alone.
func TakeLane(ctx context.Context, s store.Runs, b store.Begin) (fleet.Grant, fleet.Claim, error) {
	return granted(s.Begin(ctx, b))
}

func granted(begun store.Begun, err error) (fleet.Grant, fleet.Claim, error) {
	switch {
	case err != nil:
		return "", fleet.Claim{}, err
	case begun.Refused.Reason != "":
		return "", fleet.Claim{}, begun.Refused
	case begun.Lane.Key != "":
		return fleet.Denied, begun.Lane, nil
	case begun.Claim.Key != "":
		return fleet.Granted, begun.Claim, nil
	case len(begun.Denied) == 0: // it has another session
		return fleet.Denied, fleet.Claim{}, nil
	case begun.Denied[0].Claim.Key == "":
		return "", fleet.Claim{}, fleet.RefusedError{Reason: begun.Denied[0].Reason, Outcome: fleet.RunDenied}
	}
	return fleet.Denied, begun.Denied[0].Claim, nil
}

// LeaveLane gives the lane of a run back, if it has one.
func LeaveLane(ctx context.Context, s store.Store, run fleet.RunID) error {
	r, err := s.Run(ctx, run)
	if err != nil {
		return err
	}
	_, err = s.Release(ctx, store.Hold{Key: fleet.LaneKey(r.Category, r.Lane), Holder: run.Holder()}, fleet.EndingReleased, "")
	if errors.Is(err, fleet.ErrLost) {
		return nil
	}
	return err
}

// Deny has a run ask for a claim that another takes first, and gives back then.
func Deny(ctx context.Context, s store.Store, d fleet.DeniedClaim) error {
	_, _, err := s.Take(ctx, store.TakeRequest{Key: d.Key, Holder: d.Holder, Renews: true, TTL: time.Hour})
	if err != nil {
		return err
	}
	_, err = s.Begin(ctx, store.Begin{Run: d.Run, TTL: time.Hour, Offers: []store.Offer{{Key: d.Key}}})
	_, released := s.Release(ctx, store.Hold{Key: d.Key, Holder: d.Holder}, fleet.EndingReleased, "")
	return errors.Join(err, released)
}

// RunsSince reads the runs created since a time, oldest first.
func RunsSince(ctx context.Context, s store.Record, since time.Time) ([]fleet.Run, error) {
	list, err := s.LastRuns(ctx, store.RunQuery{Limit: 1 << 30})
	list = slices.DeleteFunc(list, func(r fleet.Run) bool { return r.CreatedAt.Before(since) })
	slices.Reverse(list)
	return list, err
}
