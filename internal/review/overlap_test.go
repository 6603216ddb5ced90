package review_test

import (
	"cmp"
	"reflect"
	"testing"

	"stint/internal/fleet"
	"stint/internal/review"
)

// TestOverlaps has one session at work and two items that wait.
func TestOverlaps(t *testing.T) {
	t.Parallel()
	o := review.NewOverlaps([]review.Work{
		{Run: "session", Task: "a", Session: true, Reach: review.Reach{Files: []string{"web/new.ts"}, Paths: []string{"web/**", "docs/guide.md"}}},
		{Run: "item", Task: "b", Reach: review.Reach{Files: []string{"db/migrations/7.sql", "app/[id].ts", "go.mod"}}},
		{Run: "nobody's", Reach: review.Reach{Files: []string{"lonely.txt"}}},
	}, []string{"go.mod", "db/migrations/**"})
	for _, tt := range []struct {
		name string
		task fleet.TaskID
		review.Reach
		want  string
		waits bool
	}{
		{name: "nothing known"},
		{name: "elsewhere", Reach: review.Reach{Files: []string{"cmd/main.go"}, Paths: []string{"cmd/**"}}},
		{name: "an attempt's file", Reach: review.Reach{Files: []string{"a", "web/new.ts"}}, want: "run session, which is at work, changes web/new.ts"},
		{name: "a file with brackets", Reach: review.Reach{Files: []string{"app/[id].ts"}}, want: "the work of run item, which waits for review, changes app/[id].ts"},
		{name: "brackets are no class of a file", Reach: review.Reach{Files: []string{"app/i.ts"}}},
		{name: "a declared folder", Reach: review.Reach{Paths: []string{"app"}}, want: "the work of run item, which waits for review, changes app/[id].ts"},
		{name: "a declared pattern", Reach: review.Reach{Paths: []string{"**/*.txt"}}, want: "the work of run nobody's, which waits for review, changes lonely.txt"},
		{name: "a session declares it, too", Reach: review.Reach{Paths: []string{"docs/*.md"}}, want: "run session, which is at work, changes docs/*.md"},
		{name: "its own work", task: "a", Reach: review.Reach{Files: []string{"web/new.ts"}, Paths: []string{"web/**"}}},
		{name: "its own work, serialized", task: "b", Reach: review.Reach{Files: []string{"go.mod"}}},
		{
			name: "serialized file", Reach: review.Reach{Files: []string{"go.mod"}}, waits: true,
			want: `the work of run item, which waits for review, changes go.mod, and [review] serialize has "go.mod"`,
		},
		{
			name: "another file of a serialized folder", Reach: review.Reach{Files: []string{"db/migrations/8.sql"}}, waits: true,
			want: `the work of run item, which waits for review, changes db/migrations/7.sql, and [review] serialize has "db/migrations/**"`,
		},
		{
			name: "another pattern of a serialized folder", Reach: review.Reach{Paths: []string{"db/migrations/users_*"}}, waits: true,
			want: `the work of run item, which waits for review, changes db/migrations/7.sql, and [review] serialize has "db/migrations/**"`,
		},
		{
			name: "a folder above", Reach: review.Reach{Paths: []string{"db/**"}}, waits: true,
			want: `the work of run item, which waits for review, changes db/migrations/7.sql, and [review] serialize has "db/migrations/**"`,
		},
	} {
		got := o.Of(cmp.Or(tt.task, "t"), tt.Reach)
		if want := (fleet.Overlap{Why: tt.want, Waits: tt.waits}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", tt.name, got, want)
		}
	}
	apart := review.Excluded(map[fleet.TaskID]review.Reach{
		"a": {Files: []string{"go.mod", "x"}}, "b": {Paths: []string{"go.*", "db"}}, "c": {Paths: []string{"db/migrations/1"}}, "d": {Files: []string{"x"}},
	}, []string{"go.mod", "db/migrations/**", "go.*"})
	if want := map[fleet.TaskID][]fleet.TaskID{"a": {"b"}, "b": {"a", "c"}, "c": {"b"}}; !reflect.DeepEqual(apart, want) {
		t.Errorf("apart: got %v, want %v", apart, want)
	}
}
