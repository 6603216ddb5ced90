package doctor

import (
	"fmt"
	"strings"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// examineFolder looks at the state folder itself and at what it is on.
func examineFolder(d Folder) []Finding {
	const check = "state_folder"
	switch {
	case d.Unseen != "":
		return []Finding{unknown(check, d.Unseen)}
	case d.Missing:
		return []Finding{ok(check, "%s: not there yet, the first run makes it", d.Path), examineFileSystem(d)}
	}
	return []Finding{examineMode(check, d), examineFileSystem(d)}
}

func examineMode(check string, d Folder) Finding {
	bad := Finding{Check: check, State: Problem}
	switch {
	case d.Owner != d.User:
		bad.What = fmt.Sprintf("%s belongs to user %d, not %d", d.Path, d.Owner, d.User)
		bad.Why = "what one user's commands write the other's cannot"
		bad.Fix = fmt.Sprintf("sudo chown -R %d %s", d.User, fleet.ShellWord(d.Path))
	case len(d.Foreign) > 0:
		bad.What = fmt.Sprintf("not everything in %s belongs to user %d: %s", d.Path, d.User, listed(d.Foreign))
		bad.Why = "a lock that cannot be opened keeps its lane from every session, and a store from every command"
		bad.Fix = fmt.Sprintf("sudo chown -R %d %s", d.User, fleet.ShellWord(d.Path))
	case d.Unwritable != "" && d.Mode&0o700 != 0o700:
		bad.What = fmt.Sprintf("%s has mode %04o: %s", d.Path, d.Mode, d.Unwritable)
		bad.Why = "no run can be recorded, so none is started"
		bad.Fix = "chmod u+rwx " + fleet.ShellWord(d.Path)
	case d.Unwritable != "":
		bad.What = fmt.Sprintf("%s cannot be written: %s", d.Path, d.Unwritable)
		bad.Why = "no run can be recorded, so none is started"
		bad.Fix = "findmnt -T " + fleet.ShellWord(d.Path)
	case d.Mode&0o077 != 0:
		bad.What = fmt.Sprintf("%s has mode %04o", d.Path, d.Mode)
		bad.Why = "prompts and logs of sessions can be read by others on this machine"
		if d.Mode&0o022 != 0 {
			bad.Why = "others on this machine can take locks, and put a store of theirs in place of the fleet's"
		} else {
			bad.State = Warning
		}
		bad.Fix, bad.Repair = "chmod 700 "+fleet.ShellWord(d.Path), RepairMode
	default:
		return ok(check, "%s", d.Path)
	}
	return bad
}

func examineFileSystem(d Folder) Finding {
	const check = "file_system"
	bad := Finding{Check: check, Fix: `give the fleet another "state" folder in stint.toml, on a disk of this machine`}
	name, where := fileSystem(d.Magic)
	switch {
	case name == "":
		return unknown(check, d.Path+" is on a file system that is not known here")
	case where == remote:
		bad.State, bad.What = Problem, fmt.Sprintf("%s is on %s", d.Path, name)
		bad.Why = "locks and SQLite's write-ahead log are only sound on a local file system: a claim could be held twice"
	case where == memory:
		bad.State, bad.What = Warning, fmt.Sprintf("%s is on %s", d.Path, name)
		bad.Why = "all that was learnt is gone when the machine goes down"
	default:
		return ok(check, "local: %s", name)
	}
	return bad
}

// ExamineStore looks at the store alone.
func ExamineStore(s Store) []Finding {
	const check = "store"
	bad := Finding{Check: check, State: Problem, Fix: s.Hint}
	switch {
	case s.Missing:
		return []Finding{ok(check, "not there yet: nothing has run")}
	case s.Server != nil:
		return append(examineServer(*s.Server), examineHosts(s.Server.Hosts)...)
	case s.Fault != "":
		bad.What, bad.Why = s.Fault, "no claim can be taken, and no session starts"
		if bad.Fix == "" {
			bad.Fix = "ls -la " + fleet.ShellWord(s.Path)
		}
	case len(s.Damage) > 0:
		bad.What = s.Path + ": " + strings.Join(s.Damage, "; ")
		bad.Why = "the file is damaged: what is read from it may be wrong, and more of it is lost with every write"
		bad.Fix = "restore it from a backup, or save what can be read: sqlite3 " + fleet.ShellWord(s.Path) + " .recover | sqlite3 recovered.db"
	default:
		return []Finding{ok(check, "%s, %s, whole", s.Path, plain.Bytes(max(0, s.Size)))}
	}
	return []Finding{bad}
}

// examineRecord looks at whether what is recorded agrees with itself and with what lives.
func examineRecord(r Record) []Finding {
	if r.Unseen != "" {
		return []Finding{unknown("runs", r.Unseen), unknown("lanes", r.Unseen), unknown("figures", r.Unseen)}
	}
	return []Finding{examineRuns(r), examineLanes(r), examineFigures(r)}
}

func examineRuns(r Record) Finding {
	const check = "runs"
	var dead, ended []string
	for _, l := range r.Leftovers {
		text := fmt.Sprintf("%s (%s)", l.Run, l.Category)
		if l.Ended {
			ended = append(ended, text)
		} else {
			dead = append(dead, text)
		}
	}
	var what []string
	if len(dead) > 0 {
		what = append(what, plain.Plural(len(dead), "run")+" open, and no session of it lives: "+listed(dead))
	}
	if len(ended) > 0 {
		what = append(what, plain.Plural(len(ended), "run")+" ended, and did not give back a claim or lane: "+listed(ended))
	}
	if len(what) == 0 {
		return ok(check, "%s under way, nothing left behind", plain.Plural(r.Live, "session"))
	}
	return Finding{
		Check: check, State: Warning, What: strings.Join(what, "; "),
		Why: "their claims, lanes and slots are in the way of others until the next fire",
		Fix: "stint reap", Repair: RepairReap,
	}
}

func examineLanes(r Record) Finding {
	const check = "lanes"
	if r.Violations > 0 {
		return Finding{
			Check: check, State: Problem,
			What: plain.Plural(r.Violations, "time") + " in the last day two runs held one lane at once",
			Why:  "sessions of a category worked side by side where one at a time may: locks do not hold on that disk, or were removed",
			Fix:  "stint audit --since 24h",
		}
	}
	return ok(check, "none held twice in the last day")
}

func examineFigures(r Record) Finding {
	const check = "figures"
	if len(r.Off) > 0 {
		what := plain.Each(r.Off, fleet.Discrepancy.String)
		return Finding{
			Check: check, State: Problem, What: plain.Plural(len(r.Off), "figure") + " of the store do not add up: " + listed(what),
			Why: "nobody but stint writes them: another hand did, or the store is damaged, and what is ranked, spent and held by them is wrong",
			Fix: "stint audit",
		}
	}
	return ok(check, "beliefs, accounts, budgets and epochs add up by the record")
}
