package doctor

import (
	"fmt"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// plainPath is what a person does about a configuration whose path no unit can name.
const plainPath = "rename the folders of stint.toml: of letters, digits and _ . = : - only"

func examineConfig(c Config) (list []Finding) {
	const check = "config"
	if c.Fault != "" {
		return []Finding{{
			Check: check, State: Problem, What: c.Fault, Fix: c.Hint,
			Why: "without a configuration no command of the fleet does anything",
		}}
	}
	for _, h := range c.Held {
		held := Finding{
			Check: check, State: Warning, What: h, Fix: "stint config trust",
			Why: "fires go on with what was confirmed last, or without it",
		}
		if h == c.Broken {
			held.Fix = "stint config check"
		}
		list = append(list, held)
	}
	if err := fleet.CheckUnitWord(c.Path); err != nil {
		list = append(list, Finding{
			Check: check, State: Warning, What: err.Error(), Fix: plainPath,
			Why: "no timer can be installed, and only stint fanout --exec starts sessions",
		})
	}
	for _, w := range c.Warnings {
		list = append(list, Finding{
			Check: check, State: Warning, What: w, Fix: "stint config check",
			Why: "it is allowed, and seldom what is meant",
		})
	}
	if len(list) == 0 {
		list = append(list, ok(check, "%s", c.Path))
	}
	return list
}

func examineBus(f Facts) Finding {
	const check = "bus"
	m := f.Manager
	if m.Unseen == "" {
		return ok(check, "the user's service manager answers")
	}
	bad := Finding{
		Check: check, State: Problem, What: m.Unseen,
		Why: "the service manager starts the fires and the workers, and knows their processes; without it only stint fanout --exec does, " +
			"and what a killed session leaves has to be killed by hand",
		Fix: fmt.Sprintf("sudo loginctl enable-linger %d && sudo systemctl start user@%d.service", f.UID, f.UID),
	}
	own := fmt.Sprintf("/run/user/%d", f.UID)
	if m.RuntimeDir != "" && m.RuntimeDir != own || m.BusAddress != "" && !strings.Contains(m.BusAddress, own+"/") {
		bad.Fix = "export XDG_RUNTIME_DIR=" + own + " DBUS_SESSION_BUS_ADDRESS=unix:path=" + own + "/bus"
		bad.Why += "; $XDG_RUNTIME_DIR and $DBUS_SESSION_BUS_ADDRESS are not this user's own, as in a shell of su or sudo"
	}
	return bad
}

func examineLinger(l Linger) Finding {
	const check = "linger"
	switch {
	case l.Unseen != "":
		return unknown(check, l.Unseen)
	case l.On:
		return ok(check, "on: the service manager runs from boot to shutdown")
	}
	return Finding{
		Check: check, State: Warning, What: "off: the service manager ends with your last session",
		Why: "the fleet stops when you log out, and does not start at boot",
		// Without polkit only root may.
		Fix: "loginctl enable-linger || sudo loginctl enable-linger $(id -un)", Repair: RepairLinger,
	}
}

func examineControllers(f Facts) (list []Finding) {
	const check = "controllers"
	c := f.Controllers
	if c.Unseen != "" {
		return []Finding{unknown(check, c.Unseen)}
	}
	delegate := "sudo mkdir -p /etc/systemd/system/user@.service.d && " +
		`printf '[Service]\nDelegate=cpu io memory pids\n' | sudo tee /etc/systemd/system/user@.service.d/delegate.conf && ` +
		"sudo systemctl daemon-reload && sudo systemctl restart " + fmt.Sprintf("user@%d.service", f.UID)
	for _, b := range c.Broken {
		list = append(list, Finding{
			Check: check, State: Problem, What: fmt.Sprintf("category %s: %s", b.Category, b.Reason),
			Why: "its sessions run without the limit that the configuration gives them",
			Fix: delegate,
		})
	}
	if c.NoMemory != "" && len(list) == 0 {
		list = append(list, Finding{
			Check: check, State: Warning, What: c.NoMemory,
			Why: "no limit of memory can be given to sessions: one that grows takes the whole machine down",
			Fix: delegate,
		})
	}
	if len(list) == 0 {
		list = append(list, ok(check, "every limit of the configuration can be enforced"))
	}
	return list
}

const (
	// tick is how far a time on record may lie ahead of ours: another process may have
	// read the clock a moment after us.
	tick = 2 * time.Second
	// A store that cannot grow loses the end of a session; a session leaves up to 64 MiB
	// of log.
	leastFree, fewFree = 100 << 20, 1 << 30
)

func examineClock(f Facts) Finding {
	const check = "clock"
	if ahead := f.Record.Latest.Sub(f.Now); f.Record.Unseen == "" && ahead > tick {
		return Finding{
			Check: check, State: Problem,
			What: fmt.Sprintf("the record has times from the future: %s, %v from now", plain.Stamp(f.Record.Latest), ahead.Round(time.Second)),
			Why:  "the clock was set back: what rests does not wake in time",
			Fix:  "timedatectl",
		}
	}
	switch {
	case f.Store.Ahead.Abs() > fleet.ClockSlack:
		return Finding{
			Check: check, State: Warning, What: fmt.Sprintf("the store's clock is %s from this machine's, which was set", f.Store.Ahead.Abs().Round(time.Second)),
			Why: "claims and runs are shown with its times", Fix: "stint fanout, or wait for the next fire, which sets it",
		}
	case f.Clock.Unseen != "":
		return unknown(check, f.Clock.Unseen)
	case !f.Clock.Synced:
		return Finding{
			Check: check, State: Warning, What: "nothing keeps it in time",
			Why: "rests and usage limits end by this clock, and a step of it ends them early or late",
			// The first fails where no program is installed that could.
			Fix: "sudo timedatectl set-ntp true || sudo apt install systemd-timesyncd",
		}
	}
	return ok(check, "kept in time")
}

func examineDisk(d Disk) Finding {
	const check = "disk"
	what := fmt.Sprintf("%s: %s free of %s (%s)", d.Of, plain.Bytes(d.Free), plain.Bytes(d.Size), d.Path)
	bad := Finding{Check: check, What: what, Fix: "df -h " + fleet.ShellWord(d.Path)}
	switch {
	case d.Unseen != "":
		return unknown(check, d.Of+": "+d.Unseen)
	case d.Size == 0: // some that are not on a disk do not say
		return unknown(check, d.Of+": its file system does not say how large it is: "+d.Path)
	case d.Free < leastFree:
		bad.State, bad.Why = Problem, "a session that cannot write loses its work, and its end is not recorded"
	case d.Free < fewFree || d.Free/5 < d.Size/100: // 5 %, without overflow
		bad.State, bad.Why = Warning, "a session leaves up to 64 MiB of log, and a clone as much as the repository"
	default:
		return ok(check, "%s", what)
	}
	return bad
}

// listed is names in a sentence, the first few of them.
func listed[T ~string](names []T) string {
	const enough = 5
	words := make([]string, 0, enough+1)
	for i, n := range names {
		if i == enough {
			words = append(words, fmt.Sprintf("and %d more", len(names)-i))
			break
		}
		words = append(words, string(n))
	}
	return strings.Join(words, ", ")
}
