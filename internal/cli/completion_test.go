package cli

import (
	"testing"

	"stint/internal/testkit/must"
)

// TestTypeable refuses what says something to a shell, or cannot be shown.
func TestTypeable(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"fix": true, "fixé": true, "fix-1.2:a@b": true, "": false, "-rf": false, "--help": false, "fix it": false, "fix$(a)": false, "fix`a`": false,
		"fix\\a": false, "fix'": false, `fix"`: false, "fix;a": false, "fix!a": false, "fix*": false, "fix{a}": false, "fix|a": false, "fix&": false,
		"fix<a": false, "fix#": false, "fix~": false, "fix=~": false, "fix\ttab": false, "fix\nline": false, "fix\u202ebidi": false,
		"fix\u200bzero": false, "fix\xff": false, "fix ": false, "fix\u00a0": false,
	} {
		must.Equal(t, name, typeable(name), want)
	}
}
