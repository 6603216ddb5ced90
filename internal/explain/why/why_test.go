package why_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"stint/internal/explain/why"
	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/screen"
	"stint/internal/testkit/must"
)

var update = flag.Bool("update", false, "write the golden files")

func noon() time.Time { return time.Date(2026, 6, 26, 12, 0, 0, 0, time.UTC) }

func ago(d time.Duration) time.Time { return noon().Add(-d) }

const (
	first  fleet.RunID = "01jyp0000000000a"
	second fleet.RunID = "01jyp0000000000b"
	third  fleet.RunID = "01jyp0000000000c"
)

// TestScreens shows every kind of answer as a person reads it.
func TestScreens(t *testing.T) {
	t.Parallel()
	for name, answer := range answers() {
		for _, s := range []struct {
			suffix string
			style  screen.Style
		}{{"80", screen.Style{Width: 80}}, {"120", screen.Style{Width: 120}}, {"colour", screen.Style{Width: 80, Colour: true}}} {
			if s.style.Colour && name != "category_stuck" {
				continue // one is enough
			}
			t.Run(name+"_"+s.suffix, func(t *testing.T) {
				t.Parallel()
				lines := screen.Why(answer, s.style)
				golden(t, name+"_"+s.suffix+".txt", strings.Join(lines, "\n")+"\n")
				for _, line := range lines {
					if w := ansi.StringWidth(line); w > s.style.Width && !strings.HasPrefix(ansi.Strip(line), "    ") {
						t.Errorf("got %d columns, want at most %d: %s", w, s.style.Width, line)
					}
				}
			})
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must.Do(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v\ngo test ./internal/explain/why -update", err)
	}
	must.Equal(t, path, got, string(want))
}

func answers() map[string]why.Answer {
	return map[string]why.Answer{
		"category_free":  freeCategory().Answer(),
		"category_stuck": stuckCategory().Answer(),
		"fire":           pivotFire().Answer(),
		"fire_other":     otherFire().Answer(),
		"run_ended":      endedRun().Answer(),
		"run_denied":     deniedRun().Answer(),
		"task_queued":    queuedTask().Answer(),
		"task_waiting":   waitingTask().Answer(),
		"task_hostile":   hostileTask().Answer(),
	}
}

// resting is of a category whose last session is just over.
func resting(d time.Duration) func(*why.Category) {
	return func(c *why.Category) {
		c.Ranking = ranking("cooldown")
		c.Odds, c.Hinders = 0, []rank.Obstacle{{Kind: fleet.HinderedByRest, Reason: "cooldown", Until: noon().Add(d)}}
	}
}

// ranking is of two categories, and has places for one.
func ranking(out string) rank.Selection {
	next := &rank.Next{ID: "fix", State: fleet.StateTodo}
	return rank.Rank(rank.Input{
		Settings: rank.Defaults(), Seed: 1, Fire: 41, At: noon(), Workers: 1, Free: 4,
		Candidates: []rank.Candidate{
			{Category: "code", Out: out, Share: 1, Tasks: 1, Next: next},
			{Category: "docs", Share: 1, Tasks: 1, Next: &rank.Next{ID: "write", State: fleet.StateTodo}},
		},
		Blocked: []rank.BlockedTask{{ID: "later", Category: "code", Reason: "waits until 2026-07-01"}},
	})
}

func choice(d fleet.Decision, reason string) fleet.Choice {
	return fleet.Choice{Category: "code", Decision: d, Reason: reason}
}

func freeCategory() why.Category {
	grade := 0.7
	r := ranking("")
	return why.Category{
		Name: "code", Now: noon(), Path: "/etc/stint.toml", Pool: "autonomous", Ordinary: true, Slots: 4, Ranking: r, Odds: 0.5,
		Timer:   &fleet.Timer{Unit: "stint@x.timer", Active: true, Next: noon().Add(12 * time.Minute)},
		States:  map[fleet.TaskState]int{fleet.StateTodo: 2},
		Blocked: r.Blocked,
		Fires: []fleet.Fire{
			{ID: 40, Choices: []fleet.Choice{choice(fleet.Spawn, "drew 0.9 from Beta(1.00, 1.00)")}},
			{ID: 39, Choices: []fleet.Choice{{Category: "code", Decision: fleet.Skip, Reason: "lane busy: run " + string(first), By: fleet.HinderedByLane}}},
			{ID: 38, Choices: []fleet.Choice{{Category: "code", Decision: fleet.Skip, Reason: "lane busy: run " + string(second), By: fleet.HinderedByLane}}},
			{ID: 37, Choices: []fleet.Choice{{
				Category: "code", Decision: fleet.Skip, Rank: 2, Reason: "drew 0.1 from Beta(1.00, 1.00); leads: \"fix\" is active; beyond this fire's limit of 1",
				Refusal: "beyond this fire's limit of 1", By: fleet.HinderedByWorkers,
			}}},
			{ID: 36, Choices: []fleet.Choice{choice(fleet.StartFailed, "no bus")}},
		},
		Runs: []fleet.Run{{
			ID: first, Category: "code", Task: "fix", StartedAt: ago(time.Hour), EndedAt: ago(time.Minute),
			Verdict: fleet.Verdict{Outcome: fleet.Productive, Grade: &grade, Reason: "tests pass"},
		}},
		Denials: []fleet.DeniedClaim{{Run: second, Category: "code", Key: "fix", Holder: "alice", At: ago(3 * time.Hour)}},
	}
}

// stuckCategory has all at once in its way.
func stuckCategory() why.Category {
	c := freeCategory()
	c.Ranking = ranking("not in the fanout's allow-list")
	c.Ranking.Free, c.Ranking.Closed = 0, "memory: 0.5 GiB available of 8.0 GiB, and 1.0 GiB must be left"
	c.Pools, c.Pool, c.Ordinary, c.Odds, c.Cooldown = true, "night", false, 0, 3*time.Minute
	c.Timer = &fleet.Timer{Unit: "stint@x-night.timer"}
	c.States[fleet.StateReview] = 2
	c.Hinders = []rank.Obstacle{
		{Kind: fleet.HinderedByList, Reason: rank.ReasonNotAllowed},
		{Kind: fleet.HinderedByPause, Reason: "paused: holidays"},
		{Kind: fleet.HinderedByAgent, Reason: "several"},
		{Kind: fleet.HinderedByLane, Reason: "lane busy"},
		{Kind: fleet.HinderedByRest, Reason: "cooldown", Until: noon().Add(2 * time.Minute)},
		{Kind: fleet.HinderedByTasks, Reason: rank.ReasonNoTask},
		{Kind: fleet.HinderedByBackoff, Reason: "backs off for 4 more fires of its pool, or until a task changes: its sessions brought nothing, 2 times"},
	}
	c.Pauses = []fleet.Pause{
		{Since: ago(time.Hour), Reason: "holidays"},
		{Category: "code", Since: ago(2 * time.Hour), Until: noon().Add(time.Hour), Reason: "the tracker is down"},
	}
	c.Gates = []why.Refusal{
		{Kind: fleet.HinderedByReview, Reason: "3 of its results wait for review, and the limit is 2"},
		{Kind: fleet.HinderedByAgent, Reason: "agent claude: usage limit: until one", Until: noon().Add(time.Hour)},
		{Kind: fleet.HinderedBySeats, Reason: "agent codex: all of its 1 slots are in use"},
		{Kind: fleet.HinderedByBudget, Reason: "budget of fleet: 5 of 5 runs today", Until: noon().Add(12 * time.Hour)},
	}
	c.InFlight = []fleet.RunStatus{
		{Run: fleet.Run{ID: first, Category: "code", Task: "fix", StartedAt: ago(10 * time.Minute), Unit: `stint-x-code\x2d1.service`}, State: fleet.RunRunning, Timeout: time.Hour},
		{State: fleet.RunWaiting, Run: fleet.Run{ID: second, Category: "code", NotBefore: noon().Add(time.Minute)}},
		{
			State: fleet.RunRunning, Run: fleet.Run{ID: third, Category: "code", StartedAt: ago(20 * time.Minute)},
			RunHost: fleet.RunHost{Machine: "gpu-1", Heard: ago(14 * time.Minute), Unheard: true},
		},
	}
	return c
}

func pivotFire() why.Fire {
	s := ranking("")
	grade := 0.7
	odds := 0.5
	winner, loser := s.Scores[0].Category, s.Scores[1].Category
	return why.Fire{
		Now: noon(), Selection: &s, UsedOwnRanking: true,
		Fire: fleet.Fire{ID: 41, Pool: "autonomous", At: ago(time.Hour), Seed: 1, Workers: 1, Choices: []fleet.Choice{
			{Category: winner, Decision: fleet.Spawn, Rank: 1, Odds: &odds, Run: first},
			{Category: loser, Decision: fleet.Skip, Rank: 2, Odds: &odds, Reason: "drew 0.1; beyond this fire's limit of 1", Refusal: "beyond this fire's limit of 1"},
			{Category: "ops", Decision: fleet.Skip, Reason: "no workable task"},
		}},
		Runs: []fleet.Run{
			{
				ID: first, Category: loser, Task: "write", EndedAt: ago(time.Minute),
				Verdict: fleet.Verdict{Outcome: fleet.Productive, Grade: &grade, Reason: "tests pass"},
			},
			{ID: second, Category: loser, Source: fleet.FromRespawn, StartedAt: ago(30 * time.Second)},
		},
		Denials: map[fleet.RunID][]fleet.DeniedClaim{first: {{Run: first, Category: winner, Key: "fix", Holder: "alice@host", At: ago(time.Hour)}}},
	}
}

// otherFire followed another selector, and cannot be ranked again.
func otherFire() why.Fire {
	return why.Fire{
		Now: noon(), Unread: "inputs of fire 3: of another format",
		Fire: fleet.Fire{ID: 3, Pool: "autonomous", At: ago(50 * time.Hour), Fallback: "external selector: exit status 1", Choices: []fleet.Choice{
			{Category: "code", Decision: fleet.StartFailed, Reason: "unit stint-x: no bus", Run: first},
		}},
	}
}

func endedRun() why.Run {
	grade, odds, status := 0.65, 0.42, 0
	return why.Run{
		Now: noon(), Choice: &fleet.Choice{Category: "code", Rank: 1, Odds: &odds}, First: "fix",
		Ranked: "code wins with 0.812: it drew 0.812 where 0.640 is expected.",
		Run: fleet.RunStatus{State: fleet.RunEnded, Run: fleet.Run{
			ID: first, Fire: 41, Rank: 1, Category: "code", Task: "fix", Key: "fix", Epoch: 3, StartedAt: ago(time.Hour), EndedAt: ago(time.Minute),
			FollowedBy: second, Followed: "its grade 0.65 is at least 0.65",
			Verdict: fleet.Verdict{
				Outcome: fleet.Productive, Grade: &grade, Reason: "1 commit in 2 files", ExitStatus: &status,
				Parts: map[string]float64{"grade_work": 0.7, "grade_tool_errors": -0.05, "commits": 1, "files": 2},
			},
		}},
	}
}

// TestTheSelectorChose names the selector also where stint's own order has its task first.
func TestTheSelectorChose(t *testing.T) {
	t.Parallel()
	r := endedRun()
	r.Choice.Task = r.First
	if text := fmt.Sprint(r.Answer()); !strings.Contains(text, "the selector that its fire followed chose that task") {
		t.Errorf("got %s, want it to name the selector", text)
	}
}

func deniedRun() why.Run {
	return why.Run{
		Now: noon(), Choice: &fleet.Choice{Category: "code", Rank: 1, Reason: "among the best"}, First: "fix",
		Denials: []fleet.DeniedClaim{{Run: first, Category: "code", Key: "fix", Holder: "alice", At: ago(time.Hour)}},
		Run: fleet.RunStatus{State: fleet.RunEnded, Run: fleet.Run{
			ID: first, Fire: 41, Rank: 1, Category: "docs", EndedAt: ago(time.Hour),
			Verdict: fleet.Verdict{Outcome: fleet.RunDenied, Reason: "DENIED — fix held by alice (expires 2026-06-26T12:30:00Z)"},
		}},
	}
}

func task(id fleet.TaskID) *fleet.Task {
	return &fleet.Task{ID: id, Category: "code", State: fleet.StateTodo, Priority: fleet.PriorityMedium, Path: "/w/tasks/" + string(id) + ".md"}
}

func queuedTask() why.Task {
	c := freeCategory()
	return why.Task{
		ID: "later", Now: noon(), Task: task("later"), Category: &c, Counts: "medium",
		Ahead: []rank.Ahead{{ID: "fix", Because: "it is active, this one is todo"}, {ID: "new", Because: "it is from 2026-06-01, this one from 2026-06-02"}},
	}
}

func waitingTask() why.Task {
	c := freeCategory()
	c.Hinders = []rank.Obstacle{{Kind: fleet.HinderedByRest, Until: noon().Add(time.Minute)}}
	return why.Task{
		ID: "fix it", Now: noon(), Task: task("fix it"), Category: &c, Counts: "medium",
		Waiting: &fleet.Waiting{Task: "fix it", Failures: 3, Since: ago(time.Hour), Reason: "it does not build"},
		Held:    &fleet.Claim{Key: "fix it", Holder: "alice o'neil@host", Epoch: 4, ExpiresAt: noon().Add(20 * time.Minute), Note: "mine"},
		Hinders: []rank.Obstacle{
			{Kind: fleet.HinderedByWaiting, Reason: "waiting for the review"},
			{Kind: fleet.HinderedByDate, Reason: "waits until 2026-07-01", Until: noon().AddDate(0, 0, 5)},
			{Kind: fleet.HinderedByNeed, Reason: `requires "b", which is todo`, On: "b"},
			{Kind: fleet.HinderedByNeed, Reason: "requires https://x.org/1: remove the URL once it is settled", On: "https://x.org/1"},
		},
		Runs: []fleet.Run{{
			ID: first, Category: "code", Task: "fix it", StartedAt: ago(time.Hour), EndedAt: ago(time.Hour),
			Verdict: fleet.Verdict{Outcome: fleet.Failed, Grade: new(float64), Reason: "it does not build"},
		}},
		Denials: []fleet.DeniedClaim{{Run: second, Category: "code", Key: "fix it", Holder: "alice", At: ago(5 * time.Minute)}},
	}
}

// hostileTask has words that would move the cursor and turn text around.
func hostileTask() why.Task {
	const evil = "-a\u202eb\x1b[2Jc\u0007"
	t := task(evil)
	return why.Task{
		ID: evil, Now: noon(), Task: t,
		Held:    &fleet.Claim{Key: evil, Holder: "\u202eeve\x1b]0;x\x07", Epoch: 1, ExpiresAt: noon().Add(time.Hour), Note: "two\nlines"},
		Waiting: &fleet.Waiting{Task: evil, Failures: 3, Since: ago(time.Hour), Reason: "\x1b[31mred\u2067"},
		Runs: []fleet.Run{{
			ID: first, Category: "code", Task: evil, EndedAt: ago(time.Hour),
			Verdict: fleet.Verdict{Outcome: fleet.Failed, Reason: "漢字漢字漢字 " + strings.Repeat("漢字", 60) + "\r\x1b[K"},
		}},
	}
}

// TestHostileWordsAreInert looks for what a terminal would act on.
func TestHostileWordsAreInert(t *testing.T) {
	t.Parallel()
	for _, line := range screen.Why(hostileTask().Answer(), screen.Style{Width: 80}) {
		if i := strings.IndexFunc(line, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }); i >= 0 {
			t.Errorf("got %q at %d, want nothing that moves the cursor or turns text", line, i)
		}
	}
}

// TestVerdicts has one row for each verdict and for what leads to it.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	edited := func(edit func(*why.Category)) why.Answer {
		c := freeCategory()
		edit(&c)
		return c.Answer()
	}
	ofTask := func(edit func(*why.Task)) why.Answer {
		q := queuedTask()
		edit(&q)
		return q.Answer()
	}
	ofRun := func(edit func(*why.Run)) why.Answer {
		r := endedRun()
		r.Run.EndedAt = time.Time{}
		edit(&r)
		return r.Answer()
	}
	mine := &fleet.Claim{Key: "later", Holder: first.Holder(), Epoch: 1, ExpiresAt: noon().Add(time.Hour)}
	tests := []struct {
		name  string
		got   why.Answer
		want  string
		kinds []fleet.Hindrance
	}{
		{"chance", edited(func(*why.Category) {}), why.Maybe, nil},
		{"certain", edited(func(c *why.Category) { c.Odds = 1 }), why.Yes, nil},
		{"always behind", edited(func(c *why.Category) { c.Odds = 0 }), why.No, []fleet.Hindrance{fleet.HinderedByWorkers}},
		{"no slot", edited(func(c *why.Category) { c.Odds, c.Ranking.Free = 0, 0 }), why.No, []fleet.Hindrance{fleet.HinderedBySlots}},
		{"no timer", edited(func(c *why.Category) { c.Odds, c.Timer = 1, &fleet.Timer{} }), why.Yes, nil},
		{"timers cannot be asked", edited(func(c *why.Category) { c.Odds, c.Timer = 1, nil }), why.Yes, nil},
		{"rested by then", edited(resting(2 * time.Minute)), why.Maybe, []fleet.Hindrance{"cooldown"}},
		{"rests for longer", edited(resting(time.Hour)), why.No, []fleet.Hindrance{"cooldown"}},
		{"rests, and no timer", edited(func(c *why.Category) { resting(2 * time.Minute)(c); c.Timer = nil }), why.No, []fleet.Hindrance{"cooldown"}},
		{"rests once the crashed run is closed", edited(func(c *why.Category) { resting(2 * time.Minute)(c); c.Dead = first }), why.No, []fleet.Hindrance{"cooldown"}},
		{"all at once", stuckCategory().Answer(), why.No, []fleet.Hindrance{
			"not-allowed", "paused", "paused", "review", "agent", "agent-busy", "budget", "lane-busy", "lane-busy", "lane-busy", "cooldown", "no-task", "backoff",
			"machine", "no-slot",
		}},
		{"queued", ofTask(func(*why.Task) {}), why.Queued, nil},
		{"first", ofTask(func(q *why.Task) { q.Ahead = nil }), why.Workable, nil},
		{"done", ofTask(func(q *why.Task) { q.Task.State = fleet.StateDone }), why.Settled, nil},
		{"someday", ofTask(func(q *why.Task) { q.Task.State = fleet.StateSomeday }), why.Blocked, []fleet.Hindrance{fleet.HinderedByState}},
		{"in review", ofTask(func(q *why.Task) { q.Task.State, q.Review = fleet.StateReview, first }), why.Blocked, []fleet.Hindrance{fleet.HinderedByState}},
		{"gone", ofTask(func(q *why.Task) { q.Task = nil }), why.Gone, nil},
		{"gone, and worked on", ofTask(func(q *why.Task) { q.Task, q.Held, q.Worker = nil, mine, &fleet.RunStatus{Run: fleet.Run{ID: first}} }), why.Working, nil},
		{"done, and worked on", ofTask(func(q *why.Task) {
			q.Task.State, q.Held, q.Worker = fleet.StateDone, mine, &fleet.RunStatus{Run: fleet.Run{ID: first}}
		}), why.Working, nil},
		{"unreadable", ofTask(func(q *why.Task) { q.Task, q.Problem = nil, "x.md:1: odd" }), why.Blocked, []fleet.Hindrance{fleet.HinderedByProblem}},
		{"no such category", ofTask(func(q *why.Task) { q.Category = nil }), why.Blocked, []fleet.Hindrance{fleet.HinderedByUnknown}},
		{"claimed", ofTask(func(q *why.Task) { q.Held = mine }), why.Claimed, []fleet.Hindrance{"claimed"}},
		{"worked on", ofTask(func(q *why.Task) { q.Held, q.Worker = mine, &fleet.RunStatus{Run: fleet.Run{ID: first}} }), why.Working, []fleet.Hindrance{"claimed"}},
		{"running", ofRun(func(r *why.Run) { r.Run.State = fleet.RunRunning }), "running", nil},
		{"planned", ofRun(func(r *why.Run) { r.Run.State, r.Run.StartedAt = fleet.RunPlanned, time.Time{} }), "planned", nil},
		{"crashed", ofRun(func(r *why.Run) { r.Run.State = fleet.RunCrashed }), "crashed", nil},
		{"ended", endedRun().Answer(), "productive", nil},
		{"a fire", pivotFire().Answer(), "started", nil},
		{"a fire that failed", otherFire().Answer(), "failed", nil},
		{"an idle fire", why.Fire{Now: noon()}.Answer(), "nothing", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var kinds []fleet.Hindrance
			for _, o := range tt.got.Obstacles {
				kinds = append(kinds, o.Kind)
				if o.Reason == "" || o.Change == "" {
					t.Errorf("got %+v, want a reason, and what would have to change", o)
				}
			}
			if tt.got.Verdict != tt.want || !slices.Equal(kinds, tt.kinds) {
				t.Errorf("got %s %q, want %s %q", tt.got.Verdict, kinds, tt.want, tt.kinds)
			}
			for _, s := range tt.got.Sentences() {
				if !strings.HasSuffix(s, ".") || strings.Contains(s, "%!") || strings.Contains(s, "..") && !strings.Contains(s, "…") {
					t.Errorf("got %q, want a sentence", s)
				}
			}
		})
	}
}
