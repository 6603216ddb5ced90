package engine_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// timed gives the bench's pools such a timer, and takes down the fires that it is to make.
func (b *bench) timed(timer fleet.Timer) *timers {
	later := &timers{}
	b.Later = later
	b.Timers = func(_ context.Context, pools []string) ([]fleet.Timer, error) {
		timer.Pool, timer.Unit = pools[0], pools[0]+".timer"
		return []fleet.Timer{timer}, nil
	}
	return later
}

// TestWakeAfterFire has a fire find that code cools down for three minutes, after which docs may be open.
func TestWakeAfterFire(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		active  bool
		next    time.Duration // 0: it fires now
		options engine.FanoutOptions
		docs    bool // can be started
		want    bool
		config  string
	}{
		{"the timer comes later", true, time.Hour, engine.FanoutOptions{}, false, true, ""},
		{"the timer comes first", true, 2 * time.Minute, engine.FanoutOptions{}, false, false, ""},
		{"the timer fires now", true, 0, engine.FanoutOptions{}, false, true, ""},
		{"the timer is off", false, time.Hour, engine.FanoutOptions{}, false, false, ""},
		{"without a manager", true, time.Hour, engine.FanoutOptions{Detached: true}, false, false, ""},
		{"a dry run", true, time.Hour, engine.FanoutOptions{DryRun: true}, false, false, ""},
		{"there was room", true, time.Hour, engine.FanoutOptions{Workers: 2}, true, true, ""},
		{"there was none", true, time.Hour, engine.FanoutOptions{Workers: 1}, true, false, ""},
		{"no slot is free", true, time.Hour, engine.FanoutOptions{Workers: 2}, true, false, "[fanout]\nslots = 1\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "[category.code]\n[category.docs]\n"+tt.config)
			timer := fleet.Timer{Active: tt.active, Firing: tt.next == 0}
			if tt.next > 0 {
				timer.Next = b.clock().Add(tt.next)
			}
			later := b.timed(timer)
			b.addTask("fix", "code", fleet.StateTodo)
			if tt.docs {
				b.addTask("write", "docs", fleet.StateTodo)
			}
			b.session("0r1", "code", "fake", fleet.Run{Verdict: fleet.Verdict{Outcome: fleet.Productive, Grade: new(0.5)}})
			ends := b.clock().Add(3 * time.Minute)
			if _, err := b.fire(tt.options); err != nil && !errors.Is(err, fleet.ErrNothing) {
				t.Fatal(err)
			}
			var want []string
			if tt.want {
				want = []string{"autonomous.timer " + ends.UTC().Format(time.RFC3339)}
			}
			if !slices.Equal(later.wakes, want) {
				t.Errorf("got %q, want %q", later.wakes, want)
			}
		})
	}
}

// TestWakeAfterSession has a session that meets a limit, or another end, in a unit or by hand.
func TestWakeAfterSession(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		result string
		hand   bool
		want   int
	}{
		{"a limit", `{"outcome":"quota","reason":"enough"}`, false, 1},
		{"a limit that is over before the cooldown", `{"outcome":"quota","reason":"enough","quota":{"reset_at":"2026-06-01T12:00:01Z"}}`, false, 1},
		{"a limit, by hand", `{"outcome":"quota","reason":"enough"}`, true, 0},
		{"a failure, after which its category cools down", `{"outcome":"failed","reason":"no"}`, false, 0},
		{"work, after which its category cools down", `{"outcome":"productive","grade":0.5}`, false, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "[category.code]\n")
			b.Runner = says(tt.result)
			b.addTask("fix", "code", fleet.StateTodo)
			o := engine.RunOptions{Category: "code", Binary: "/usr/bin/stint"}
			if !tt.hand {
				o = engine.RunOptions{Run: b.runOf(must.Get(b.fire(engine.FanoutOptions{}))(t), "code"), Binary: o.Binary}
			}
			later := b.timed(fleet.Timer{Active: true, Next: b.clock().AddDate(0, 0, 1)})
			r, _ := b.Run(b.Context(), o)
			if len(later.wakes) != tt.want {
				t.Errorf("after %s: got %q, want %d", r.Verdict.Outcome, later.wakes, tt.want)
			}
		})
	}
}
