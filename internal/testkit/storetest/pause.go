package storetest

import (
	"fmt"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/testkit/must"
)

func (contract) Pause(t *testing.T, b bundle) {
	code := fleet.Pause{Category: "code", Until: Start().Add(time.Hour), Reason: "ünïcode, for an hour"}
	must.Do(t, b.Pause(t.Context(), code))
	code.Since = Start()
	same(t, "one", b.mustSnapshot(t).Pauses, []fleet.Pause{code})

	b.clock.Advance(time.Minute)
	all := fleet.Pause{Reason: "holidays"}
	must.Do(t, b.Pause(t.Context(), all))
	all.Since = b.clock.Now()
	same(t, "and all", b.mustSnapshot(t).Pauses, []fleet.Pause{all, code})

	code = fleet.Pause{Category: "code", Reason: "until resumed"}
	must.Do(t, b.Pause(t.Context(), code))
	code.Since = b.clock.Now()
	same(t, "replaced", b.mustSnapshot(t).Pauses, []fleet.Pause{all, code})

	all = fleet.Pause{Until: b.clock.Now().Add(time.Millisecond)}
	must.Do(t, b.Pause(t.Context(), all))
	all.Since = b.clock.Now()
	b.clock.Advance(time.Hour)
	same(t, "over", b.mustSnapshot(t).Pauses, []fleet.Pause{all, code})
}

func (b bundle) mustResume(t *testing.T, c fleet.Category, want bool) {
	t.Helper()
	ended := must.Get(b.Resume(t.Context(), c))(t)
	if (len(ended) > 0) != want {
		t.Errorf("resume %q: got %v, want %v", c, ended, want)
	}
}

// Resume ends pauses one by one: that of the fleet is one of its own.
func (contract) Resume(t *testing.T, b bundle) {
	for _, c := range []fleet.Category{"code", ""} {
		b.mustResume(t, c, false)
	}
	for _, c := range []fleet.Category{"code", "docs", ""} {
		must.Do(t, b.Pause(t.Context(), fleet.Pause{Category: c}))
	}
	left := func(what string, want ...fleet.Category) {
		var got []fleet.Category
		for _, p := range b.mustSnapshot(t).Pauses {
			got = append(got, p.Category)
		}
		same(t, what, got, want)
	}
	b.mustResume(t, "triage", false)
	left("another resumed", "", "code", "docs")
	b.mustResume(t, "code", true)
	left("code resumed", "", "docs")
	b.mustResume(t, "code", false)
	b.mustResume(t, "", true)
	left("the fleet resumed", "docs")
	b.mustResume(t, "", false)
	left("the fleet resumed again", "docs")
}

func (contract) ResumeAwakes(t *testing.T, b bundle) {
	b.mustFire(t, nil)
	for id, c := range map[fleet.RunID]fleet.Category{"0r1": "code", "0r2": "docs", "0r3": "triage"} {
		b.backOff(t, c, id, fleet.Noop)
	}
	must.Do(t, b.Complete(t.Context(), graded(b.begunIn(t, "news", "0r4"), 0.5)))
	must.Do(t, b.Pause(t.Context(), fleet.Pause{Category: "code"}))
	asleep, awake := b.arm(t, "docs").Backoff, rank.Backoff{NoopsEver: 1}
	asleep.VainAt = b.arm(t, "code").VainAt
	same(t, "before", b.arm(t, "code").Backoff, asleep)
	asleep.VainAt = b.arm(t, "docs").VainAt
	same(t, "asleep until", asleep.AsleepUntil, fleet.Round(3))

	code := b.arm(t, "code")
	b.mustResume(t, "code", true)
	code.Backoff = awake
	same(t, "code", b.arm(t, "code"), code)
	same(t, "docs", b.arm(t, "docs").Backoff, asleep)
	b.mustResume(t, "code", false)
	b.mustResume(t, "news", false)
	b.mustResume(t, "docs", true) // without a pause
	same(t, "docs", b.arm(t, "docs").Backoff, awake)
	b.mustResume(t, "", true)
	same(t, "triage", b.arm(t, "triage").Backoff, awake)
	b.mustResume(t, "", false)
}

// PausedMeanwhile records a fire that looked before a person paused what it is about to start.
func (contract) PausedMeanwhile(t *testing.T, b bundle) {
	for n, tt := range []struct {
		pauses []fleet.Pause
		forced bool // the second
		want   [2]string
	}{
		{[]fleet.Pause{{Category: "triage"}, {Category: "docs", Until: Start().Add(-time.Hour), Reason: "over"}}, false, [2]string{}},
		{[]fleet.Pause{{Category: "docs", Reason: "lunch"}}, false, [2]string{"paused: lunch", ""}},
		{
			[]fleet.Pause{{Reason: "holidays", Until: Start().Add(time.Hour)}, {Category: "docs"}},
			true,
			[2]string{"paused: the whole fleet, holidays (until 2026-06-26T13:00:00Z)", ""},
		},
		{[]fleet.Pause{{Reason: "holidays"}}, false, [2]string{"paused: the whole fleet, holidays", "paused: the whole fleet, holidays"}},
	} {
		for _, p := range tt.pauses {
			must.Do(t, b.Pause(t.Context(), p))
		}
		f, runs := testFire(fleet.RunID(fmt.Sprint("0r", n, "a")), fleet.RunID(fmt.Sprint("0r", n, "b")))
		runs[0].Category = "docs"
		if tt.forced {
			runs[1].Source = fleet.FromHand
		}
		got := must.Get(b.RecordFire(t.Context(), store.Firing{Fire: f, Runs: runs}))(t)
		same(t, "on record", must.Get(b.Fire(t.Context(), got.ID))(t).Choices, got.Choices)
		for i, r := range runs {
			c := got.Choices[2*i]
			_, err := b.Run(t.Context(), r.ID)
			if planned := err == nil; planned != (tt.want[i] == "") || planned != (c.Decision == fleet.Spawn) || c.Refusal != tt.want[i] && tt.want[i] != "" {
				t.Errorf("%+v: got %+v and a planned run: %t, want %q", tt.pauses, c, planned, tt.want[i])
			}
			if c.Decision == fleet.Skip && c.By != fleet.HinderedByPause {
				t.Errorf("skipped by %s", c.By)
			}
		}
		for _, p := range tt.pauses {
			must.Get(b.Resume(t.Context(), p.Category))(t)
		}
	}
}
