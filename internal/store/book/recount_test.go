package book_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/store/book"
)

// record has a store's rows of two sessions after a fire. The second brought a grade.
type record struct {
	events []rank.Event
	stored rank.State
	store.Ledger
}

func honest() *record {
	r := &record{stored: rank.State{Settings: rank.Defaults()}}
	marks := map[fleet.RunID]rank.Mark{}
	for i, e := range []rank.Event{
		{Kind: rank.Fired, Moves: []fleet.Category{"code"}, Due: map[fleet.Category]float64{"code": 0.5}},
		{Kind: rank.Began, Category: "code", Run: "0r1"},
		{Kind: rank.Began, Category: "code", Run: "0r2"},
		{Kind: rank.Ended, Category: "code", Run: "0r2", Grade: 0.5},
		{Kind: rank.Corrected, Category: "code", Run: "0r2", Was: 0.5, Grade: 0.75},
	} {
		e.Seq, e.At, e.Mark = i+1, noon, marks[e.Run]
		r.events = append(r.events, e)
		marks[e.Run] = r.stored.Fold(e)
	}
	first, second := marks["0r1"], marks["0r2"]
	first.Nth, second.Nth = 1, 2
	r.Ledger = store.Ledger{
		Fires: []fleet.Fire{{ID: 1, Choices: []fleet.Choice{{Run: "0r1"}, {Run: "0r2"}, {}}}}, LastFire: 1,
		Claims: map[fleet.Key]fleet.Claim{
			"a": {Key: "a", Epoch: 1, Holder: "run:0r1", ReleasedAt: noon}, "b": {Key: "b", Epoch: 2, Holder: "run:0r2"},
		},
		Runs: []store.Entry{
			{ID: "0r1", Recounted: rank.Recounted{Mark: first, Category: "code"}, Agent: "claude", Key: "a", Epoch: 1, Day: "2026-06-26", USD: 2},
			{ID: "0r2", Recounted: rank.Recounted{Mark: second, Category: "code", First: new(0.5), Final: new(0.75)}, Agent: "claude", Key: "b", Epoch: 2},
		},
		Spent: []store.DaySpent{
			{Day: "2026-06-26", Spent: fleet.Spent{Scope: "fleet", Runs: 1, USD: 2}},
			{Day: "2026-06-26", Spent: fleet.Spent{Scope: "agent:claude", Runs: 1, USD: 0.5}},
			{Day: "2026-06-26", Spent: fleet.Spent{Scope: "category:code", Runs: 1, USD: 2}},
		},
		Resets: []store.DaySpent{{Day: "2026-06-26", Spent: fleet.Spent{Scope: "agent:claude", USD: 1.5}}},
	}
	return r
}

func TestDiscrepancies(t *testing.T) {
	t.Parallel()
	arm := func(change func(*rank.Arm)) func(*record) {
		return func(r *record) { change(r.stored.Arms["code"]) }
	}
	for _, tt := range []struct {
		name   string
		change func(*record)
		want   []string // of each discrepancy, the beginning
	}{
		{"honest", func(*record) {}, nil},
		{"a sum", arm(func(a *rank.Arm) { a.Slow.S = 9 }), []string{"belief of code: slow.s is 9, and the record gives 0.75"}},
		{"a debt", arm(func(a *rank.Arm) { a.Surplus = 3 }), []string{"account of code: surplus is 3, and the record gives 0"}},
		{"a load", arm(func(a *rank.Arm) { a.Load = 0 }), []string{"account of code: load is 0, and"}},
		{"a back-off", arm(func(a *rank.Arm) { a.AsleepUntil = 9 }), []string{"account of code: asleep_until is 9, and"}},
		{"an alarm", arm(func(a *rank.Arm) { a.Alarms = 1 }), []string{"belief of code: alarms is 1, and the record gives 0"}},
		{"a stored state that knows more", func(r *record) { r.stored.Seq = 9 }, []string{"record of the ranking: events is up to number 9, and the record gives fewer"}},
		{"a grade in an event", func(r *record) { r.events[3].Grade = 0.25; r.events = r.events[:4]; r.stored.Seq = 4 }, []string{
			"belief of code: fast.g2", "belief of code: fast.s", "belief of code: seasons.0.g", "belief of code: seasons.0.yg",
			"belief of code: seasons.1.g", "belief of code: seasons.1.yg", "belief of code: shift",
			"belief of code: slope.g", "belief of code: slope.xg", "belief of code: slow.g2", "belief of code: slow.s",
			"record of run 0r2: grade is 0.5, and the record gives 0.25", "record of run 0r2: final grade is 0.75, and the record gives 0.25",
		}},
		{"an event less", func(r *record) { r.events = append(r.events[:2:2], r.events[3:]...) }, []string{
			"record of the ranking: events is number 4, and the record gives number 3", "account of code: load",
			"account of code: sessions", "account of code: since",
		}},
		{"a run less", func(r *record) { r.Runs = r.Runs[1:] }, []string{
			"record of run 0r1 of fire 1: its row is missing", "record of run 0r1: its row is missing", "budget of agent:claude", "budget of agent:claude",
			"budget of category:code", "budget of category:code", "budget of fleet", "budget of fleet",
		}},
		{"a session more", func(r *record) {
			r.Runs = append(r.Runs, store.Entry{ID: "0r3", Recounted: rank.Recounted{Mark: rank.Mark{Nth: 3}, Category: "code"}})
		}, []string{"record of run 0r3: its events is missing"}},
		{"a fire less", func(r *record) { r.Fires = nil }, []string{"record of fires: number 1 to 1 is missing, and"}},
		{"what is missing", func(r *record) { r.Missing = []string{"run x of fire 1"} }, []string{"record of run x of fire 1: its row is missing"}},
		{"a grade less", func(r *record) { r.Runs[1].First = nil }, []string{"record of run 0r2: its grade is none that counted"}},
		{"another grade", func(r *record) { r.Runs[1].First = new(1.0) }, []string{"record of run 0r2: grade is 1, and the record gives 0.5"}},
		{"another fate", func(r *record) { r.Runs[1].Final = new(1.0) }, []string{"record of run 0r2: final grade is 1, and the record gives 0.75"}},
		{"another round", func(r *record) { r.Runs[0].Round = 9 }, []string{"record of run 0r1: round is 9, and the record gives 1"}},
		{"a grade more", func(r *record) { r.Runs[0].First = new(1.0) }, []string{"record of run 0r1: its grade is there"}},
		{"a bill", func(r *record) { r.Spent[0].USD = 1 }, []string{"budget of fleet on 2026-06-26: usd is 1, and the record gives 2"}},
		{"no reset", func(r *record) { r.Resets = nil }, []string{"budget of agent:claude on 2026-06-26: usd is 0.5, and the record gives 2"}},
		{"no claim", func(r *record) { delete(r.Claims, "a") }, []string{`epoch of "a": epoch is 0, and the record gives 1, granted to run 0r1`}},
		{"one epoch of two", func(r *record) {
			r.Runs[0].Key, r.Runs[0].Epoch = "b", 2
		}, []string{`epoch of "b": holder at epoch 2 is run:0r2`, `epoch of "b": epoch 2 is of run 0r2, and the record gives run 0r1`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := honest()
			tt.change(r)
			count := rank.NewRecounter([]rank.State{r.stored})
			for _, e := range r.events {
				count.Take(e)
			}
			r.Recount = count.End()
			var got []string
			for i, d := range book.Discrepancies(r.Ledger) {
				text := d.String()
				if i < len(tt.want) && strings.HasPrefix(text, tt.want[i]) {
					text = tt.want[i]
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(got, tt.want); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
		})
	}
}
