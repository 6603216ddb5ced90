package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync"
	"time"

	"stint/internal/engine"
	"stint/internal/store"
)

const (
	// lookEvery is how often somebody looks for changes while anybody waits for one.
	lookEvery = time.Second
	// stir is how often what runs counts as changed by itself: its tokens, and how long it
	// took, are in no store.
	stir = 20 * time.Second
	// mostWaiting bounds how many may wait: each is a connection and a goroutine.
	mostWaiting = 64
)

// version names the state of all that the pages show. It is cheap at any age of the
// record: it reads all that is open or learnt, and the last of the rest.
func version(ctx context.Context, e *engine.Engine, now time.Time) string {
	if e.Store == nil {
		return "nothing"
	}
	var state struct {
		store.Snapshot
		Fires, Runs any
		Lapsed      int
		Stir        int64
	}
	var err [3]error
	state.Snapshot, err[0] = e.Store.Snapshot(ctx)
	state.Fires, err[1] = e.Store.LastFires(ctx, store.FireQuery{Brief: true, Limit: 1})
	state.Runs, err[2] = e.Store.LastRuns(ctx, store.RunQuery{Limit: 1})
	state.Lapsed = lapsed(state.Snapshot, now)
	if len(state.Open) > 0 {
		state.Stir = now.Unix() / int64(stir.Seconds())
	}
	for _, err := range err {
		if err != nil {
			return "unknown"
		}
	}
	text, jsonErr := json.Marshal(state)
	if jsonErr != nil {
		return "unknown"
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// lapsed counts what ended by the clock alone: nothing of it changes in the store.
func lapsed(s store.Snapshot, now time.Time) (n int) {
	over := func(at time.Time) {
		if !at.IsZero() && !at.After(now) {
			n++
		}
	}
	for _, c := range s.Claims {
		over(c.ExpiresAt)
	}
	for _, p := range s.Pauses {
		over(p.Until)
	}
	for _, a := range s.Agents {
		over(a.Until)
	}
	return n
}

// unavailable is the version of a fleet that cannot be read.
const unavailable = "unavailable"

// version is the state as it is now. A fleet that cannot be read has one, too: it ends
// when the fleet can be read again.
func (s *site) version(ctx context.Context) string {
	v := unavailable
	_ = s.with(ctx, func(e *engine.Engine) error { // the page says why
		v = version(ctx, e, s.o.Now())
		return nil
	})
	return v
}

// changes tells those who wait of every new version. One goroutine looks, for all of them,
// and only while there are any.
type changes struct {
	look func(context.Context) string

	mu      sync.Mutex
	waiting map[chan string]bool
	last    string
	stop    context.CancelFunc // of who looks; nil: nobody does
}

func newChanges(look func(context.Context) string) *changes {
	return &changes{look: look, waiting: map[chan string]bool{}}
}

// wait gives a channel that always holds the latest version that was not yet taken from
// it, and what to call when it is no longer wanted. It reports false when there are too
// many already.
func (c *changes) wait(parent context.Context) (versions <-chan string, leave func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) >= mostWaiting {
		return nil, nil, false
	}
	mine := make(chan string, 1)
	c.waiting[mine] = true
	switch {
	case c.stop == nil:
		var ctx context.Context
		ctx, c.stop = context.WithCancel(context.WithoutCancel(parent)) // it looks for others, too
		go c.run(ctx)
	case c.last != "":
		mine <- c.last
	}
	return mine, func() { c.leave(mine) }, true
}

func (c *changes) leave(mine chan string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, mine)
	if len(c.waiting) == 0 && c.stop != nil {
		c.stop()
		c.stop, c.last = nil, ""
	}
}

func (c *changes) run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		c.tell(ctx, c.look(ctx))
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (c *changes) tell(ctx context.Context, v string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil || v == c.last {
		return
	}
	c.last = v
	for one := range c.waiting {
		select {
		case <-one: // an older one that was not taken
		default:
		}
		one <- v
	}
}
