package sqlite

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storekit"
	"stint/internal/testkit/storetest"
)

// week has a fleet whose store is closed after every tenth of its sessions. The fate of their
// work is known, of some, only after all of them.
type week struct {
	t     *testing.T
	o     Options
	clock *storetest.Clock
	alarm float64
}

// play has sessions with these grades, and then these fates.
func (w week) play(grades []float64, fates []fleet.ReviewOutcome) *DB {
	w.t.Helper()
	ctx := w.t.Context()
	var d *DB
	for i, g := range grades {
		if i%10 == 0 {
			if d != nil {
				must.Do(w.t, d.Close())
			}
			w.o.Settings.HalfLife = 15
			w.o.Settings.Alarm = w.alarm
			d = mustOpen(w.t, w.o)
		}
		must.Get(d.RecordFire(ctx, store.Firing{Fire: fleet.Fire{At: w.clock.Now(), Moves: []fleet.Category{"code"}}}))(w.t)
		r := fleet.Run{ID: fleet.RunID(fmt.Sprintf("0r%02d", i)), Category: "code", Source: fleet.FromHand, CreatedAt: w.clock.Now(), Agent: "claude"}
		must.Do(w.t, d.AddRun(ctx, r))
		take := storekit.RunTake{TakeRequest: store.TakeRequest{Key: fleet.Key(r.ID), Holder: r.ID.Holder(), TTL: time.Hour}, Run: r.ID}
		_, c, err := storekit.TakeForRun(ctx, d, take)
		must.Do(w.t, err)
		r.Key, r.Epoch, r.Verdict = c.Key, c.Epoch, fleet.Verdict{Outcome: fleet.Productive, Grade: &g}
		must.Do(w.t, d.Complete(ctx, r))
		w.clock.Advance(7 * time.Hour)
	}
	must.Get(d.AddFates(ctx, fates))(w.t)
	for _, off := range book.Discrepancies(must.Get(d.Ledger(ctx))(w.t)) {
		w.t.Error(off)
	}
	return d
}

func (w week) arm(d *DB) rank.Arm {
	w.t.Helper()
	s := must.Get(d.Snapshot(w.t.Context()))(w.t)
	return s.Arms["code"].Arm
}

func newWeek(t *testing.T, alarm float64) week {
	t.Helper()
	clock := storetest.NewClock()
	o := testOptions(t, clock.Now)
	o.Settings = rank.Defaults()
	return week{t, o, clock, alarm}
}

// TestLateGradesAreThoseOfABatch has what became of work come late: the evidence is, but for the rounding of sums,
// that of a fleet whose sessions had the corrected grades at once.
func TestLateGradesAreThoseOfABatch(t *testing.T) {
	t.Parallel()
	late, atOnce := make([]float64, 30), make([]float64, 30)
	var fates []fleet.ReviewOutcome
	for i := range late {
		late[i], atOnce[i] = 0.5, 0.5
		switch i % 3 {
		case 1:
			fates = append(fates, fleet.ReviewOutcome{Run: fleet.RunID(fmt.Sprintf("0r%02d", i)), Kind: fleet.FateMerged, Witness: "a"})
			atOnce[i] = 0.75
		case 2:
			fates = append([]fleet.ReviewOutcome{{Run: fleet.RunID(fmt.Sprintf("0r%02d", i)), Kind: fleet.FateReverted, Witness: "b"}}, fates...)
			atOnce[i] = 0.1
		}
	}
	one, other := newWeek(t, 0), newWeek(t, 0)
	got, want := one.arm(one.play(late, fates)), other.arm(other.play(atOnce, nil))
	got.Up, got.Down, got.Shift, got.Lately = want.Up, want.Down, want.Shift, want.Lately // the change detector goes by the first grades
	if diff := cmp.Diff(got, want, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("arm after late evidence (-late +at once):\n%s", diff)
	}
}

// TestForgottenGradesStaySo corrects the grades of a category from before the alarm that had them
// forgotten: the runs show what became of their work, and the belief stays as it was.
func TestForgottenGradesStaySo(t *testing.T) {
	t.Parallel()
	w := newWeek(t, 3)
	grades := make([]float64, 30)
	for i := range grades {
		if i < 20 {
			grades[i] = 0.9
		}
	}
	d := w.play(grades, nil)
	before := w.arm(d)
	var fates []fleet.ReviewOutcome
	for i := range 20 {
		fates = append(fates, fleet.ReviewOutcome{Run: fleet.RunID(fmt.Sprintf("0r%02d", i)), Kind: fleet.FateRejected, Witness: "a"})
	}
	news, err := d.AddFates(t.Context(), fates)
	if err != nil || len(news) != 20 || *news[0].Grade != 0.6 {
		t.Fatalf("got %+v, %v, want 20 corrected grades of 0.6", news, err)
	}
	after := w.arm(d)
	if before.Alarms == 0 || after.Alarms != before.Alarms || after.Fast != before.Fast || after.Slow != before.Slow {
		t.Errorf("got %+v, want the arm as it was, after an alarm: %+v", after, before)
	}
	l := must.Get(d.Ledger(t.Context()))(t)
	for _, off := range book.Discrepancies(l) {
		t.Error(off)
	}
}
