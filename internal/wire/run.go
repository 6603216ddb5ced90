package wire

import (
	"stint/internal/fleet"
	"stint/internal/inspect"
	"stint/internal/plain"
)

// Run is stint/run@1.
type Run struct {
	Schema     string             `json:"schema"`
	Run        fleet.RunID        `json:"run"`
	Fire       fleet.FireID       `json:"fire"` // 0: by hand
	Category   fleet.Category     `json:"category"`
	Rank       int                `json:"rank"`        // in its fire, from 1; 0: by hand
	ChainDepth int                `json:"chain_depth"` // sessions before it of which each was good enough for one more
	Source     fleet.Source       `json:"source"`
	Lane       int                `json:"lane"`
	Task       fleet.TaskID       `json:"task"`
	Epoch      fleet.Epoch        `json:"epoch"`
	Agent      string             `json:"agent"`
	Box        string             `json:"box"` // the profile of the agent's box, and the layers that held it; empty: no agent began
	Unit       string             `json:"unit"`
	CreatedAt  *string            `json:"created_at"`
	NotBefore  *string            `json:"not_before"` // null: it need not wait
	StartedAt  *string            `json:"started_at"`
	EndedAt    *string            `json:"ended_at"`
	Outcome    fleet.Outcome      `json:"outcome"`
	Grade      *float64           `json:"grade"`       // at its end
	FinalGrade *float64           `json:"final_grade"` // after what became of its work
	Fates      []Fate             `json:"fates"`       // what that is, in the order in which it was found out
	Awaiting   bool               `json:"awaiting"`    // what becomes of its work is yet to be known, and its grade does not count
	Reason     string             `json:"reason"`
	Parts      map[string]float64 `json:"parts"`
	TaskState  fleet.TaskState    `json:"task_state"`
	ExitStatus *int               `json:"exit_status"`
	Commits    []string           `json:"commits"` // that it made and that stood at its end, oldest first
	Tokens     *int64             `json:"tokens"`  // null: not known
	USD        *float64           `json:"usd"`
	Cost       fleet.Cost         `json:"cost"`        // where usd comes from: reported, computed or assumed; empty: it is not known
	Models     []string           `json:"models"`      // that it was billed for, as far as they are named
	QuotaUntil *string            `json:"quota_until"` // of a usage limit that the agent met
	Branch     string             `json:"branch"`      // that it worked on, if it was its own
	Followed   string             `json:"followed"`    // whether a session follows it, and why
	Machine    string             `json:"machine"`     // the name of the one that it is on, or was; empty: the fleet has one, or nobody asked
	Heard      *string            `json:"heard"`       // of an open one on another machine: when that was heard of
}

// Fate is one thing that became of a run's work.
type Fate struct {
	At      *string        `json:"at"`
	Kind    fleet.FateKind `json:"kind"`    // merged, changed, unreviewed, rejected, reverted, dropped or touched
	Witness string         `json:"witness"` // a commit, or who says so
	Reason  string         `json:"reason"`
	Grade   *float64       `json:"grade"` // of the run from then on
}

// NewRun is a run as JSON.
func NewRun(r fleet.Run) Run {
	v := r.Verdict
	return Run{
		Schema: "stint/run@1", Run: r.ID, Fire: r.Fire, Category: r.Category, Source: r.Source, Lane: r.Lane, Task: r.Task,
		Epoch: r.Epoch, Agent: r.Agent, Box: r.Box, Unit: r.Unit, Rank: r.Rank, ChainDepth: r.ChainDepth, NotBefore: Time(r.NotBefore),
		CreatedAt: Time(r.CreatedAt), StartedAt: Time(r.StartedAt), EndedAt: Time(r.EndedAt),
		Outcome: v.Outcome, Grade: v.Grade, FinalGrade: r.Final(), Fates: each(r.Fates, newFate), Awaiting: r.Awaiting(), Reason: v.Reason, Parts: v.Parts, TaskState: v.TaskState, ExitStatus: v.ExitStatus,
		Commits: listed(r.Commits), Tokens: r.Usage.Tokens, USD: r.Usage.USD, Cost: r.Usage.Cost, Models: listed(r.Usage.Models), QuotaUntil: Time(r.QuotaUntil), Branch: r.Branch, Followed: r.Following(),
	}
}

func newFate(f fleet.Fate) Fate { return Fate{Time(f.At), f.Kind, f.Witness, f.Reason, f.Grade} }

// Runs is stint/runs@1.
type Runs struct {
	Schema string `json:"schema"`
	Runs   []Run  `json:"runs"` // newest first
}

// NewRuns are runs as JSON.
func NewRuns(list []fleet.RunStatus) Runs { return Runs{"stint/runs@1", each(list, newRun)} }

func newRun(r fleet.RunStatus) Run {
	o := NewRun(r.Run)
	o.Machine, o.Heard = r.Machine, Time(r.Heard)
	return o
}

// RunDetail is stint/run-detail@1: a run, and all that is known of it. The tokens of one
// under way are those that its agent has printed so far.
type RunDetail struct {
	Schema string `json:"schema"`
	Run
	State     fleet.RunState `json:"state"`
	Host      string         `json:"host"`            // the identity of the machine that it is at work on
	Timeout   int64          `json:"timeout_seconds"` // of the category of one that has not ended
	PID       int            `json:"pid"`             // of stint run; 0 before it began
	Key       fleet.Key      `json:"key"`             // what it claimed; empty: nothing
	Choice    *Choice        `json:"choice"`          // what its fire decided of its category; null: no fire planned it
	Denials   []Denial       `json:"denials"`         // oldest first
	Lessons   []LessonUse    `json:"lessons"`
	Dir       *string        `json:"dir"`       // the run's own work tree; null: it has none, or it was removed
	Leftovers *string        `json:"leftovers"` // that its branch does not have, and where; null: none
	Files     RunFiles       `json:"files"`
}

// Denial is a claim that a run was denied.
type Denial struct {
	Key      fleet.Key      `json:"key"`
	Category fleet.Category `json:"category"` // in which the run wanted it
	Holder   fleet.Holder   `json:"holder"`   // who had it
	At       string         `json:"at"`
}

// LessonUse is a lesson that matched a run.
type LessonUse struct {
	Lesson fleet.LessonID `json:"lesson"`
	Given  bool           `json:"given"` // false: chance withheld it
}

// RunFiles are where a run leaves its files, of which some may not be there.
type RunFiles struct {
	Dir    string   `json:"dir"`
	Prompt string   `json:"prompt"`
	Log    string   `json:"log"`
	Result string   `json:"result"`
	Swept  bool     `json:"swept"` // they were removed, as those of old runs are
	Own    []string `json:"own"`   // in which the agent itself keeps the session
}

// NewRunDetail is a run with all that is known of it, as JSON.
func NewRunDetail(d inspect.RunDetail) RunDetail {
	r := NewOpenRun(d.RunStatus)
	if d.Tokens == nil {
		r.Tokens = d.Usage.Tokens
	}
	o := RunDetail{
		Schema: "stint/run-detail@1", Dir: some(d.Dir), Leftovers: some(d.Leftovers),
		Run: r.Run, State: r.State, Host: d.Host, Timeout: r.Timeout, PID: d.PID, Key: d.Key,
		Denials: each(d.Denials, func(n fleet.DeniedClaim) Denial { return Denial{n.Key, n.Category, n.Holder, plain.Stamp(n.At)} }),
		Lessons: each(d.Lessons, func(u fleet.LessonUse) LessonUse { return LessonUse{u.Lesson, u.Injected} }),
		Files:   RunFiles{d.Files.Dir, d.Files.Prompt, d.Files.Log, d.Files.Result, d.Swept != "", listed(d.Own)},
	}
	if d.Choice != nil {
		o.Choice = new(newChoice(*d.Choice))
	}
	return o
}
