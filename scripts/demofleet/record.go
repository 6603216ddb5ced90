package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// status is the part of stint/status@1 that the demo reads.
type status struct {
	Running []session `json:"running"`
	Fires   []fire    `json:"fires"` // newest first
	Runs    []session `json:"runs"`  // newest first
}

type fire struct {
	Fire       int       `json:"fire"`
	At         time.Time `json:"at"`
	Spawned    int       `json:"spawned"`
	Failed     int       `json:"failed"`
	Categories []struct {
		Category string `json:"category"`
		Decision string `json:"decision"`
	} `json:"categories"` // ranked ones first, best first
}

type session struct {
	Run       string     `json:"run"`
	Category  string     `json:"category"`
	Lane      int        `json:"lane"`
	Task      string     `json:"task"` // empty: it came to no session
	StartedAt *time.Time `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"`
	Outcome   string     `json:"outcome"`
	Grade     *float64   `json:"grade"`
	Reason    string     `json:"reason"`
	State     string     `json:"state"` // of running ones only
}

// statusOf is the whole record: a demo has far fewer fires and runs than the limit.
func statusOf(ctx context.Context, stint func(context.Context, ...string) ([]byte, error)) (s status, err error) {
	out, err := stint(ctx, "status", "--last", "1000", "--json")
	if err == nil {
		err = json.Unmarshal(out, &s)
	}
	return s, err
}

// started are the categories that the fire started, best first.
func (f fire) started() (names []string) {
	for _, c := range f.Categories {
		if c.Decision == "spawn" {
			names = append(names, c.Category)
		}
	}
	return names
}

// grade is a run's grade as it is shown: "-" where there is none.
func (s session) grade() string {
	if s.Grade == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f", *s.Grade)
}

// verify says what in the record is not what the sessions did.
func (s status) verify() error {
	var wrong []error
	fault := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	spawned := 0
	for _, f := range s.Fires {
		if spawned += f.Spawned; f.Failed > 0 {
			fault("fire %d: %d units did not start", f.Fire, f.Failed)
		}
	}
	if spawned != len(s.Runs) {
		fault("%d units were spawned, and there are %d runs", spawned, len(s.Runs))
	}
	// The begun task's category leads, and tasks that require that task are left out.
	names := s.Fires[len(s.Fires)-1].started()
	if len(names) != 3 || names[0] != "code" || !slices.Contains(names, "triage") || !slices.Contains(names, "flaky") {
		fault("the first fire started %q; want code first, triage and flaky", names)
	}
	seen := map[string]bool{}
	for _, r := range s.Runs {
		want := categories()[slices.IndexFunc(categories(), func(c category) bool { return c.name == r.Category })]
		seen[r.Outcome] = true
		if r.Outcome == "busy" { // on a slow machine a session outlasts the time between two fires
			continue
		}
		if r.Outcome != want.outcome {
			fault("run %s (%s) ended as %q (%s); want %s", r.Run, r.Category, r.Outcome, r.Reason, want.outcome)
		} else if want.grade == "" && r.Grade == nil || want.grade != "" && want.grade != r.grade() {
			fault("run %s (%s) has grade %s; want %s", r.Run, r.Category, r.grade(), cmp.Or(want.grade, "any"))
		}
	}
	for _, outcome := range []string{"productive", "noop", "failed"} {
		if !seen[outcome] {
			fault("no run ended as %s", outcome)
		}
	}
	return errors.Join(wrong...)
}
