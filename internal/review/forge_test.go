package review_test

import (
	"strings"
	"testing"
	"time"

	"stint/internal/review"
)

// TestParseAnswer has one bad entry of a forge left out, and the others taken.
func TestParseAnswer(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 26, 12, 0, 0, 0, time.UTC)
	asked := []review.Asked{{Run: "0r1", EndedAt: now.Add(-time.Hour)}}
	for _, tt := range []struct{ name, answer, want string }{
		{"nothing", `[]`, ""},
		{"merged", `[{"run":"0r1","state":"merged"}]`, "merged 12:00"},
		{"a time and a reason", `[{"run":"0r1","state":"rejected","at":"2026-06-26T13:30:00+02:00","reason":"no"}]`, "rejected 11:30 no"},
		{"one that is bad", `[7,{"run":"0r1","state":"reverted"}]`, "entry 1: ; reverted 12:00"},
		{"another run", `[{"run":"0r2","state":"merged"}]`, `entry 1: run "0r2" was not asked about`},
		{"another state", `[{"run":"0r1","state":"touched"}]`, `entry 1: state "touched" of run 0r1: want merged`},
		{"another field", `[{"run":"0r1","state":"merged","grade":1}]`, `entry 1: json: unknown field "grade"`},
		{"before its end", `[{"run":"0r1","state":"merged","at":"2026-06-26T10:00:00Z"}]`, "entry 1: at 2026-06-26T10:00:00Z of run 0r1: want a time after its end"},
		{"in the future", `[{"run":"0r1","state":"merged","at":"2026-06-26T12:00:01Z"}]`, "entry 1: at 2026-06-26T12:00:01Z of run 0r1"},
		{"a reason that acts on a terminal", `[{"run":"0r1","state":"merged","reason":"\u001b[2J"}]`, "entry 1: reason"},
		{"no list", `{}`, "want a list of JSON"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			fates, problems, err := review.ParseAnswer([]byte(tt.answer), asked, now)
			got := problems
			if err != nil {
				got = append(got, err.Error())
			}
			for _, f := range fates {
				if f.Witness != review.ByForge || f.Run != "0r1" {
					t.Errorf("got %+v", f)
				}
				got = append(got, strings.TrimSpace(string(f.Kind)+" "+f.At.UTC().Format("15:04")+" "+f.Reason))
			}
			for i, want := range strings.Split(tt.want, "; ") {
				if want == "" && len(got) == 0 {
					continue
				}
				if i >= len(got) || !strings.HasPrefix(got[i], want) {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			}
		})
	}
}
