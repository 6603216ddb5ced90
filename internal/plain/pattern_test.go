package plain_test

import (
	"strings"
	"testing"

	"stint/internal/plain"
)

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, file string
		want          bool
	}{
		{"go.mod", "go.mod", true},
		{"go.mod", "tools/go.mod", false},
		{"**/go.mod", "go.mod", true},
		{"**/go.mod", "tools/sub/go.mod", true},
		{"*.go", "a.go", true},
		{"*.go", "a/b.go", false},
		{"db/migrations/**", "db/migrations/2026/1.sql", true},
		{"db/migrations", "db/migrations/1.sql", true},
		{"db/migrations/", "db/migrations/1.sql", true},
		{"db/migrations", "db/migrations_old/1.sql", false},
		{"db/*/1.sql", "db/a/1.sql", true},
		{"{web,api}/**", "api/x/y", true},
		{"src/[ab]?.ts", "src/a1.ts", true},
		{`src/\[id\].ts`, "src/[id].ts", true},
		{"bad[", "bad[", false},
	} {
		if got := plain.Matches(tt.pattern, tt.file); got != tt.want {
			t.Errorf("%s and %s: got %v, want %v", tt.pattern, tt.file, got, tt.want)
		}
		if stem := plain.Stem(tt.pattern); tt.want && !strings.HasPrefix(tt.file, stem) {
			t.Errorf("%s: %s does not begin with %q", tt.pattern, tt.file, stem)
		}
	}
}

func TestCheckPattern(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"db/**":  "",
		"a{b,c}": "",
		"":       "empty",
		"/etc/*": "top of the repository",
		"./a":    "top of the repository",
		"../a":   "top of the repository",
		"a[b":    "no pattern",
		`a\`:     "no pattern",
		"{a,b":   "no pattern",

		strings.Repeat("{a,b}", 4):                 "",
		strings.Repeat("{a,a}", 40) + "b":          "groups in braces",
		"{" + strings.Repeat("a,", 17) + "b}":      "groups in braces",
		strings.Repeat(",", 17):                    "",
		"{{a,b},{" + strings.Repeat("c", 9) + "}}": "",
	} {
		err := plain.CheckPattern(pattern)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", pattern, err, want)
		}
	}
}
