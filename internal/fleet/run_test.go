package fleet

import "testing"

func TestSucceeded(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[Outcome]bool{
		Productive: true, Noop: true, Nothing: true,
		Failed: false, Timeout: false, Quota: false, Cancelled: false, Lost: false, Abandoned: false,
		Busy: false, RunDenied: false, Idle: false, "": false, "success": false,
	} {
		if got := outcome.Succeeded(); got != want {
			t.Errorf("%q: got %t, want %t", outcome, got, want)
		}
	}
}
