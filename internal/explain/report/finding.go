package report

import (
	"fmt"
	"maps"
	"slices"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/rank"
)

// Finding is something that deserves attention.
type Finding struct {
	Kind     FindingKind
	Category fleet.Category // empty: it is about the whole fleet
	Text     string         // a sentence with the figures
}

// FindingKind names the subject of a finding.
type FindingKind string

const (
	FoundViolation     FindingKind = "violation"      // a lane was held twice
	FoundFruitless     FindingKind = "fruitless"      // chosen, and never at work
	FoundFailing       FindingKind = "failing"        // most sessions at a task, or of a category, fail
	FoundAgent         FindingKind = "agent"          // most sessions of an agent fail
	FoundStuck         FindingKind = "stuck"          // all tasks of a category wait for a person
	FoundNeglected     FindingKind = "neglected"      // far less than what it was entitled to
	FoundOverAllocated FindingKind = "over-allocated" // far more
	FoundNoops         FindingKind = "noop"           // too many runs did nothing, or most sessions of a category
	FoundChange        FindingKind = "grades-changed" // grades changed, and what was learnt before is forgotten
	FoundEndless       FindingKind = "endless"        // a task took many sessions and is still open
	FoundFallback      FindingKind = "fallback"       // the external selector failed
	FoundSafetyNet     FindingKind = "safety-net"     // a payload named no usable category
)

const (
	// maxNoops is the part of runs that may do nothing, and minRuns how many runs it
	// takes to say so.
	maxNoops = 0.2
	minRuns  = 5
	// maxChanges bounds the changes of grades that are named one by one.
	maxChanges = 5
	// maxFailing bounds the failing tasks that are named.
	maxFailing = 5
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
		if i == maxFailing {
			add(FoundFailing, "", "%s more keep failing", plain.Plural(len(p.Audit.Failing)-i, "task"))
			break
		}
		add(FoundFailing, f.Category, "task %s keeps failing: %s (stint why %s)", f.Task, f.Why(), fleet.ShellWord(string(f.Task)))
	}
	for _, a := range p.Agents {
		if failed, ended := a.failed(); a.Agent != "" && 2*failed > ended && ended >= minRuns {
			add(FoundAgent, "", "most sessions of agent %s failed: %d of %d (stint doctor)", a.Agent, failed, ended)
		}
	}
	named := false // who brings nothing
	for _, c := range p.Categories {
		if kind, text := c.Trouble(); kind != "" {
			add(kind, c.Category, "%s (stint why %s)", text, c.Category)
			named = named || kind == FoundNoops
		}
	}
	for _, s := range StuckCategories(p.Tasks) {
		add(FoundStuck, s.Category, "%s (stint task list --state waiting)", s.Why())
	}
	p.judged(add)
	if rate := p.All.NoopRate(); !named && rate > maxNoops && p.All.Ended >= minRuns {
		add(FoundNoops, "", "%s of the runs did nothing: %d of %d", Percent(rate), p.All.Empty, p.All.Ended)
	}
	for i, r := range changes {
		if i == maxChanges {
			add(FoundChange, "", "the grades of categories changed %d more times (stint why CATEGORY)", len(changes)-i)
			break
		}
		add(FoundChange, r.Category, "%s", r)
	}
	for _, t := range p.Tasks {
		if endless := t.OverLimit(); endless != "" {
			add(FoundEndless, t.Category, "task %q of %s does not end: %s (stint why %s)", t.ID, t.Category, endless, fleet.ShellWord(string(t.ID)))
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

// Trouble says how most of the category's sessions ended for which an agent worked, if they failed or brought nothing. What
// its agents' services did not do is not its own.
func (c CategoryUse) Trouble() (kind FindingKind, text string) {
	failed := c.Outcomes[fleet.Failed] + c.Outcomes[fleet.Timeout] + c.Outcomes[fleet.Abandoned]
	ended := failed + c.Productive() + c.Outcomes[fleet.Noop] + c.Outcomes[fleet.Nothing]
	switch {
	case ended < minRuns:
		return "", ""
	case 2*failed > ended:
		return FoundFailing, fmt.Sprintf("most sessions of %s failed: %d of %d", c.Category, failed, ended)
	case 2*c.Empty > ended:
		return FoundNoops, fmt.Sprintf("most sessions of %s brought nothing: %d of %d", c.Category, c.Empty, ended)
	}
	return "", ""
}

// Stuck is a category whose open tasks all wait for a person.
type Stuck struct {
	Category fleet.Category
	Tasks    int
}

// Why says so.
func (s Stuck) Why() string {
	if s.Tasks == 1 {
		return fmt.Sprintf("the only open task of %s waits for a person", s.Category)
	}
	return fmt.Sprintf("all %d open tasks of %s wait for a person", s.Tasks, s.Category)
}

// StuckCategories are those of some tasks, by name. Work in review is no open task.
func StuckCategories(tasks []fleet.Task) (list []Stuck) {
	waiting, moving := map[fleet.Category]int{}, map[fleet.Category]bool{}
	for _, t := range tasks {
		if t.WaitsForPerson() {
			waiting[t.Category]++
		} else if t.State.Workable() {
			moving[t.Category] = true
		}
	}
	for _, c := range slices.Sorted(maps.Keys(waiting)) {
		if !moving[c] {
			list = append(list, Stuck{c, waiting[c]})
		}
	}
	return list
}

// judged are the findings about shares.
func (p Report) judged(add func(kind FindingKind, c fleet.Category, format string, args ...any)) {
	for _, c := range p.Categories {
		if c.Judgement == rank.Neglected {
			add(FoundNeglected, c.Category, "%s; %d of %d spawned workers were for it", c.Why(), c.Spawned, p.All.Spawned)
		}
	}
	for _, c := range p.Categories {
		if c.Judgement == rank.OverAllocated {
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
