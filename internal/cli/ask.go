package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stint/internal/agent/rundir"
	"stint/internal/config"
	"stint/internal/door"
	"stint/internal/fleet"
	"stint/internal/store"
)

// ask has a request answered: at the door of the session that this is part of, or else from the
// fleet's own store and tasks. A configuration on the command line means another fleet.
func (a *app) ask(ctx context.Context, q door.Request) (door.Answer, error) {
	if path := a.Getenv("STINT_SOCKET"); path != "" && a.configPath == "" {
		if answer, err := door.Ask(ctx, path, q); !errors.Is(err, door.ErrClosed) {
			return answer, err
		}
	}
	if q.Verb == door.Result { // its file is all that it needs
		return putResult(a.Getenv("STINT_RESULT"), q)
	}
	c, err := a.loadConfig()
	if err != nil {
		return door.Answer{}, err
	}
	return a.answer(ctx, c, q)
}

// doors are the doors of a fleet's sessions.
type doors struct {
	*app
	*config.Config
}

// Open serves the door of a run.
func (d doors) Open(r fleet.Run) (shut func(), err error) {
	files := fleet.FilesOf(d.State, r.ID)
	if err := rundir.MakeFolder(files.Out); err != nil {
		return nil, err
	}
	return door.Server{
		Session: door.Session{Run: r.ID, Key: r.Key, TTL: d.Categories[r.Category].TTL}, Log: d.log,
		Answer: func(ctx context.Context, q door.Request) (door.Answer, error) {
			if q.Verb == door.Result {
				return putResult(files.Result, q)
			}
			return d.answer(ctx, d.Config, q)
		},
	}.Serve(files.Door)
}

// answer answers what anybody may ask who may write the store, and an agent at its door.
func (a *app) answer(ctx context.Context, c *config.Config, q door.Request) (answer door.Answer, err error) {
	if q.Verb == door.TaskAdd {
		return a.addTask(ctx, c, q)
	}
	how := writing
	switch {
	case q.Verb == door.ClaimVerify || q.Verb == door.TaskShow:
		how = reading
	case q.DryRun:
		how = trying
	}
	h := store.Hold{Key: q.Key, Holder: q.Holder, Epoch: q.Epoch}
	err = a.withStore(ctx, c, how, func(s store.Store) (err error) {
		switch q.Verb {
		case door.ClaimVerify:
			answer.Claim, err = a.verified(ctx, s, q)
		case door.ClaimTake:
			answer.Grant, answer.Claim, err = a.desk(c, s).Take(ctx, store.TakeRequest{Key: q.Key, Holder: q.Holder, Renews: q.Named, TTL: q.TTL, Note: q.Note})
			if answer.Grant != fleet.Denied {
				answer.Note = excludesNobody(c, q.Key, string(answer.Grant))
			}
		case door.ClaimRenew:
			var kept store.Kept
			kept, err = s.Renew(ctx, h, q.TTL)
			answer.Claim, err = kept.Claim, whyLost(ctx, s, h, "renew", err)
		case door.ClaimRelease:
			answer.Claim, err = a.desk(c, s).Release(ctx, h, q.Run, q.Ending, q.Reason)
			err = whyLost(ctx, s, h, "release", err)
		case door.TaskShow:
			answer.Task, err = a.shownTask(ctx, c, s, q.Task)
		case door.TaskAdd, door.Result: // answered without the store
		}
		if errors.Is(err, fleet.ErrLost) {
			err = fleet.WithHint(err, nearClaims(ctx, s, cmp.Or(q.Key, answer.Claim.Key)))
		}
		return err
	})
	return answer, err
}

// verified is the claim that still stands. With a lost one it is the claim that was asked for.
func (a *app) verified(ctx context.Context, s store.Store, q door.Request) (fleet.Claim, error) {
	asked := fleet.Claim{Key: q.Key, Epoch: q.Epoch}
	if q.Key == "" {
		if s == nil {
			return asked, fmt.Errorf("run %s: %w", q.Run, fleet.ErrNotFound)
		}
		run, err := s.Run(ctx, q.Run)
		if err != nil {
			return asked, err
		}
		asked.Key, asked.Epoch, q.Holder = run.Key, run.Epoch, run.ID.Holder()
	}
	held, at, err := a.check(ctx, s, asked.Key)
	if err != nil {
		return asked, err
	}
	if held.Epoch != asked.Epoch || !held.Current(at) || q.Holder != "" && q.Holder != held.Holder {
		return asked, fmt.Errorf("verify claim %q at epoch %d: %w", asked.Key, asked.Epoch, fleet.ErrLost)
	}
	return held, nil
}

// check reads a claim, and when; in a fleet that has never run every key is free.
func (a *app) check(ctx context.Context, s store.Store, key fleet.Key) (fleet.Claim, time.Time, error) {
	if s == nil {
		a.nothingYet()
		return fleet.Claim{Key: key}, a.Now(), nil
	}
	return s.Check(ctx, key)
}

// whyLost says of a claim that is lost what became of it.
func whyLost(ctx context.Context, s store.Store, h store.Hold, verb string, err error) error {
	if !errors.Is(err, fleet.ErrLost) {
		return err
	}
	c, _, unread := s.Check(ctx, h.Key)
	var reason string
	switch {
	case unread != nil:
		return err
	case c.Epoch == 0:
		reason = "it was never claimed"
	case !c.ReleasedAt.IsZero():
		reason = fmt.Sprintf("%s gave it back at %s", c.Holder, stamp(c.ReleasedAt))
	case c.Holder != h.Holder:
		reason = fmt.Sprintf("%s holds it, not %s", c.Holder, h.Holder)
	case h.Epoch != 0 && c.Epoch != h.Epoch:
		reason = fmt.Sprintf("it is at epoch %d, not %d", c.Epoch, h.Epoch)
	default:
		reason = "it expired at " + stamp(c.ExpiresAt)
	}
	return fmt.Errorf("%s claim %q: %s: %w", verb, h.Key, reason, fleet.ErrLost)
}

// shownTask is a task as it stands, with its body.
func (a *app) shownTask(ctx context.Context, c *config.Config, s store.Store, id fleet.TaskID) (*door.Task, error) {
	folder := taskFolder(c)
	t, err := folder.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	tasks, _, err := folder.List(ctx)
	if err != nil {
		return nil, err
	}
	known, err := a.standings(ctx, c, s, nil, tasks)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(tasks, func(listed fleet.Task) bool { return listed.ID == t.ID }); i >= 0 {
		t.State = tasks[i].State
	}
	return &door.Task{Task: t, Blocked: known.blocked[id], StateFrom: known.from[id]}, nil
}
