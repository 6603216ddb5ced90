package doctor

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// examineTimers looks at each pool's timer, at the files behind it, and at whether it
// leads to fires.
func examineTimers(f Facts) (list []Finding) {
	for _, t := range f.Timers {
		if t.Unseen != "" {
			list = append(list, unknown("timer", t.Unit+": "+t.Unseen))
			continue
		}
		list = append(list, examineTimer(t, f))
		if t.Load == "loaded" && t.Installed() {
			list = append(list, examineUnitFiles(t, f), examineFires(t, f))
		}
	}
	return append(list, examineFormer(f.Former)...)
}

// examineFormer looks for timers of pools that are gone from the configuration.
func examineFormer(timers []Timer) (list []Finding) {
	const check = "timer"
	for _, t := range timers {
		switch {
		case t.Unseen != "":
			list = append(list, unknown(check, t.Unit+": "+t.Unseen))
		case t.On() || t.Active == "active":
			list = append(list, Finding{
				Check: check, State: Warning, What: t.Unit + " fires a pool that the configuration does not have here",
				Why: "each of its fires fails", Fix: "systemctl --user disable " + runtime(t) + "--now " + t.Unit,
			})
		}
	}
	return list
}

// Installed reports whether the timer is there for this fleet. The templates, which any fleet
// brings along, are enough for the manager to load the timer of every other.
func (t Timer) Installed() bool {
	return t.Load != "not-found" && (t.On() || t.Active == "active" || t.Service.Config != "")
}

// On reports whether the timer is enabled.
func (t Timer) On() bool { return strings.HasPrefix(t.Enabled, "enabled") }

// again installs the fleet's units from the folder of its configuration.
func again(t Timer, c Config) string {
	if fleet.CheckUnitWord(c.Path) != nil {
		return plainPath
	}
	return "stint init --systemd " + runtime(t) + fleet.ShellWord(filepath.Dir(c.Path))
}

func runtime(t Timer) string {
	if t.Runtime {
		return "--runtime "
	}
	return ""
}

func examineTimer(t Timer, f Facts) Finding {
	const check = "timer"
	bad := Finding{Check: check, State: Problem, Fix: again(t, f.Config)}
	if t.On() { // else a person decides whether sessions start that nobody watches
		bad.Repair = RepairTimers
	}
	fires := "nothing fires the fleet"
	if t.Pool != "" {
		fires = "nothing fires the pool " + t.Pool
	}
	switch {
	case t.Load == "masked":
		// Somebody means it: only a person takes that back.
		bad.What, bad.Why, bad.Fix, bad.Repair = t.Unit+" is masked", fires, "systemctl --user unmask "+t.Unit, ""
	case t.Load == "not-found", t.Load == "loaded" && !t.Installed():
		// Fires may be started by other means.
		bad.State, bad.What, bad.Why = Warning, t.Unit+" is not installed", fires+" but a person or another program"
		bad.Repair = ""
	case t.Load != "loaded":
		bad.What, bad.Why = fmt.Sprintf("%s cannot be loaded: %s", t.Unit, t.Load), fires
	case t.Active != "active" && !t.On():
		bad.What, bad.Why = fmt.Sprintf("%s is %s and %s", t.Unit, t.Active, t.Enabled), fires
	case t.Active != "active":
		bad.What, bad.Why = fmt.Sprintf("%s is %s", t.Unit, t.Active), fires
	case !t.On():
		bad.State, bad.What = Warning, fmt.Sprintf("%s is active and %s", t.Unit, t.Enabled)
		bad.Why = "after the next start of the service manager " + fires
	case !t.Again:
		bad.What, bad.Why = t.Unit+" has no next fire", fires
		bad.Fix, bad.Repair = "systemctl --user edit "+t.Unit, ""
	case t.Firing:
		return ok(check, "%s fires now", t.Unit)
	case t.Next.IsZero():
		return ok(check, "%s fires, not by the calendar", t.Unit)
	default:
		return ok(check, "%s, next fire %s", t.Unit, plain.Stamp(t.Next))
	}
	return bad
}

func examineUnitFiles(t Timer, f Facts) Finding {
	const check = "unit_files"
	s := t.Service
	bad := Finding{Check: check, State: Problem, Fix: again(t, f.Config), Repair: RepairTimers, Why: "every fire fails"}
	switch {
	case s.Load != "loaded":
		bad.What = fmt.Sprintf("%s cannot be loaded: %s", s.Unit, s.Load)
	case s.Config == "":
		bad.What = s.Unit + " names no configuration: its drop-in is missing"
	case s.Config != f.Config.Path:
		bad.What, bad.Why = fmt.Sprintf("%s fires another configuration: %s", s.Unit, s.Config), "no timer fires this one"
		bad.Repair = "" // whose the timer is, a person has to say
		if s.Moved {
			bad.What += ", which is not there"
		} else {
			bad.Fix = "give one of the two fleets another name"
		}
	case !s.Found:
		bad.What = fmt.Sprintf("%s runs %s, which is not there", s.Unit, s.Binary)
	case !s.Ours:
		bad.State, bad.What = Warning, fmt.Sprintf("%s runs %s, and this is %s", s.Unit, s.Binary, s.Program)
		bad.Why = "the fires may be of another version than the commands you type"
	case s.Stale:
		bad.State, bad.What = Warning, s.Unit+": its files were changed since the service manager read them"
		bad.Why, bad.Fix = "fires go on as before the change", "systemctl --user daemon-reload"
	default:
		return ok(check, "%s runs %s", s.Unit, s.Binary)
	}
	return bad
}

// late is how long after its timer a fire may be on record: the service has fifteen minutes.
const late = 15 * time.Minute

// examineFires compares what the timer did with what is on record. How far apart fires are
// meant to be the service manager does not say, nor need it: one that fired left a fire on
// record, and one that did not when it should have is overdue.
func examineFires(t Timer, f Facts) Finding {
	const check = "fires"
	journal := "journalctl --user -n 50 -u " + t.Service.Unit
	bad := Finding{Check: check, State: Problem, Why: "the timer fires, and nothing is started", Fix: journal}
	switch {
	case t.Service.Active == "failed":
		bad.What = fmt.Sprintf("%s failed at its last fire: %s", t.Service.Unit, t.Service.Result)
	case !t.Next.IsZero() && f.Now.Sub(t.Next) > late:
		bad.What = fmt.Sprintf("%s was to fire at %s, and did not", t.Unit, plain.Stamp(t.Next))
		bad.Why = "the fire before hangs, or the clock was set"
	case t.Last.IsZero():
		return ok(check, "%s has not fired since it was started", t.Unit)
	case f.Record.Unseen != "" || t.Pool != "": // the record does not say of which pool a fire was
		return ok(check, "%s fired at %s", t.Unit, plain.Stamp(t.Last))
	case !f.Record.LastFire.Before(t.Last.Add(-tick)):
		return ok(check, "the last at %s", plain.Stamp(f.Record.LastFire))
	case f.Now.Sub(t.Last) > late:
		bad.What = fmt.Sprintf("%s fired at %s, and no fire since then is on record", t.Unit, plain.Stamp(t.Last))
	default:
		return ok(check, "one under way since %s", plain.Stamp(t.Last))
	}
	return bad
}
