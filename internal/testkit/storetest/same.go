package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/store/table"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storekit"
)

// ram is an engine without a database: each write knows all rows, so that no question has to be answered. What it decides
// does not depend on what a rule asks for.
type ram struct {
	now func() time.Time
	tx  *table.Tx
}

func newRAM(now func() time.Time, s rank.Settings) *ram {
	empty := table.NewTx(s, func([]table.Statement) error { return nil })
	empty.Fleet.Know(table.Fleet{})
	return &ram{now, empty}
}

func (m *ram) Change(_ context.Context, _ book.Kind, decide func(book.Tx) error) error {
	tx := table.NewTx(m.tx.Learn, func([]table.Statement) error { return nil })
	tx.Begin(m.now(), time.Time{})
	for i, t := range tx.Tables() {
		t.Fill(m.tx.Tables()[i])
	}
	tx.Fleet.Know(m.tx.Fleet.Where()...)
	tx.Open.Know(m.tx.Runs.Where()...)
	if err := decide(book.Tx{Tx: tx}); err != nil {
		return err
	}
	m.tx = tx
	return nil
}

// inMemory is a store of which nothing can be read.
type inMemory struct {
	book.Writer
	nothing
}

type nothing struct{ store.Store }

// Same has a store and the one in memory do the same at random, while the clock steps: both
// answer alike, and hold the same rows at the end.
func (contract) Same(t *testing.T, b bundle) {
	rapid.Check(t, func(rt *rapid.T) {
		b := b.fresh(t, rank.Defaults())
		m := newRAM(b.clock.Now, rank.Defaults())
		other := inMemory{Writer: book.Writer{Engine: m}}
		for _, id := range []fleet.RunID{"0r1", "0r2"} {
			must.Do(t, b.AddRun(t.Context(), plannedRun(id)), other.AddRun(t.Context(), plannedRun(id)))
		}
		for n := range rapid.IntRange(1, 24).Draw(rt, "steps") {
			do := drawWrite(rt, n, b.clock.Now())
			if got, want := do(t.Context(), b.Store), do(t.Context(), other); got != want {
				rt.Fatalf("got %s\nwant, as in memory, %s", got, want)
			}
			b.clock.Advance(rapid.SampledFrom([]time.Duration{0, time.Minute, time.Hour, 30 * time.Hour, -time.Hour}).Draw(rt, "step"))
		}
		source, ok := b.Store.(table.Source)
		if !ok {
			t.Fatalf("got a store of type %T, want one whose rows can be read", b.Store)
		}
		stored := EveryRow(t, source)
		// Whether an agent was at work at all is no column.
		if diff := gocmp.Diff(stored, everyRow(m.tx), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(fleet.Verdict{}, "Internal")); diff != "" {
			rt.Fatalf("rows (-stored +in memory):\n%s", diff)
		}
	})
}

// EveryRow is all rows of a store, by table.
func EveryRow(t *testing.T, s table.Source) map[string]any {
	t.Helper()
	tx := table.NewTx(rank.Defaults(), func(list []table.Statement) error {
		return s.Read(t.Context(), func(time.Time) []table.Statement { return list })
	})
	tx.All()
	return everyRow(tx)
}

func everyRow(tx *table.Tx) map[string]any {
	all := map[string]any{"fleet": tx.Fleet.Where()}
	for _, t := range tx.Tables() {
		all[t.Name()] = reflect.ValueOf(t).MethodByName("Where").Call(nil)[0].Interface()
	}
	return all
}

// answer has the part of a write's answer that a caller can see.
func answer(err error, parts ...any) string {
	text := ""
	for _, part := range parts {
		text += fmt.Sprintf("%+v ", part)
	}
	for _, known := range []error{fleet.ErrLost, fleet.ErrUsage, fleet.ErrNotFound} {
		if errors.Is(err, known) {
			return text + known.Error()
		}
	}
	return text + fmt.Sprint(err)
}

// drawWrite is any write, by a few people and sessions at a few tasks, or a session from its
// beginning to its end. It is the nth.
func drawWrite(rt *rapid.T, n int, now time.Time) func(ctx context.Context, w store.Store) string {
	pick := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(rt, label) }
	some := func(label string, most int) int { return rapid.IntRange(0, most).Draw(rt, label) }
	yes := func(label string) bool { return rapid.Bool().Draw(rt, label) }
	id, next := fleet.RunID(pick("run", "0r1", "0r1", "0r2", "0r3")), fleet.RunID(pick("next", "0r3", "0r4"))
	category, task := fleet.Category(pick("category", "code", "docs")), fleet.TaskID(pick("task", "fix", "ä"))
	agent, reason := pick("agent", "", "claude", "codex"), pick("reason", "", "so")
	ttl := time.Duration(rapid.SampledFrom([]int{0, 1, 60, 3600}).Draw(rt, "ttl")) * time.Second
	epoch := fleet.Epoch(some("epoch", 3))
	planned := fleet.Run{ID: id, Location: fleet.Location{Host: pick("host", "", "a", "b"), Boot: pick("boot", "", "1", "2")}, Category: category, Source: fleet.FromSelected, Agent: agent, CreatedAt: now}
	after := planned
	after.ID, after.Source = next, fleet.FromRespawn
	take := store.TakeRequest{
		Key: fleet.Key(pick("key", "fix", "B", "ä", string(fleet.LaneKey("code", 1)))), Holder: fleet.Holder(pick("holder", "bob", string(id.Holder()))), TTL: ttl,
		Renews: yes("renews"), Note: reason, Attempt: pick("attempt", "", "x"),
		Known: store.Known{Holder: id.Holder(), Epoch: epoch, Session: rapid.SampledFrom([]fleet.Liveness{fleet.Lives, fleet.Gone, fleet.Unknown}).Draw(rt, "session")},
	}
	hold := store.Hold{Key: take.Key, Holder: take.Holder, Epoch: epoch, Kept: yes("kept"), Tail: pick("tail", "", "it said so")}
	forRun := storekit.RunTake{TakeRequest: take, Run: id, Task: task, Lessons: []fleet.LessonUse{{Lesson: "a", Version: pick("version", "1", "2"), Injected: yes("injected")}}}
	forRun.Key, forRun.Holder, forRun.Renews = task.Key(), id.Holder(), true
	forRun.Agent, forRun.Slots, forRun.Room = agent, some("slots", 2), fleet.Room{Takes: yes("takes"), Limit: 2}
	forRun.Budgets = []fleet.Budget{{Scope: fleet.CategoryScope(category), Runs: some("budget", 3)}}
	if yes("apart") {
		forRun.Apart = []fleet.TaskID{"ä"}
	}
	end := planned
	end.Tail = pick("tail of the end", "", "it said so at last")
	end.Task, end.Key, end.Epoch, end.Usage = task, task.Key(), epoch, fleet.Usage{Models: []string{"m"}}
	end.Verdict = fleet.Verdict{Outcome: rapid.SampledFrom([]fleet.Outcome{fleet.Productive, fleet.Noop, fleet.Failed, fleet.Quota, fleet.Unavailable, fleet.Idle, fleet.Lost}).Draw(rt, "outcome"), Reason: reason}
	end.Left = fleet.TaskLeft{State: fleet.TaskState(pick("state", "", "done")), Worked: yes("worked"), Changed: yes("changed")}
	if yes("graded") {
		end.Verdict.Grade = new(rapid.Float64Range(0, 1).Draw(rt, "grade"))
	}
	if yes("billed") {
		end.Usage.Tokens, end.Usage.USD, end.Usage.Cost = new(int64(some("tokens", 9))), new(float64(some("usd", 9))), fleet.CostReported
	}
	memory := fleet.TaskMemory{Task: task, TaskLeft: fleet.TaskLeft{State: fleet.StateDone, Source: pick("source", "", "tracker"), Owed: fleet.TaskCall(pick("owed", "", "done")), Changed: yes("new state")}, Reason: reason}
	notice := fleet.Notice{Event: fleet.EventQuota, Agent: agent}
	firing := store.Firing{Fire: fleet.Fire{
		At: now, Own: yes("own"), Moves: []fleet.Category{category}, Due: map[fleet.Category]float64{category: 0.5},
		Choices: []fleet.Choice{{Category: category, Decision: fleet.Spawn, Run: next}},
	}, Runs: []fleet.Run{after}, Attempt: take.Attempt, Bounds: store.Bounds{Lanes: map[fleet.Category]int{"code": 1}}}
	firing.Host = fleet.Host{ID: planned.Host, Boot: planned.Boot, Name: pick("name", "x", "y"), Slots: some("slots of the machine", 2), Labels: []string{"big"}}
	pid, lane, fire := 7+some("pid", 1), 1+some("lane", 1), fleet.FireID(1+some("fire", 2))
	resumed, witness := fleet.Category(pick("resumed", "", "code")), pick("witness", "x", "y")
	gone := store.Gone{Run: id, Reason: reason, Used: end.Usage, Tail: end.Tail, Died: now.Add(-time.Minute), Silent: yes("silent"), By: planned.Location}
	sight := store.TaskSight{TaskMemory: memory, Forget: yes("forget"), Over: yes("over"), Owing: yes("owing")}
	review := fleet.Review{Run: id, Decision: fleet.ReviewDecision(pick("decision", "", "rejected")), Check: fleet.ReviewCheck{Tip: reason, OK: yes("ok")}}
	said := fleet.Feedback{Run: id, Task: task, Rounds: some("rounds", 2), Seen: []string{"a", "b"}, Said: reason, At: now}
	place := rapid.SampledFrom([]fleet.PlaceState{fleet.PlaceWaits, fleet.PlaceOut, fleet.PlaceReviewed, fleet.PlaceEmpty}).Draw(rt, "place")
	worked := end // as a session of its own does
	worked.ID = fleet.RunID(fmt.Sprintf("0s%02d", n))
	begins := forRun
	begins.Run, begins.Holder, begins.TTL, begins.Budgets, begins.Apart, begins.Room, begins.Slots = worked.ID, worked.ID.Holder(), time.Minute, nil, nil, fleet.Room{}, 0
	before := fleet.RunID(fmt.Sprintf("0s%02d", some("before", n)))
	session := func(ctx context.Context, w store.Store) string {
		err := w.AddRun(ctx, fleet.Run{ID: worked.ID, Category: category, Source: fleet.FromSelected, Agent: agent, CreatedAt: now})
		g, c, taken := storekit.TakeForRun(ctx, w, begins)
		end := worked
		end.Epoch = c.Epoch
		return answer(errors.Join(err, taken, w.Complete(ctx, end)), g, c)
	}
	if n%2 == 0 {
		return session
	}
	return rapid.SampledFrom([]func(context.Context, store.Store) string{
		func(ctx context.Context, w store.Store) string {
			g, c, err := w.Take(ctx, take)
			return answer(err, g, c)
		},
		func(ctx context.Context, w store.Store) string {
			c, err := w.Renew(ctx, hold, ttl)
			return answer(err, c)
		},
		func(ctx context.Context, w store.Store) string {
			c, err := w.Release(ctx, hold, fleet.EndingDone, reason)
			return answer(err, c)
		},
		func(ctx context.Context, w store.Store) string { return answer(w.AddRun(ctx, planned)) },
		func(ctx context.Context, w store.Store) string {
			return answer(w.OnBranch(ctx, id, "work", fleet.Conversation{Resumes: "0r1", Why: "why"}))
		},
		func(ctx context.Context, w store.Store) string {
			g, c, err := storekit.TakeLane(ctx, w, store.Begin{Run: id, PID: pid, Category: category, Lane: lane, TTL: ttl})
			return answer(err, g, c)
		},
		func(ctx context.Context, w store.Store) string {
			g, c, err := storekit.TakeForRun(ctx, w, forRun)
			return answer(err, g, c)
		},
		func(ctx context.Context, w store.Store) string { return answer(w.Complete(ctx, end)) },
		func(ctx context.Context, w store.Store) string {
			left, err := w.Abandon(ctx, gone)
			return answer(err, left)
		},
		func(ctx context.Context, w store.Store) string {
			by, why, err := w.Respawn(ctx, id, &after, "good", firing.Bounds)
			return answer(err, by, why)
		},
		func(ctx context.Context, w store.Store) string {
			f, err := w.RecordFire(ctx, firing)
			return answer(err, f.ID, f.Choices, f.Due)
		},
		func(ctx context.Context, w store.Store) string {
			closed, err := w.NotStarted(ctx, fire, next, "refused")
			return answer(err, closed)
		},
		func(ctx context.Context, w store.Store) string {
			return answer(w.Pause(ctx, fleet.Pause{Category: category, Until: now.Add(ttl), Reason: reason}))
		},
		func(ctx context.Context, w store.Store) string {
			ended, err := w.Resume(ctx, resumed)
			return answer(err, ended)
		},
		func(ctx context.Context, w store.Store) string {
			due, err := w.NoticeDue(ctx, notice, time.Hour)
			return answer(err, due)
		},
		func(ctx context.Context, w store.Store) string { return answer(w.ForgetNotice(ctx, notice)) },
		func(ctx context.Context, w store.Store) string {
			was, err := w.ResetBudget(ctx, fleet.AgentScope("claude"), reason)
			return answer(err, was)
		},
		func(ctx context.Context, w store.Store) string { return answer(w.LeaveTask(ctx, hold, memory)) },
		func(ctx context.Context, w store.Store) string {
			return answer(w.SeeTasks(ctx, []store.TaskSight{sight}))
		},
		func(ctx context.Context, w store.Store) string {
			found, err := w.Retry(ctx, task)
			return answer(err, found)
		},
		func(ctx context.Context, w store.Store) string {
			news, err := w.AddFates(ctx, []fleet.ReviewOutcome{{Run: before, At: now, Kind: fleet.FateReverted, Witness: witness}})
			return answer(err, len(news))
		},
		func(ctx context.Context, w store.Store) string {
			return answer(w.SaveReview(ctx, review))
		},
		func(ctx context.Context, w store.Store) string {
			return answer(w.SaveFeedback(ctx, said))
		},
		func(ctx context.Context, w store.Store) string {
			return answer(w.SeePlaces(ctx, now.Add(-time.Minute), []fleet.PlaceSight{{Run: id, State: place}}))
		},
		func(ctx context.Context, w store.Store) string {
			return answer(w.SetAway(ctx, fleet.Away{Until: now.Add(ttl), Reason: reason}))
		},
		func(ctx context.Context, w store.Store) string {
			ended, err := w.HostGone(ctx, planned.Host, reason)
			return answer(err, ended)
		},
		func(ctx context.Context, w store.Store) string { return answer(w.ForgetHost(ctx, planned.Host)) },
		func(ctx context.Context, w store.Store) string {
			open, err := w.AskToStop(ctx, id, reason)
			return answer(err, open)
		},
		func(ctx context.Context, w store.Store) string { was, err := w.ClearAway(ctx); return answer(err, was) },
	}).Draw(rt, "do")
}

// Crowd has connections take, and give back, the same few claims at once: each epoch has one
// holder, and none is left out.
func (contract) Crowd(t *testing.T, b bundle) {
	const crowd, rounds = 8, 30
	keys := []fleet.Key{"a", "b"}
	type grant struct {
		key   fleet.Key
		epoch fleet.Epoch
	}
	granted := make([][]grant, crowd)
	done := make(chan error)
	for i := range crowd {
		s, holder := b.again(), fleet.Holder(fmt.Sprint("holder", i))
		go func() {
			done <- func() error {
				for n := range rounds {
					key := keys[n%len(keys)]
					g, c, err := s.Take(t.Context(), store.TakeRequest{Key: key, Holder: holder, TTL: time.Hour})
					if err != nil {
						return err
					}
					if g == fleet.Denied {
						continue
					}
					granted[i] = append(granted[i], grant{key, c.Epoch})
					if _, err := s.Release(t.Context(), store.Hold{Key: key, Holder: holder, Epoch: c.Epoch}, fleet.EndingDone, ""); err != nil {
						return err
					}
				}
				return nil
			}()
		}()
	}
	for range crowd {
		must.Do(t, <-done)
	}
	epochs := map[fleet.Key][]fleet.Epoch{}
	for _, list := range granted {
		for _, g := range list {
			epochs[g.key] = append(epochs[g.key], g.epoch)
		}
	}
	same(t, "keys", len(epochs), len(keys))
	for _, key := range slices.Sorted(maps.Keys(epochs)) {
		slices.Sort(epochs[key])
		for i, e := range epochs[key] {
			if int(e) != i+1 {
				t.Fatalf("%s: got epochs %v, want each from 1 on, once", key, epochs[key])
			}
		}
	}
}
