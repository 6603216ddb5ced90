package sqlite

import (
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storetest"
)

// machine is one on which a test sets the clock of each process, and has time pass and the machine start again.
type machine struct {
	*testing.T
	Options
	boot    string
	elapsed time.Duration
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	return &machine{T: t, Options: testOptions(t, nil), boot: "first"}
}

// process opens the store in a process whose clock is off.
func (m *machine) process(off time.Duration) *DB {
	o := m.Options
	o.Now = func() time.Time { return storetest.Start().Add(m.elapsed + off) }
	o.Start = func() Start { return Start{m.boot, m.elapsed} }
	return mustOpen(m.T, o)
}

func (m *machine) take(d *DB, holder fleet.Holder) (fleet.Grant, fleet.Claim) {
	m.Helper()
	grant, c, err := d.Take(m.Context(), store.TakeRequest{Key: "k", Holder: holder, TTL: time.Hour})
	if err != nil {
		m.Fatal(err)
	}
	return grant, c
}

// expires checks when a claim expires, and what time it is.
func (m *machine) expires(d *DB, want, now time.Duration) {
	m.Helper()
	c, at, err := d.Check(m.Context(), "k")
	if err != nil {
		m.Fatal(err)
	}
	start := storetest.Start()
	if got := c.ExpiresAt.Sub(start); got != want {
		m.Errorf("the claim expires after %s, want %s", got, want)
	}
	if got := at.Sub(start); got != now {
		m.Errorf("it is %s, want %s", got, now)
	}
}

// TestClocksOff has processes whose clocks are two hours off use a store: they go by one clock.
func TestClocksOff(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	right, ahead, behind := m.process(0), m.process(2*time.Hour), m.process(-2*time.Hour)
	m.take(right, "alice")
	for _, d := range []*DB{right, ahead, behind} {
		if grant, c := m.take(d, "bob"); grant != fleet.Denied {
			t.Errorf("bob got %+v, %s", c, grant)
		}
		m.expires(d, time.Hour, 0)
	}
	m.elapsed = time.Hour - time.Millisecond
	m.expires(ahead, time.Hour, m.elapsed)
	if grant, _ := m.take(ahead, "bob"); grant != fleet.Denied {
		t.Error("a clock that is ahead ended a claim")
	}
	m.elapsed = time.Hour
	if grant, _ := m.take(behind, "bob"); grant != fleet.Granted {
		t.Error("a clock that is behind made a claim longer")
	}
	m.expires(right, 2*time.Hour, time.Hour)
}

// TestFireSetsClock has a fire find the machine's clock set: the store's follows it, and claims keep the time that is
// left to them.
func TestFireSetsClock(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]time.Duration{"forward": 2 * time.Hour, "back": -2 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			before, after := m.process(0), m.process(step)
			_, c := m.take(before, "alice")
			m.elapsed = 20 * time.Minute
			m.expires(after, time.Hour, m.elapsed)
			must.Get(after.RecordFire(t.Context(), store.Firing{}))(t)
			m.expires(before, time.Hour+step, m.elapsed+step)
			if grant, _ := m.take(after, "bob"); grant != fleet.Denied {
				t.Error("a clock that was set ended a claim")
			}
			m.elapsed = 30 * time.Minute
			if _, err := before.Renew(t.Context(), store.Hold{Key: c.Key, Holder: c.Holder, Epoch: c.Epoch}, time.Hour); err != nil {
				t.Error(err)
			}
			m.expires(after, 90*time.Minute+step, m.elapsed+step)
			m.elapsed = 90 * time.Minute
			if grant, _ := m.take(before, "bob"); grant != fleet.Granted {
				t.Error("a clock that was set made a claim longer")
			}
		})
	}
}

// TestFireLeavesClock has a fire on a clock that is set by less than a minute: the store's goes on.
func TestFireLeavesClock(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	before, after := m.process(0), m.process(fleet.ClockSlack)
	m.take(before, "alice")
	must.Get(after.RecordFire(t.Context(), store.Firing{}))(t)
	m.expires(after, time.Hour, 0)
}

// TestStartSetsClock starts the machine anew: the first write sets the clock by the machine's, and a reader goes by
// that before.
func TestStartSetsClock(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.take(m.process(0), "alice")
	m.boot, m.elapsed = "second", time.Minute
	d := m.process(10 * time.Minute)
	m.expires(d, time.Hour, 11*time.Minute)
	if grant, _ := m.take(d, "bob"); grant != fleet.Denied {
		t.Error("bob got a claim that stands")
	}
	m.elapsed = 5 * time.Minute
	m.expires(m.process(-time.Hour), time.Hour, 15*time.Minute)
	m.boot = "" // nobody knows
	m.expires(m.process(30*time.Minute), time.Hour, 35*time.Minute)
}
