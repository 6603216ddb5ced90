package engine_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stint/internal/engine"
	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/testkit/must"
)

// twoPools has two categories in each, all of which could be started.
const twoPools = `
[fanout]
slots = 3
[pool.monitoring]
workers = 2
slots = 2
[category.code]
self_directed = true
[category.docs]
self_directed = true
[category.alerts]
pool = "monitoring"
self_directed = true
[category.uptime]
pool = "monitoring"
self_directed = true
`

// decisions returns a fire's decisions, by category.
func decisions(r engine.FireReport) (started []fleet.Category, reasons map[fleet.Category]string) {
	reasons = map[fleet.Category]string{}
	for _, c := range r.Choices {
		if c.Decision == fleet.Spawn {
			started = append(started, c.Category)
		} else {
			reasons[c.Category] = c.Reason
		}
	}
	slices.Sort(started)
	return started, reasons
}

// TestPoolsAreFiredApart has each fire start what is of its pool, and replay to the same.
func TestPoolsAreFiredApart(t *testing.T) {
	t.Parallel()
	elsewhere := map[string]map[fleet.Category]string{
		"":           {"alerts": "of pool monitoring", "uptime": "of pool monitoring"},
		"monitoring": {"code": "of pool autonomous", "docs": "of pool autonomous"},
	}
	for pool, want := range map[string][]fleet.Category{"": {"code", "docs"}, "monitoring": {"alerts", "uptime"}} {
		b := newBench(t, twoPools)
		r := must.Get(b.fire(engine.FanoutOptions{Pool: pool}))(t)
		started, reasons := decisions(r)
		if diff := cmp.Diff(started, want); diff != "" {
			t.Errorf("pool %q (-got +want):\n%s", pool, diff)
		}
		if diff := cmp.Diff(reasons, elsewhere[pool]); diff != "" {
			t.Errorf("pool %q: reasons (-got +want):\n%s", pool, diff)
		}
		if len(r.Due) != 2 {
			t.Errorf("pool %q: got entitled %v, want its own alone", pool, r.Due)
		}
		if got := inputs(t, r.Fire).FirePool; got != pool {
			t.Errorf("pool %q: got %q on record", pool, got)
		}
		wantIdentical(t, b, r.ID)
	}
}

func wantIdentical(t *testing.T, b *bench, id fleet.FireID) {
	t.Helper()
	again, err := b.explain().Replay(t.Context(), id)
	if err != nil || len(again.Differences) > 0 {
		t.Errorf("replay of fire %d: %v, differences %+v", id, err, again.Differences)
	}
}

// TestPoolSlots has a pool's own slots bound it, and the fleet's bound all.
func TestPoolSlots(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, pool string
		running    []fleet.Category
		want       int
	}{
		{"fleet", "", nil, 3},
		{"fleet, others run", "", []fleet.Category{"alerts"}, 2},
		{"pool", "monitoring", nil, 2},
		{"pool, others run", "monitoring", []fleet.Category{"code"}, 2},
		{"pool, others run in the fleet's slots", "monitoring", []fleet.Category{"code", "docs"}, 1},
		{"pool, its own run", "monitoring", []fleet.Category{"uptime"}, 1},
		{"none", "monitoring", []fleet.Category{"code", "docs", "uptime"}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, twoPools)
			for _, c := range tt.running {
				_, lock := b.dead(c, "task-"+fleet.TaskID(c))
				defer b.closeAll(lock)
			}
			s, err := b.explain().Select(t.Context(), inspect.SelectOptions{Pool: tt.pool})
			if err != nil || s.Free != tt.want {
				t.Errorf("got %d slots, %v, want %d", s.Free, err, tt.want)
			}
		})
	}
}

func TestSelectPool(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoPools)
	tests := []struct {
		name    string
		options inspect.SelectOptions
		ranked  int
		workers int
		refused bool
	}{
		{"default", inspect.SelectOptions{}, 2, 3, false},
		{"pool", inspect.SelectOptions{Pool: "monitoring"}, 2, 2, false},
		{"category of a pool", inspect.SelectOptions{Category: "alerts"}, 1, 2, false},
		{"category of its pool", inspect.SelectOptions{Category: "alerts", Pool: "monitoring"}, 1, 2, false},
		{"category of another pool", inspect.SelectOptions{Category: "alerts", Pool: "autonomous"}, 0, 0, true},
		{"no pool", inspect.SelectOptions{Pool: "nightly"}, 0, 0, true},
	}
	for _, tt := range tests {
		s, err := b.explain().Select(t.Context(), tt.options)
		if errors.Is(err, fleet.ErrUsage) != tt.refused || len(s.Ranked()) != tt.ranked || s.Workers != tt.workers {
			t.Errorf("%s: got %d ranked for %d workers, %v", tt.name, len(s.Ranked()), s.Workers, err)
		}
	}
	if _, err := b.fire(engine.FanoutOptions{Pool: "nightly"}); !errors.Is(err, fleet.ErrUsage) {
		t.Errorf("fire of no pool: got %v", err)
	}
}

// TestPayloadOfAnotherPool drops what is not of the pool. The allow-list stands in for what is no
// ranking alone, with what is of the pool.
func TestPayloadOfAnotherPool(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, payload, pool string
		started             []fleet.Category
		source              fleet.Source
	}{
		{"dropped", `{"selected":{"category":"alerts"},"alternatives":[{"category":"docs"}]}`, "", []fleet.Category{"docs"}, fleet.FromAlternatives},
		{"no ranking", `{}`, "monitoring", []fleet.Category{"alerts", "uptime"}, fleet.FromAllowList},
	}
	for _, tt := range tests {
		b := newBench(t, twoPools)
		r := must.Get(b.fire(engine.FanoutOptions{Pool: tt.pool, Payload: []byte(tt.payload)}))(t)
		started, reasons := decisions(r)
		must.Equal(t, tt.name, started, tt.started)
		for _, c := range r.Choices {
			if c.Decision == fleet.Spawn && c.Source != tt.source {
				t.Errorf("%s: got %s from %s, want %s", tt.name, c.Category, c.Source, tt.source)
			}
			if want := rank.OfPool(b.Config.Categories[c.Category].Pool); c.Decision != fleet.Spawn && reasons[c.Category] != want {
				t.Errorf("%s: got %s skipped for %q, want %q", tt.name, c.Category, c.Reason, want)
			}
		}
		wantIdentical(t, b, r.ID)
	}
}

// TestExternalSelectorOfAnotherPool starts nothing where another selector names nothing that the
// pool could start, as a payload that is handed in would.
func TestExternalSelectorOfAnotherPool(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoPools)
	b.Ranker = ranker(`{"selected":{"category":"code"}}`)
	r, err := b.fire(engine.FanoutOptions{Pool: "monitoring"})
	if started, reasons := decisions(r); !errors.Is(err, fleet.ErrNothing) || len(started) > 0 || reasons["code"] != "of pool autonomous" || r.Fallback != "" {
		t.Errorf("got %v started, %v, fallback %q, %v, want nothing", started, reasons, r.Fallback, err)
	}
}

// ranker is an external selector that always says the same.
type ranker string

func (r ranker) Ask(context.Context, []byte, ...string) ([]byte, error) { return []byte(r), nil }

// TestRespawnOfAnotherPool has a session follow in a pool other than the default one.
func TestRespawnOfAnotherPool(t *testing.T) {
	t.Parallel()
	later := &timers{}
	b := newBench(t, "[pool.monitoring]\n[category.docs]\n[category.code]\npool = \"monitoring\"\n")
	b.Later, b.Runner = later, says(good)
	b.addTask("fix", "code", fleet.StateTodo)
	r := must.Get(b.fire(engine.FanoutOptions{Pool: "monitoring"}))(t)
	b.later(time.Second)
	if next := b.follower(b.mustRun(b.runOf(r, "code"))); next.Category != "code" || len(later.specs) != 1 {
		t.Errorf("got %+v by %+v", next, later.specs)
	}
}

// TestPivotStaysInItsPool has a payload name a category of another pool between two of the
// fire's own: the worker that is denied passes it.
func TestPivotStaysInItsPool(t *testing.T) {
	t.Parallel()
	b := newBench(t, "[category.code]\n[category.docs]\n[category.alerts]\npool = \"monitoring\"\n[pool.monitoring]\n")
	b.addTask("fix", "code", fleet.StateTodo)
	b.addTask("look", "alerts", fleet.StateTodo)
	b.addTask("write", "docs", fleet.StateTodo)
	r := must.Get(b.fire(engine.FanoutOptions{
		Payload: []byte(`{"alternatives":[{"category":"code"},{"category":"alerts"},{"category":"docs"}]}`), Workers: 1,
	}))(t)
	b.Store = snatch{b.db, []fleet.TaskID{"fix"}}
	run, err := b.Run(t.Context(), engine.RunOptions{Run: b.runOf(r, "code")})
	if err != nil || run.Category != "docs" {
		t.Errorf("got %v in %s, want a session in docs", err, run.Category)
	}
}
