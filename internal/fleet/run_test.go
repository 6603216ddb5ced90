package fleet

import "testing"

func TestParseOutcome(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"productive", "noop", "nothing", "failed", "timeout", "quota", "cancelled", "lost",
		"abandoned", "busy", "denied", "idle",
	} {
		if got, err := ParseOutcome(text); got != Outcome(text) || err != nil {
			t.Errorf("%s: got %q, %v, want it as it is", text, got, err)
		}
	}
	for _, text := range []string{"", "Productive", "success", "productive "} {
		if got, err := ParseOutcome(text); err == nil {
			t.Errorf("%q: got %q, want an error", text, got)
		}
	}
}
