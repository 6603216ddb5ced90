package web

import (
	"context"
	"sync"
	"time"

	"stint/internal/explain/inspect"
)

const (
	// lookEvery is the interval of looks for changes while anybody waits for one.
	lookEvery = time.Second
	// maxWaiting bounds how many may wait: each is a connection and a goroutine.
	maxWaiting = 64
)

// unavailable is the version of a fleet that cannot be read.
const unavailable = "unavailable"

// version is the state as it is now. A fleet that cannot be read has one, too: it ends
// when the fleet can be read again.
func (s *site) version(ctx context.Context) string {
	v := unavailable
	_ = s.with(ctx, func(e *inspect.Explainer) error { // the page says why
		v = e.Version(ctx)
		return nil
	})
	return v
}

// changes reports every new version to those who wait. One goroutine looks, for all of them,
// and only while there are any.
type changes struct {
	look func(context.Context) string

	mu      sync.Mutex
	waiting map[chan string]bool
	last    string
	stop    context.CancelFunc // of who looks; nil: nobody does
}

// wait gives a channel that always holds the latest version that was not yet taken from
// it, and what to call when it is no longer wanted. It reports false when there are too
// many already.
func (c *changes) wait(parent context.Context) (versions <-chan string, leave func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) >= maxWaiting {
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
