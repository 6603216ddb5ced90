package fleet_test

import (
	"strings"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

func TestSubjects(t *testing.T) {
	t.Parallel()
	whole := fleet.Notice{Category: "code", Task: "fix", Run: "0r1", Agent: "claude", Scope: "category:code", Source: "github", Reason: "changed"}
	wants := map[fleet.Event]string{
		fleet.EventFailed: "code", fleet.EventWaiting: "fix", fleet.EventQuota: "claude", fleet.EventUnavailable: "claude", fleet.EventBudget: "category:code",
		fleet.EventNoopStreak: "code", fleet.EventWIPFull: "code", fleet.EventGradesChanged: "0r1", fleet.EventLaneOverdue: "0r1",
		fleet.EventSourceFailed: "github", fleet.EventHeld: "changed", fleet.EventWentBack: "changed", fleet.EventReviewSilent: "review",
		fleet.EventTargetStuck: "review",
	}
	for _, event := range fleet.Events() {
		n := whole
		n.Event = event
		if got, want := n.Subject(), wants[event]; got != want || got == "" {
			t.Errorf("%s: got subject %q, want %q", event, got, want)
		}
	}
}

// TestLoginsOfMachines has the login of each machine be news of its own, and a service that fails one for all.
func TestLoginsOfMachines(t *testing.T) {
	t.Parallel()
	subject := func(host string, fault fleet.FaultKind) string {
		r := fleet.Run{Agent: "claude", Location: fleet.Location{Host: host}, Verdict: fleet.Verdict{Outcome: fleet.Unavailable, Fault: fault}}
		n, _ := fleet.EndNotice(r, 0)
		return n.Subject()
	}
	must.Equal(t, "logins", []string{subject("a", fleet.FaultLogin), subject("b", fleet.FaultLogin)}, []string{"claude@a", "claude@b"})
	must.Equal(t, "services", []string{subject("a", fleet.FaultServer), subject("b", fleet.FaultServer)}, []string{"claude", "claude"})
}

func TestEndNotice(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		outcome fleet.Outcome
		noops   int
		want    fleet.Event // empty: none
	}{
		{fleet.Failed, 0, fleet.EventFailed},
		{fleet.Timeout, 9, fleet.EventFailed},
		{fleet.Quota, 0, fleet.EventQuota},
		{fleet.Unavailable, 0, fleet.EventUnavailable},
		{fleet.Noop, 2, ""},
		{fleet.Noop, 3, fleet.EventNoopStreak},
		{fleet.Idle, 9, ""},
		{fleet.Productive, 0, ""},
		{fleet.Nothing, 0, ""},
		{fleet.Cancelled, 0, ""},
		{fleet.Lost, 0, ""},
		{fleet.Abandoned, 0, ""},
		{fleet.Busy, 0, ""},
		{fleet.RunDenied, 0, ""},
	} {
		t.Run(string(test.outcome), func(t *testing.T) {
			t.Parallel()
			r := fleet.Run{
				ID: "0r1", Category: "code", Task: "fix", Agent: "claude", EndedAt: time.UnixMilli(5),
				Verdict: fleet.Verdict{Outcome: test.outcome, Reason: "why"},
			}
			got, told := fleet.EndNotice(r, test.noops)
			if got.Event != test.want || told != (test.want != "") {
				t.Fatalf("got %+v, %v, want %q", got, told, test.want)
			}
			if told && (got.Category != "code" || got.Task != "fix" || got.Run != "0r1" || got.Agent != "claude" ||
				!strings.HasSuffix(got.Reason, "why") || !got.At.Equal(r.EndedAt)) {
				t.Errorf("got %+v, want what is known of the run", got)
			}
		})
	}
}

func TestLaneNotice(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 26, 12, 0, 0, 0, time.UTC)
	h := fleet.LaneHold{Run: "0r1", Category: "code", Lane: 2, AcquiredAt: now.Add(-100 * time.Minute)}
	if got, told := fleet.LaneNotice(h, 50*time.Minute, now); told {
		t.Errorf("at twice the time-out: got %+v, want none", got)
	}
	got, told := fleet.LaneNotice(h, 50*time.Minute, now.Add(time.Second))
	want := fleet.Notice{
		Event: fleet.EventLaneOverdue, Category: "code", Run: "0r1", At: now.Add(time.Second),
		Reason: "lane 2 has been held for 1h40m1s, and a session may take 50m0s",
	}
	if !told || got != want {
		t.Errorf("got %+v, %v, want %+v", got, told, want)
	}
	h.ReleasedAt = now
	if got, told := fleet.LaneNotice(h, time.Second, now.Add(time.Hour)); told {
		t.Errorf("released: got %+v, want none", got)
	}
}
