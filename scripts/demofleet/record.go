package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// record is what stint says happened.
type record struct {
	status
	audit
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
		if !r.Live {
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
	Category string  `json:"category"`
	Decision string  `json:"decision"`
	Reason   string  `json:"reason"`
	Rank     int     `json:"rank"` // 0: left out of the ranking
	Score    float64 `json:"score"`
}

type session struct {
	Run       string     `json:"run"`
	Fire      int        `json:"fire"`
	Category  string     `json:"category"`
	Lane      int        `json:"lane"`
	Task      string     `json:"task"`
	StartedAt *time.Time `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"`
	Outcome   string     `json:"outcome"`
	Grade     *float64   `json:"grade"`
	Reason    string     `json:"reason"`
	Live      bool       `json:"live"` // said of running ones only
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

// belief is what graded runs say of a category: the Beta distribution which begins at
// Beta(1, 1) and adds each grade g to its first parameter and 1-g to its second.
type belief struct {
	graded int
	sum    float64
}

func (b belief) mean() float64 { return (1 + b.sum) / float64(2+b.graded) }

func (b belief) String() string {
	return fmt.Sprintf("Beta(%.2f, %.2f)", 1+b.sum, 1+float64(b.graded)-b.sum)
}

// belief is computed from the runs of a category that fires before this one started. A
// category is ranked only while none of its runs is open, so those were all that a
// fire which ranked it could know.
func (s status) belief(category string, before int) (b belief) {
	for _, r := range s.Runs {
		if r.Category == category && r.Fire < before && r.Grade != nil {
			b.graded++
			b.sum += *r.Grade
		}
	}
	return b
}

// learnt is the belief from all runs.
func (s status) learnt(category string) belief { return s.belief(category, math.MaxInt) }

func (r record) summary() string {
	return fmt.Sprintf("%d fires, %d runs, %d lanes at once, none held twice", len(r.Fires), len(r.Runs), r.Peak)
}
