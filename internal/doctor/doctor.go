// Package doctor judges whether a fleet can work, and says what would fix it. It is
// pure: observations of the machine, the service manager, the store and the workspace come in
// as [Facts], findings go out. A part that could not be looked at comes in as the reason why,
// and is a finding of its own: a doctor that stops at the first broken part is of no use where
// several are.
//
// The caller guarantees that the facts are of about one moment, and that a thing that is gone
// the moment after, such as a run that just ends, was looked at twice.
package doctor

import (
	"fmt"

	"stint/internal/plain"
)

// State is how a check came out.
type State string

const (
	// OK is in order.
	OK State = "ok"
	// Warning does not keep the fleet from working today.
	Warning State = "warning"
	// Problem keeps the fleet, or a part of it, from working, or loses what it did.
	Problem State = "problem"
	// Unknown could not be looked at, or nothing is known of it.
	Unknown State = "unknown"
)

// Repair is what can be done about a finding without a person.
type Repair string

const (
	RepairLinger Repair = "linger"       // have the user's manager outlive the last logout
	RepairMode   Repair = "state_folder" // keep others out of the state folder
	RepairReap   Repair = "runs"         // close the runs whose session is gone
	RepairTimers Repair = "timer"        // bring unit files up to date, and start the timers that are enabled
)

// Finding is what one check found out about one thing.
type Finding struct {
	Check  string // the check's name, which does not change
	State  State
	What   string
	Why    string // why it matters; only of a warning or a problem
	Fix    string // what fixes it: a command to type, or at worst advice; empty: nothing known
	Repair Repair // empty: it takes a person
}

// Repaired is what was done about one thing.
type Repaired struct {
	Repair Repair
	Done   []string
	Err    error
}

// Examine judges the facts, in an order in which one would look: first the things that others
// depend on.
func Examine(f Facts) []Finding {
	list := append(examineConfig(f.Config), examineBus(f), examineLinger(f.Linger))
	if f.Config.Fault != "" {
		return append(list, examineClock(f)) // nothing else is known without one
	}
	for _, part := range [][]Finding{
		examineTimers(f), examineControllers(f), examineFolder(f.State),
		ExamineStore(f.Store), examineRecord(f.Record), examineAgents(f.Agents), examineCommands(f.Commands), examineBoxes(f.Boxes), examineRests(f.Record), examinePrices(f.Record),
		examineWorkspace(f), examineTasks(f.Tasks),
		{examineClock(f)},
		plain.Each(f.Disks, examineDisk),
	} {
		list = append(list, part...)
	}
	return list
}

// Count is how many findings came out so.
func Count(list []Finding, s State) int {
	return len(plain.Kept(list, func(f Finding) bool { return f.State == s }))
}

// Summary counts the findings in a line.
func Summary(list []Finding) string {
	return fmt.Sprintf("%d ok, %s, %s, %d unknown", Count(list, OK), plain.Plural(Count(list, Warning), "warning"),
		plain.Plural(Count(list, Problem), "problem"), Count(list, Unknown))
}

// Repairs are what can be done about the findings without a person, each once, in the
// findings' order.
func Repairs(list []Finding) (repairs []Repair) {
	seen := map[Repair]bool{"": true}
	for _, f := range list {
		if !seen[f.Repair] {
			seen[f.Repair] = true
			repairs = append(repairs, f.Repair)
		}
	}
	return repairs
}

func ok(check, format string, args ...any) Finding {
	return Finding{Check: check, State: OK, What: fmt.Sprintf(format, args...)}
}

func unknown(check, why string) Finding {
	return Finding{Check: check, State: Unknown, What: why}
}
