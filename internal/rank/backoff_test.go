package rank

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"stint/internal/fleet"
)

func noon() time.Time { return time.Date(2026, 6, 26, 12, 0, 0, 0, time.UTC) }

// TestNoopIsNoGrade has sessions find nothing to do: neither evidence nor account changes,
// and the category is kept out for at most 64 fires.
func TestNoopIsNoGrade(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSettings(t)
		a := *learned(s, 10, rapid.SliceOfN(rapid.Float64Range(0, 1), 0, 9).Draw(t, "grades")...)
		a.Account = drawAccount(t)
		before := a
		now := fleet.Round(10)
		for range rapid.IntRange(1, 12).Draw(t, "noops") {
			a.Sleep(now, noon())
			if rest := a.AsleepUntil - now; rest < 2 || rest > 64 {
				t.Errorf("got %d fires asleep, want 2 to 64", rest)
			}
			now = a.AsleepUntil
		}
		if a.Evidence != before.Evidence || a.Account != before.Account {
			t.Errorf("got %+v, %+v, want the evidence and the account as they were", a.Evidence, a.Account)
		}
	})
}

// TestBackoffDoubles goes through all of its lengths, a grade, and the first again.
func TestBackoffDoubles(t *testing.T) {
	t.Parallel()
	s := Defaults()
	a := Arm{}
	now := fleet.Round(1)
	for _, want := range []fleet.Round{2, 4, 8, 16, 32, 64, 64, 64} {
		a.Sleep(now, noon())
		for fire := now; fire < now+want; fire++ {
			if !a.Asleep(fire, time.Time{}) {
				t.Fatalf("fire %d: got it awake, want it asleep for %d fires from %d", fire, want, now)
			}
		}
		if now += want; a.Asleep(now, time.Time{}) {
			t.Fatalf("got it asleep at %d, want it awake after %d fires", now, want)
		}
	}
	a.Sleep(now, noon())
	s.Learn(in(now, &a), s.Prior(at(now, []*Arm{&a})), Graded{Round: now, Grade: 0})
	if a.Asleep(now, time.Time{}) || a.Noops != 0 {
		t.Errorf("got %+v after a grade, want it awake", a.Backoff)
	}
	if a.Sleep(now, noon()); a.AsleepUntil != now+2 {
		t.Errorf("got it asleep until %d, want %d: from the start again", a.AsleepUntil, now+2)
	}
}

// TestNewsEndsTheBackoff has tasks that changed before, at and after the moment at which
// nothing was found.
func TestNewsEndsTheBackoff(t *testing.T) {
	t.Parallel()
	var b Backoff
	b.Sleep(5, noon())
	tests := []struct {
		name string
		news time.Time
		want bool
	}{
		{"none", time.Time{}, true},
		{"older", noon().Add(-time.Second), true},
		{"at that moment", noon(), true},
		{"newer", noon().Add(time.Millisecond), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := b.Asleep(6, tt.news); got != tt.want {
				t.Errorf("got asleep: %v, want %v", got, tt.want)
			}
		})
	}
}

// TestSleepBacksOffUncounted has a session that found nothing where it was sent, but did
// something elsewhere.
func TestSleepBacksOffUncounted(t *testing.T) {
	t.Parallel()
	var b Backoff
	b.Sleep(3, noon())
	if want := (Backoff{Noops: 1, AsleepUntil: 5, AsleepSince: noon()}); b != want {
		t.Errorf("got %+v, want %+v", b, want)
	}
	if b.Wake(); b != (Backoff{}) {
		t.Errorf("got %+v once woken, want nothing left of it", b)
	}
}

// TestOneTaskIsNoReason has a category back off for a task that brought nothing only where
// another did just before, or none is left.
func TestOneTaskIsNoReason(t *testing.T) {
	t.Parallel()
	var b Backoff
	for i, x := range []struct {
		task   fleet.TaskID
		last   bool
		asleep int
	}{
		{"a", false, 0}, {"a", false, 0}, {"b", false, 1}, {"b", false, 1}, {"a", false, 2}, {"a", true, 3}, {"", false, 4},
	} {
		b.Vain(x.task, x.last, 1, noon())
		if b.Noops != x.asleep || b.NoopsEver != 0 {
			t.Errorf("after %d sessions: got %+v, want %d back-offs", i+1, b, x.asleep)
		}
	}
	b.Wake()
	if b.Vain("b", false, 1, noon()); b.Noops != 0 {
		t.Errorf("got %+v after a grade and one task, want it awake", b)
	}
}
