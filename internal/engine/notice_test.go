package engine_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// noted are the notices that went out.
type noted struct{ list []string }

func (n *noted) Send(_ context.Context, x fleet.Notice) error {
	n.list = append(n.list, string(x.Event)+" "+x.Subject())
	return nil
}

// TestFireNotifiesOnce: the first fire that meets a full review or a used-up budget sends the notice, and no later one
// before that has ended: a budget with its day, a review when it has opened.
func TestFireNotifiesOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, "[budget]\nruns = 1\n[category.code]\ncooldown = \"0s\"\nself_directed = true\n[category.docs]\n")
	n := &noted{}
	b.Notices = n
	fires := func(when string, want ...string) {
		t.Helper()
		for range 3 {
			_, _ = b.fire(engine.FanoutOptions{}) // most start nothing
			b.later(3 * time.Hour)
		}
		slices.Sort(n.list)
		must.Equal(t, when, n.list, want)
		n.list = nil
	}
	b.Gates = waiting{"docs": "5 results wait"}
	must.Get(b.Run(t.Context(), engine.RunOptions{Category: "code"}))(t)
	fires("both", "budget fleet", "wip_full docs")
	b.Gates = waiting{}
	fires("the review is open; it is evening")
	b.Gates = waiting{"docs": "5 results wait"}
	b.later(6 * time.Hour) // the next day, on which the budget begins anew
	must.Get(b.Run(t.Context(), engine.RunOptions{Category: "code"}))(t)
	fires("full again, and used up again", "budget fleet", "wip_full docs")
}

// cutOff sends nothing the first time, as the time for it is up then.
type cutOff struct {
	noted
	up func()
}

func (c *cutOff) Send(ctx context.Context, x fleet.Notice) error {
	if c.up(); ctx.Err() != nil {
		return ctx.Err()
	}
	return c.noted.Send(ctx, x)
}

// TestNoticeWithoutTime is due again at the next fire.
func TestNoticeWithoutTime(t *testing.T) {
	t.Parallel()
	b := newBench(t, "[category.docs]\n")
	b.Gates = waiting{"docs": "5 results wait"}
	ctx, up := context.WithCancel(t.Context())
	n := &cutOff{up: up}
	b.Notices = n
	for _, ctx := range []context.Context{ctx, t.Context()} {
		_, _ = b.Fanout(ctx, engine.FanoutOptions{Workers: 1, Units: starter{}, Binary: "/usr/bin/stint"}) // it starts nothing
		b.later(time.Minute)
	}
	must.Equal(t, "sent", n.list, []string{"wip_full docs"})
}
