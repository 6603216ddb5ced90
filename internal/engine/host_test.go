package engine_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/survey"
	"stint/internal/testkit/must"
)

// TestReapsItsOwn shows whose runs a machine closes: its own by what it sees, those of before it
// was started without a look, and another's once its lease is over. The lock of every session is
// held here, as by a process that lives. Its own clock decides nothing: the store's does.
func TestReapsItsOwn(t *testing.T) {
	t.Parallel()
	here := fleet.Location{Host: "a", Boot: "2"}
	before, other := fleet.Location{Host: "a", Boot: "1"}, fleet.Location{Host: "b", Boot: "1"}
	for _, c := range []struct {
		name    string
		of      fleet.Location
		planned bool // its worker has not begun
		after   time.Duration
		closed  bool
	}{
		{"of this start", here, false, 0, false},
		{"of before", before, false, 0, true},
		{"planned before", before, true, 0, true},
		{"planned now", here, true, 0, false},
		{"another's", other, false, 0, false},
		{"another's, its claim expired a moment ago", other, false, time.Hour + 29*time.Second, false},
		{"another's, its claim expired", other, false, time.Hour + 30*time.Second, true},
		{"another's, planned", other, true, time.Hour - time.Second, false},
		{"another's, planned, its unit's time over", other, true, time.Hour, true},
	} {
		for _, off := range []time.Duration{-2 * time.Hour, 0, 2 * time.Hour} {
			t.Run(fmt.Sprintf("%s, own clock off by %s", c.name, off), func(t *testing.T) {
				t.Parallel()
				b := newBench(t, halfHour)
				b.Here = c.of
				var r fleet.Run
				switch {
				case c.planned:
					r = fleet.Run{
						ID: fleet.NewRunID(b.clock(), 1), Location: b.Here, Category: "code", Source: fleet.FromSelected,
						Agent: "fake", CreatedAt: b.clock(), Limit: time.Hour,
					}
					must.Do(t, b.db.AddRun(t.Context(), r))
				default:
					r, _ = b.dead("code", "fix")
				}
				b.Here = here
				b.later(c.after)
				view := b.present()
				b.Now = func() time.Time { return b.clock().Add(off) }
				if diff := cmp.Diff(view, b.present(), cmpopts.IgnoreUnexported(survey.View{})); diff != "" {
					t.Errorf("seen differently by its own clock (-right +own):\n%s", diff)
				}
				want := c.closed
				for range 2 { // the second finds nothing to do
					reaped := b.reap()
					if closed := len(reaped) == 1 && reaped[0].Run.ID == r.ID; closed != want || len(reaped) > 1 {
						t.Errorf("closed %+v, want run %s closed: %t", reaped, r.ID, want)
					}
					want = false
				}
				if c.of == other && len(b.ended)+len(b.told) > 0 {
					t.Errorf("ended %v and told %v, which are another machine's", b.ended, b.told)
				}
			})
		}
	}
}

// TestSessionOfAnotherMachine shows that its session is not stopped from here, and that its lane
// and its task are its own as long as its claim is.
func TestSessionOfAnotherMachine(t *testing.T) {
	t.Parallel()
	b := newBench(t, halfHour)
	b.addTask("fix", "code", fleet.StateTodo)
	b.Here = fleet.Location{Host: "b", Boot: "1"}
	r, lock := b.dead("code", "fix")
	b.Here = fleet.Location{Host: "a", Boot: "1"}
	b.closeAll(lock) // nobody holds it on this machine
	waits := fleet.Run{ID: fleet.NewRunID(b.clock(), 9), Location: fleet.Location{Host: "b"}, Category: "code", Source: fleet.FromSelected, CreatedAt: b.clock()}
	must.Do(t, b.db.AddRun(t.Context(), waits))
	list, err := b.StopAll(t.Context(), "code")
	if err != nil || len(list) != 2 || len(b.told)+len(b.ended) > 0 {
		t.Fatalf("stop: got %+v, %v, told %v, ended %v; want nobody told", list, err, b.told, b.ended)
	}
	for _, s := range list {
		if asked := s.Was.ID == r.ID; s.Err != nil || s.Asked() != asked || s.Run.EndedAt.IsZero() != asked {
			t.Errorf("stop of %s: %+v; want only the run that had begun asked, and the other one closed", s.Was.ID, s)
		}
	}
	var ended fleet.OutcomeError
	if _, err := b.Run(t.Context(), engine.RunOptions{Category: "code"}); !errors.As(err, &ended) || ended.Outcome != fleet.Busy {
		t.Errorf("a session beside it: got %v, want the lane busy", err)
	}
	b.later(time.Hour + time.Minute)
	b.reap()
	if _, err := b.Run(t.Context(), engine.RunOptions{Category: "code"}); err != nil {
		t.Errorf("a session after it: %v", err)
	}
}
