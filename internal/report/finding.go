package report

import (
	"fmt"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/plain"
)

// Finding is something that deserves attention.
type Finding struct {
	Kind     FindingKind
	Category fleet.Category // empty: it is about the whole fleet
	Text     string         // a sentence with the figures
}

// FindingKind is what a finding is about.
type FindingKind string

const (
	FoundViolation     FindingKind = "violation"      // a lane was held twice
	FoundFruitless     FindingKind = "fruitless"      // chosen, and never at work
	FoundFailing       FindingKind = "failing"        // most sessions at a task fail
	FoundAgent         FindingKind = "agent"          // most sessions of an agent fail
	FoundNeglected     FindingKind = "neglected"      // far less than what it was entitled to
	FoundOverAllocated FindingKind = "over-allocated" // far more
	FoundNoops         FindingKind = "noop"           // too many runs did nothing
	FoundChange        FindingKind = "grades-changed" // grades changed, and what was learnt before is forgotten
	FoundEndless       FindingKind = "endless"        // a task took many sessions and is still open
	FoundFallback      FindingKind = "fallback"       // the external selector failed
	FoundSafetyNet     FindingKind = "safety-net"     // a payload named no usable category
)

const (
	// mostNoops is the part of runs that may do nothing, and leastRuns how many runs it
	// takes to say so.
	mostNoops = 0.2
	leastRuns = 5
	// mostChanges is how many changes of grades are named one by one.
	mostChanges = 5
	// mostFailing is how many tasks that keep failing are named.
	mostFailing = 5
)

func (p Report) findings(changes []fleet.GradeChange) (list []Finding) {
	add := func(kind FindingKind, c fleet.Category, format string, args ...any) {
		list = append(list, Finding{kind, c, fmt.Sprintf(format, args...)})
	}
	if n := len(p.Audit.Violations); n > 0 {
		v := p.Audit.Violations[0]
		add(FoundViolation, v.Category, "a lane was held by two runs at once, %s: first %s.%d, by %s and %s (stint audit)",
			plain.Plural(n, "time"), v.Category, v.Lane, v.First, v.Second)
	}
	for _, f := range p.Audit.Fruitless {
		add(FoundFruitless, f.Category, "%s", f.Why())
	}
	for i, f := range p.Audit.Failing {
		if i == mostFailing {
			add(FoundFailing, "", "%s more keep failing", plain.Plural(len(p.Audit.Failing)-i, "task"))
			break
		}
		add(FoundFailing, f.Category, "task %s keeps failing: %s (stint why %s)", f.Task, f.Why(), fleet.ShellWord(string(f.Task)))
	}
	for _, a := range p.Agents {
		if failed, ended := a.failed(); a.Agent != "" && 2*failed > ended && ended >= leastRuns {
			add(FoundAgent, "", "most sessions of agent %s failed: %d of %d (stint doctor)", a.Agent, failed, ended)
		}
	}
	p.judged(add)
	if rate := p.All.NoopRate(); rate > mostNoops && p.All.Ended >= leastRuns {
		add(FoundNoops, "", "%s of the runs did nothing: %d of %d", Percent(rate), p.All.Empty, p.All.Ended)
	}
	for i, r := range changes {
		if i == mostChanges {
			add(FoundChange, "", "the grades of categories changed %d more times (stint why CATEGORY)", len(changes)-i)
			break
		}
		add(FoundChange, r.Category, "%s", r)
	}
	for _, t := range p.Tasks {
		if endless := t.Endless(); endless != "" {
			add(FoundEndless, t.Category, "task %q of %s takes no end: %s (stint why %s)", t.ID, t.Category, endless, fleet.ShellWord(string(t.ID)))
		}
	}
	if n := p.Audit.Fallbacks; n > 0 {
		add(FoundFallback, "", "the external selector failed in %s: stint's own ranking was followed", plain.Plural(n, "fire"))
	}
	if n := p.Audit.SafetyNet; n > 0 {
		add(FoundSafetyNet, "", "a payload named no usable category: %s came of the allow-list", plain.Plural(n, "run"))
	}
	return list
}

// failed counts the sessions that failed, and those in which an agent was at work, or was to be.
func (u Use) failed() (failed, ended int) {
	for _, o := range []fleet.Outcome{fleet.Failed, fleet.Timeout, fleet.Unavailable, fleet.Abandoned} {
		failed += u.Outcomes[o]
	}
	return failed, failed + u.Outcomes[fleet.Productive] + u.Outcomes[fleet.Noop] + u.Outcomes[fleet.Nothing]
}

// judged are the findings about shares.
func (p Report) judged(add func(kind FindingKind, c fleet.Category, format string, args ...any)) {
	for _, c := range p.Categories {
		if c.Judgement == bandit.Neglected {
			add(FoundNeglected, c.Category, "%s; seen in %d of %d spawned workers", c.Why(), c.Spawned, p.All.Spawned)
		}
	}
	for _, c := range p.Categories {
		if c.Judgement == bandit.OverAllocated {
			add(FoundOverAllocated, c.Category, "%s", c.Why())
		}
	}
}

// Percent writes a part, in [0,1].
func Percent(part float64) string {
	if part > 0 && part < 0.0005 {
		return "<0.1 %"
	}
	if part > 0 && part < 0.0995 {
		return fmt.Sprintf("%.1f %%", 100*part)
	}
	return fmt.Sprintf("%.0f %%", 100*part)
}
