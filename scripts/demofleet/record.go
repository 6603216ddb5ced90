package main

import (
	"fmt"
	"slices"
	"time"
)

// record is what stint says happened.
type record struct {
	status
	audit
	Replays []ranking // of the fires, as status has them
	Next    selection // for the fire that would come next
}

// ranking is the part of stint/replay@1 that the demo reads.
type ranking struct {
	Fire      int       `json:"fire"`
	Identical bool      `json:"identical"`
	Selection selection `json:"selection"`
}

// selection is the part of stint/selection@1 that the demo reads.
type selection struct {
	Explain map[string]explained `json:"explain"`
}

// explained is what a category's place in a ranking is made of, and its account.
type explained struct {
	In       bool    `json:"in"`
	Score    float64 `json:"score"`
	Due      float64 `json:"due"`      // sessions of this fire that it is entitled to
	Entitled float64 `json:"entitled"` // by the fires before
	Sessions int     `json:"sessions"` // that were debited before
}

// status is the part of stint/status@1 that the demo reads.
type status struct {
	Running    []session   `json:"running"`
	Fires      []fire      `json:"fires"` // newest first
	Runs       []session   `json:"runs"`  // newest first
	Posteriors []posterior `json:"posteriors"`
}

// dead is a run that is open and has no living process, or "".
func (s status) dead() string {
	for _, r := range s.Running {
		if r.State == "crashed" {
			return r.Run
		}
	}
	return ""
}

type fire struct {
	Fire       int       `json:"fire"`
	At         time.Time `json:"at"`
	Spawned    int       `json:"spawned"`
	Skipped    int       `json:"skipped"`
	Failed     int       `json:"failed"`
	Categories []choice  `json:"categories"` // ranked ones first, best first
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

type choice struct {
	Category string   `json:"category"`
	Decision string   `json:"decision"`
	Reason   string   `json:"reason"`
	Rank     int      `json:"rank"` // 0: left out of the ranking
	Score    float64  `json:"score"`
	Odds     *float64 `json:"odds"` // probability of being started
}

// odds are 0 of what was left out.
func (c choice) odds() float64 {
	if c.Odds == nil {
		return 0
	}
	return *c.Odds
}

type session struct {
	Run       string     `json:"run"`
	Fire      int        `json:"fire"`
	Category  string     `json:"category"`
	Lane      int        `json:"lane"`
	Task      string     `json:"task"` // empty: it came to no session
	StartedAt *time.Time `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"`
	Outcome   string     `json:"outcome"`
	Grade     *float64   `json:"grade"`
	Reason    string     `json:"reason"`
	State     string     `json:"state"` // said of running ones only
}

// grade is a run's grade as it is shown: "-" where there is none.
func (s session) grade() string {
	if s.Grade == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f", *s.Grade)
}

type posterior struct {
	Category string  `json:"category"`
	Graded   int     `json:"graded"`
	Mean     float64 `json:"mean"`
}

// audit is the part of stint/audit@1 that the demo reads.
type audit struct {
	Peak       int `json:"peak_concurrency"`
	Total      int `json:"total_acquisitions"`
	Violations int `json:"same_lock_violations"`
}

// oldest are the same things in the order in which they happened.
func oldest[T any](newest []T) []T {
	list := slices.Clone(newest)
	slices.Reverse(list)
	return list
}

// first and last are the fires whose rankings are compared.
func (s status) first() fire { return s.Fires[len(s.Fires)-1] }
func (s status) last() fire  { return s.Fires[0] }

// grades are those of a category's runs.
func (s status) grades(category string) (list []float64) {
	for _, r := range s.Runs {
		if r.Category == category && r.Grade != nil {
			list = append(list, *r.Grade)
		}
	}
	return list
}

// sessions counts those of a category that fires before this one started. A category is
// ranked only while none of its runs is open, so those were all that a fire which ranked
// it could know.
func (s status) sessions(category string, before int) (n int) {
	for _, r := range s.Runs {
		if r.Category == category && r.Fire < before && r.Task != "" {
			n++
		}
	}
	return n
}

func (r record) summary() string {
	return fmt.Sprintf("%d fires, %d runs, %d lanes at once, none held twice", len(r.Fires), len(r.Runs), r.Peak)
}
