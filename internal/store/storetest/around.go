package storetest

import (
	"context"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
)

// Around is a store whose writes a function makes, which is given the name of each: it may fail, or end
// the process, before the write or after it. The writes are those of the engine; people's own, such as
// pauses, go their way.
type Around struct {
	store.Store
	Do func(write string, do func() error) error
}

// around is Do for a write with an answer, which gets lost with a failure that is not the store's.
func around[T any](a Around, write string, do func() (T, error)) (got T, err error) {
	var own error
	err = a.Do(write, func() error {
		got, own = do()
		return own
	})
	if err != nil && own == nil {
		var none T
		return none, err
	}
	return got, err
}

func (a Around) Take(ctx context.Context, r store.TakeRequest) (grant fleet.Grant, claim fleet.Claim, err error) {
	err = a.Do("Take", func() error { grant, claim, err = a.Store.Take(ctx, r); return err })
	return grant, claim, err
}

func (a Around) Renew(ctx context.Context, h store.Hold, ttl time.Duration) (store.Kept, error) {
	return around(a, "Renew", func() (store.Kept, error) { return a.Store.Renew(ctx, h, ttl) })
}

func (a Around) Release(ctx context.Context, h store.Hold, ending fleet.Ending, reason string) (fleet.Claim, error) {
	return around(a, "Release", func() (fleet.Claim, error) { return a.Store.Release(ctx, h, ending, reason) })
}

func (a Around) ReleaseHolder(ctx context.Context, h fleet.Holder, ending fleet.Ending) error {
	return a.Do("ReleaseHolder", func() error { return a.Store.ReleaseHolder(ctx, h, ending) })
}

func (a Around) RecordFire(ctx context.Context, f store.Firing) (fleet.Fire, error) {
	return around(a, "RecordFire", func() (fleet.Fire, error) { return a.Store.RecordFire(ctx, f) })
}

func (a Around) NotStarted(ctx context.Context, fire fleet.FireID, run fleet.RunID, reason string) (bool, error) {
	return around(a, "NotStarted", func() (bool, error) { return a.Store.NotStarted(ctx, fire, run, reason) })
}

func (a Around) AddRun(ctx context.Context, r fleet.Run) error {
	return a.Do("AddRun", func() error { return a.Store.AddRun(ctx, r) })
}

func (a Around) BeginRun(ctx context.Context, id fleet.RunID, pid int) error {
	return a.Do("BeginRun", func() error { return a.Store.BeginRun(ctx, id, pid) })
}

func (a Around) LaneTaken(ctx context.Context, l store.LaneTake) (grant fleet.Grant, claim fleet.Claim, err error) {
	err = a.Do("LaneTaken", func() error { grant, claim, err = a.Store.LaneTaken(ctx, l); return err })
	return grant, claim, err
}

func (a Around) OnBranch(ctx context.Context, id fleet.RunID, branch string) error {
	return a.Do("OnBranch", func() error { return a.Store.OnBranch(ctx, id, branch) })
}

func (a Around) LaneReleased(ctx context.Context, id fleet.RunID) error {
	return a.Do("LaneReleased", func() error { return a.Store.LaneReleased(ctx, id) })
}

func (a Around) TakeForRun(ctx context.Context, r store.RunTake) (grant fleet.Grant, claim fleet.Claim, err error) {
	err = a.Do("TakeForRun", func() error { grant, claim, err = a.Store.TakeForRun(ctx, r); return err })
	return grant, claim, err
}

func (a Around) Denied(ctx context.Context, d fleet.DeniedClaim) error {
	return a.Do("Denied", func() error { return a.Store.Denied(ctx, d) })
}

func (a Around) Complete(ctx context.Context, r fleet.Run) error {
	return a.Do("Complete", func() error { return a.Store.Complete(ctx, r) })
}

func (a Around) EndRun(ctx context.Context, r fleet.Run) error {
	return a.Do("EndRun", func() error { return a.Store.EndRun(ctx, r) })
}

func (a Around) Respawn(ctx context.Context, run fleet.RunID, next *fleet.Run, reason string, b store.Bounds) (by fleet.RunID, why string, err error) {
	err = a.Do("Respawn", func() error { by, why, err = a.Store.Respawn(ctx, run, next, reason, b); return err })
	return by, why, err
}

func (a Around) NoticeDue(ctx context.Context, n fleet.Notice, every time.Duration) (bool, error) {
	return around(a, "NoticeDue", func() (bool, error) { return a.Store.NoticeDue(ctx, n, every) })
}

func (a Around) ForgetNotice(ctx context.Context, n fleet.Notice) error {
	return a.Do("ForgetNotice", func() error { return a.Store.ForgetNotice(ctx, n) })
}

func (a Around) LeaveTask(ctx context.Context, h store.Hold, m fleet.TaskMemory) error {
	return a.Do("LeaveTask", func() error { return a.Store.LeaveTask(ctx, h, m) })
}

func (a Around) SeeTasks(ctx context.Context, list []store.TaskSight) error {
	return a.Do("SeeTasks", func() error { return a.Store.SeeTasks(ctx, list) })
}

func (a Around) SaveReview(ctx context.Context, r fleet.Review) error {
	return a.Do("SaveReview", func() error { return a.Store.SaveReview(ctx, r) })
}

func (a Around) SaveFeedback(ctx context.Context, f fleet.Feedback) error {
	return a.Do("SaveFeedback", func() error { return a.Store.SaveFeedback(ctx, f) })
}

func (a Around) AddFates(ctx context.Context, list []fleet.Fate) ([]fleet.Fate, error) {
	return around(a, "AddFates", func() ([]fleet.Fate, error) { return a.Store.AddFates(ctx, list) })
}

func (a Around) Abandon(ctx context.Context, g store.Gone) (bool, error) {
	return around(a, "Abandon", func() (bool, error) { return a.Store.Abandon(ctx, g) })
}

func (a Around) SeePlaces(ctx context.Context, at time.Time, list []fleet.PlaceSight) error {
	return a.Do("SeePlaces", func() error { return a.Store.SeePlaces(ctx, at, list) })
}

func (a Around) MoveEdge(ctx context.Context, cut store.Cut) (bool, error) {
	return around(a, "MoveEdge", func() (bool, error) { return a.Store.MoveEdge(ctx, cut) })
}

func (a Around) Forget(ctx context.Context, before time.Time) (int, error) {
	return around(a, "Forget", func() (int, error) { return a.Store.Forget(ctx, before) })
}
