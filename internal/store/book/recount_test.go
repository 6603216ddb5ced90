package book_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/book"
)

// honest is the ledger of two sessions, the second of which brought a grade, after a fire.
func honest() store.Ledger {
	s := bandit.Defaults()
	arm := bandit.Arm{}
	arm.Move(s, bandit.Move{Round: 1, Due: 0.5, Entitled: true})
	l := store.Ledger{
		Checkpoints: map[fleet.Category][]store.Checkpoint{"code": {{Settings: s}}},
		Fires: []store.Moves{
			{Fire: 1, Rounds: map[fleet.Category]fleet.Round{"code": 1}, Due: map[fleet.Category]float64{"code": 0.5, "docs": 0.5}},
		},
		LastFire: 1,
		Claims: map[fleet.Key]fleet.Claim{
			"a": {Key: "a", Epoch: 1, Holder: "run:0r1", ReleasedAt: noon}, "b": {Key: "b", Epoch: 2, Holder: "run:0r2"},
		},
		Runs: []store.Entry{
			{ID: "0r1", Category: "code", Agent: "claude", Key: "a", Epoch: 1, Round: 1, Nth: 1, Day: "2026-06-26", USD: 2},
			{ID: "0r2", Category: "code", Agent: "claude", Key: "b", Epoch: 2, Round: 1, Nth: 2, Counted: 1, In: 1, Grade: new(0.5), First: new(0.5), Began: noon},
		},
		Spent: []store.DaySpent{
			{Day: "2026-06-26", Spent: fleet.Spent{Scope: "fleet", Runs: 1, USD: 2}},
			{Day: "2026-06-26", Spent: fleet.Spent{Scope: "agent:claude", Runs: 1, USD: 0.5}},
			{Day: "2026-06-26", Spent: fleet.Spent{Scope: "category:code", Runs: 1, USD: 2}},
		},
		Resets: []store.DaySpent{{Day: "2026-06-26", Spent: fleet.Spent{Scope: "agent:claude", USD: 1.5}}},
	}
	for _, e := range l.Runs {
		arm.Debit(e.Round)
	}
	s.Learn(&arm, s.Prior(nil), bandit.Graded{Round: 1, Turn: bandit.Turn(noon), Grade: 0.5})
	l.Arms = map[fleet.Category]bandit.Arm{"code": arm}
	return l
}

func TestDiscrepancies(t *testing.T) {
	t.Parallel()
	arm := func(change func(*bandit.Arm)) func(*store.Ledger) {
		return func(l *store.Ledger) {
			a := l.Arms["code"]
			change(&a)
			l.Arms["code"] = a
		}
	}
	for _, tt := range []struct {
		name   string
		change func(*store.Ledger)
		want   []string // of each discrepancy, the beginning
	}{
		{"honest", func(*store.Ledger) {}, nil},
		{"a sum", arm(func(a *bandit.Arm) { a.Slow.S = 9 }), []string{"belief of code: slow.s is 9, and the record gives 0.5"}},
		{"an endless debt", arm(func(a *bandit.Arm) { a.Forgiven = math.Inf(1) }), []string{"belief of code: at is 0, and the record gives 1"}},
		{"a debt", arm(func(a *bandit.Arm) { a.Surplus = 3 }), []string{"account of code: surplus is 3, and the record gives 0"}},
		{"a load", arm(func(a *bandit.Arm) { a.Load = 0 }), []string{"account of code: load is 0, and"}},
		{"an alarm", arm(func(a *bandit.Arm) { a.Alarms = 1 }), []string{"belief of code: alarms is 1, and the record gives 0"}},
		{"no arm", func(l *store.Ledger) { delete(l.Arms, "code") }, []string{
			"account of code: sessions is 0, and the record gives 2", "belief of code: graded is 0, and", "account of code: fires is 0, and", "account of code: round is 0, and",
		}},
		{"a session twice", func(l *store.Ledger) { l.Runs[1].Nth = 1 }, []string{
			"account of code: sessions is 2, and the record gives 2, with number 1 twice",
		}},
		{"a run less", func(l *store.Ledger) { l.Runs = l.Runs[1:] }, []string{
			"account of code: sessions is 2, and the record gives 1, without number 1",
			"budget of agent:claude", "budget of agent:claude", "budget of category:code", "budget of category:code", "budget of fleet", "budget of fleet",
		}},
		{"a fire less", func(l *store.Ledger) { l.Fires = nil }, []string{
			"record of fires: number 1 to 1 is missing, and", "account of code: fires is 1, and the record gives 0", "account of code: round is 1, and the record gives 0",
		}},
		{"what is missing", func(l *store.Ledger) { l.Missing = []string{"run x of fire 1"} }, []string{"record of run x of fire 1: its row is missing"}},
		{"a grade less", func(l *store.Ledger) { l.Runs[1].Grade = nil }, []string{
			"record of run 0r2: its grade is none that counted", "belief of code: graded is 1, and the record gives 0",
		}},
		{"a grade more", func(l *store.Ledger) { l.Runs[0].Grade = new(1.0) }, []string{"record of run 0r1: its grade is there"}},
		{"a bill", func(l *store.Ledger) { l.Spent[0].USD = 1 }, []string{"budget of fleet on 2026-06-26: usd is 1, and the record gives 2"}},
		{"no reset", func(l *store.Ledger) { l.Resets = nil }, []string{"budget of agent:claude on 2026-06-26: usd is 0.5, and the record gives 2"}},
		{"no claim", func(l *store.Ledger) { delete(l.Claims, "a") }, []string{`epoch of "a": epoch is 0, and the record gives 1, granted to run 0r1`}},
		{"one epoch of two", func(l *store.Ledger) {
			l.Runs[0].Key, l.Runs[0].Epoch = "b", 2
		}, []string{`epoch of "b": holder at epoch 2 is run:0r2`, `epoch of "b": epoch 2 is of run 0r2, and the record gives run 0r1`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := honest()
			tt.change(&l)
			var got []string
			for i, d := range book.Discrepancies(l) {
				text := d.String()
				if tt.name == "an endless debt" && i > 0 {
					break // no figure of its arm is one
				}
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
