package storekit

import (
	"context"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
)

// Around is a store whose writes a function makes, which is given the name of each: it may fail, or end
// the process, before the write or after it. The writes are those of the engine; people's own, such as
// pauses, go their way.
func Around(s store.Store, do func(write string, do func() error) error) store.Store {
	return around{s, do}
}

type around struct {
	store.Store
	do func(write string, do func() error) error
}

// answered is do for a write with an answer, which gets lost with a failure that is not the store's.
func answered[T any](a around, write string, do func() (T, error)) (got T, err error) {
	var own error
	err = a.do(write, func() error {
		got, own = do()
		return own
	})
	if err != nil && own == nil {
		var none T
		return none, err
	}
	return got, err
}

func (a around) Take(ctx context.Context, r store.TakeRequest) (grant fleet.Grant, claim fleet.Claim, err error) {
	err = a.do("Take", func() error { grant, claim, err = a.Store.Take(ctx, r); return err })
	return grant, claim, err
}

func (a around) Renew(ctx context.Context, h store.Hold, ttl time.Duration) (store.Kept, error) {
	return answered(a, "Renew", func() (store.Kept, error) { return a.Store.Renew(ctx, h, ttl) })
}

func (a around) Release(ctx context.Context, h store.Hold, ending fleet.Ending, reason string) (fleet.Claim, error) {
	return answered(a, "Release", func() (fleet.Claim, error) { return a.Store.Release(ctx, h, ending, reason) })
}

func (a around) RecordFire(ctx context.Context, f store.Firing) (fleet.Fire, error) {
	return answered(a, "RecordFire", func() (fleet.Fire, error) { return a.Store.RecordFire(ctx, f) })
}

func (a around) NotStarted(ctx context.Context, fire fleet.FireID, run fleet.RunID, reason string) (bool, error) {
	return answered(a, "NotStarted", func() (bool, error) { return a.Store.NotStarted(ctx, fire, run, reason) })
}

func (a around) AddRun(ctx context.Context, r fleet.Run) error {
	return a.do("AddRun", func() error { return a.Store.AddRun(ctx, r) })
}

func (a around) Begin(ctx context.Context, b store.Begin) (store.Begun, error) {
	return answered(a, "Begin", func() (store.Begun, error) { return a.Store.Begin(ctx, b) })
}

func (a around) OnBranch(ctx context.Context, id fleet.RunID, branch string, c fleet.Conversation) error {
	return a.do("OnBranch", func() error { return a.Store.OnBranch(ctx, id, branch, c) })
}

func (a around) Complete(ctx context.Context, r fleet.Run) error {
	return a.do("Complete", func() error { return a.Store.Complete(ctx, r) })
}

func (a around) Respawn(ctx context.Context, run fleet.RunID, next *fleet.Run, reason string, b store.Bounds) (by fleet.RunID, why string, err error) {
	err = a.do("Respawn", func() error { by, why, err = a.Store.Respawn(ctx, run, next, reason, b); return err })
	return by, why, err
}

func (a around) NoticeDue(ctx context.Context, n fleet.Notice, every time.Duration) (bool, error) {
	return answered(a, "NoticeDue", func() (bool, error) { return a.Store.NoticeDue(ctx, n, every) })
}

func (a around) ForgetNotice(ctx context.Context, n fleet.Notice) error {
	return a.do("ForgetNotice", func() error { return a.Store.ForgetNotice(ctx, n) })
}

func (a around) LeaveTask(ctx context.Context, h store.Hold, m fleet.TaskMemory) error {
	return a.do("LeaveTask", func() error { return a.Store.LeaveTask(ctx, h, m) })
}

func (a around) SeeTasks(ctx context.Context, list []store.TaskSight) error {
	return a.do("SeeTasks", func() error { return a.Store.SeeTasks(ctx, list) })
}

func (a around) SaveReview(ctx context.Context, r fleet.Review) error {
	return a.do("SaveReview", func() error { return a.Store.SaveReview(ctx, r) })
}

func (a around) SaveFeedback(ctx context.Context, f fleet.Feedback) error {
	return a.do("SaveFeedback", func() error { return a.Store.SaveFeedback(ctx, f) })
}

func (a around) AddFates(ctx context.Context, list []fleet.ReviewOutcome) ([]fleet.ReviewOutcome, error) {
	return answered(a, "AddFates", func() ([]fleet.ReviewOutcome, error) { return a.Store.AddFates(ctx, list) })
}

func (a around) Abandon(ctx context.Context, g store.Gone) (bool, error) {
	return answered(a, "Abandon", func() (bool, error) { return a.Store.Abandon(ctx, g) })
}

func (a around) SeePlaces(ctx context.Context, at time.Time, list []fleet.PlaceSight) error {
	return a.do("SeePlaces", func() error { return a.Store.SeePlaces(ctx, at, list) })
}
