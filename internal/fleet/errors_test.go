package fleet

import (
	"errors"
	"fmt"
	"testing"
)

func TestHints(t *testing.T) {
	t.Parallel()
	hinted := WithHint(fmt.Errorf("take claim: %w", ErrHeld), "stint claim list")
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"none", ErrHeld, ""},
		{"nil", nil, ""},
		{"given", hinted, "stint claim list"},
		{"wrapped", fmt.Errorf("run: %w", hinted), "stint claim list"},
		{"one of two", fmt.Errorf("%w: %w", ErrUsage, hinted), "stint claim list"},
		{"joined", errors.Join(ErrUsage, hinted), "stint claim list"},
		{"outermost", WithHint(hinted, "stint status"), "stint status"},
	}
	for _, tt := range tests {
		if got := Hint(tt.err); got != tt.want {
			t.Errorf("%s: got hint %q, want %q", tt.name, got, tt.want)
		}
	}
	if got, want := hinted.Error(), "take claim: held by another"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !errors.Is(hinted, ErrHeld) {
		t.Error("got a hint that hides its error, want it found")
	}
	if err := WithHint(nil, "hint"); err != nil {
		t.Errorf("got %v, want nil to stay nil", err)
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"store", "top", "status", "category", "environment", "ttl", "code"}
	for word, want := range map[string]string{
		"sotre": "store", "stauts": "status", "categories": "category", "env": "environment", "cdoe": "code", "CODE": "code",
		"start": "", "nope": "", "t": "", "ps": "", "": "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}

func TestSlip(t *testing.T) {
	t.Parallel()
	verbs := []string{"check", "list", "release", "renew", "take", "verify"}
	for word, want := range map[string]string{
		"relase": "release", "verfiy": "verify", "lsit": "list", "lst": "list", "takes": "take", "chick": "check",
		"list": "", "lint": "", "make": "", "fix": "", "test": "", "check-login": "", "": "",
	} {
		if got := Slip(word, verbs); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}

func TestOutcomeError(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("work: %w", OutcomeError{Run: "0a", Outcome: Failed, Reason: "exit 3"})
	var got OutcomeError
	if !errors.As(err, &got) || got.Outcome != Failed {
		t.Errorf("got %+v, want the outcome found", got)
	}
	if got, want := got.Error(), "run 0a: failed: exit 3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestVariable(t *testing.T) {
	t.Parallel()
	environment := []string{"A=1", "AB=2", "A=3"}
	for name, want := range map[string]string{"A": "3", "AB": "2", "B": ""} {
		if got := Variable(environment, name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestClipped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"ärger": "ärger", "ärgerlich": "ärg…", "abcdefghi": "abcd…"} {
		if got := Clipped(text, 7); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
