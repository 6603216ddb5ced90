package wire

import (
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/report"
)

// Report is stint/report@1.
type Report struct {
	Schema     string           `json:"schema"`
	Fleet      fleet.Name       `json:"fleet"`
	From       string           `json:"from"`
	To         string           `json:"to"`
	First      *string          `json:"first"` // when the first run was created; null: there is none
	Findings   []Finding        `json:"findings"`
	PerHour    float64          `json:"sessions_per_hour"`
	PerDay     float64          `json:"sessions_per_day"`
	Cost       *float64         `json:"usd_per_productive"` // of all runs; null: none was productive
	Respawns   int              `json:"respawns"`
	Neglected  int              `json:"neglected_spawned"` // spawned runs of neglected categories
	Audit      Audit            `json:"audit"`
	All        ReportUse        `json:"all"`
	Categories []ReportCategory `json:"categories"`
	Agents     []ReportAgent    `json:"agents"`
	Pairs      []ReportPair     `json:"categories_agents"`
	Merged     []ReportMerged   `json:"merged"` // by category and agent, of the latest 1500 runs
	Step       float64          `json:"step_seconds"`
	Steps      []ReportStep     `json:"steps"` // that had runs
}

// ReportMerged is what sessions cost for each change that is in the target.
type ReportMerged struct {
	Category fleet.Category `json:"category"`
	Agent    string         `json:"agent"`
	Sessions int            `json:"sessions"` // those whose work was rejected or left included
	USD      float64        `json:"usd"`      // of all of them
	Merged   int            `json:"merged"`   // whose work is in the target, with changes or without
	Refused  int            `json:"refused"`  // whose work was rejected or reverted
	Cost     *float64       `json:"usd_per_merged"`
	Per      *float64       `json:"sessions_per_merged"`
	Week     *float64       `json:"stood_7d"`  // share of the work merged a week ago that stood so long; null: there is none
	Month    *float64       `json:"stood_30d"` // the same of 30 days
}

func newReportMerged(h report.MergedWork) ReportMerged {
	o := ReportMerged{Category: h.Category, Agent: h.Agent, Sessions: h.Sessions, USD: h.USD, Merged: h.Merged, Refused: h.Refused}
	if usd, sessions := h.PerMerged(); h.Merged > 0 {
		o.Cost, o.Per = &usd, &sessions
	}
	share := func(s report.Standing) *float64 {
		if s.Due == 0 {
			return nil
		}
		return new(float64(s.Stood) / float64(s.Due))
	}
	o.Week, o.Month = share(h.Week), share(h.Month)
	return o
}

// Finding is something that deserves attention.
type Finding struct {
	Kind     report.FindingKind `json:"kind"`
	Category *fleet.Category    `json:"category"` // null: the whole fleet
	Text     string             `json:"text"`
}

// ReportUse sums up runs.
type ReportUse struct {
	Runs     int                   `json:"runs"`
	Ended    int                   `json:"ended"`
	Spawned  int                   `json:"spawned"`
	Sessions int                   `json:"sessions"`
	Outcomes map[fleet.Outcome]int `json:"outcomes"`
	Graded   int                   `json:"graded"`
	Grade    *float64              `json:"grade"`          // the mean; null without any
	Interval *[2]float64           `json:"grade_interval"` // of these grades alone; null for categories, of which more is believed
	NoopRate float64               `json:"noop_rate"`
	Tokens   int64                 `json:"tokens"`
	USD      float64               `json:"usd"`
	Guessed  float64               `json:"usd_estimated"` // of usd: computed from prices, or assumed
	Worked   float64               `json:"worked_seconds"`
}

// ReportCategory is what a category got, and what it came to.
type ReportCategory struct {
	Category fleet.Category `json:"category"`
	ReportUse
	Part      float64           `json:"part"`
	Share     float64           `json:"share"`
	Entitled  float64           `json:"entitled"` // by the fires of that time, in sessions
	Ratio     *float64          `json:"ratio"`    // of the sessions to that; null: it was entitled to none
	Judgement *report.Judgement `json:"judgement"`
	Believed  *Believed         `json:"believed"` // of its mean grade; null: it is not in the configuration
}

// Believed is what the ranking believes of a mean grade: with 95 % certainty it is from low
// to high.
type Believed struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// ReportAgent is what an agent did.
type ReportAgent struct {
	Agent string `json:"agent"`
	ReportUse
}

// ReportPair is what an agent did in a category.
type ReportPair struct {
	Category fleet.Category `json:"category"`
	Agent    string         `json:"agent"`
	ReportUse
}

// ReportStep is what was begun in a step of time.
type ReportStep struct {
	From string `json:"from"`
	ReportUse
}

// NewReport is a report as JSON.
func NewReport(name fleet.Name, r report.Report) Report {
	o := Report{
		Schema: "stint/report@1", Fleet: name, From: plain.Stamp(r.From), To: plain.Stamp(r.To), First: Time(r.First),
		Findings: each(r.Findings, func(f report.Finding) Finding { return Finding{f.Kind, some(f.Category), f.Text} }), PerHour: r.PerHour(), PerDay: r.PerDay(), Respawns: r.Respawns,
		Neglected: r.NeglectedSpawned(), Audit: NewAudit(r.Audit), All: newReportUse(r.All),
		Categories: each(r.Categories, newReportCategory),
		Agents:     each(r.Agents, func(a report.AgentUse) ReportAgent { return ReportAgent{a.Agent, newReportUse(a.Use)} }),
		Pairs:      each(r.Pairs, func(p report.PairUse) ReportPair { return ReportPair{p.Category, p.Agent, newReportUse(p.Use)} }),
		Merged:     each(r.Merged, newReportMerged),
		Step:       r.Step.Seconds(),
		Steps:      each(r.Steps, func(s report.Step) ReportStep { return ReportStep{plain.Stamp(s.From), newReportUse(s.Use)} }),
	}
	if r.All.Productive() > 0 {
		o.Cost = new(r.All.USDPerProductive())
	}
	return o
}

func newReportCategory(c report.CategoryUse) ReportCategory {
	o := ReportCategory{
		Category: c.Category, ReportUse: newReportUse(c.Use), Part: c.Part, Share: c.Share, Entitled: c.Entitled, Judgement: some(c.Judgement),
	}
	o.Interval = nil
	if c.Entitled > 0 {
		o.Ratio = new(c.Ratio())
	}
	if c.Believed != (report.Estimate{}) {
		o.Believed = new(Believed(c.Believed))
	}
	return o
}

func newReportUse(u report.Use) ReportUse {
	o := ReportUse{
		Runs: u.Runs, Ended: u.Ended, Spawned: u.Spawned, Sessions: u.Sessions, Outcomes: u.Outcomes, Graded: u.Graded,
		NoopRate: u.NoopRate(), Tokens: u.Tokens, USD: u.USD, Guessed: u.Guessed, Worked: u.Worked.Seconds(),
	}
	if o.Outcomes == nil {
		o.Outcomes = map[fleet.Outcome]int{}
	}
	if u.Graded > 0 {
		alone := u.Alone()
		o.Grade, o.Interval = &alone.Mean, &[2]float64{alone.Low, alone.High}
	}
	return o
}
