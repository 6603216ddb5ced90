package doctor

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"stint/internal/agent/command"
	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/systemd"
)

// plainPath is the fix for a configuration with a path that no unit can name.
const plainPath = "rename the folders of stint.toml: of letters, digits and _ . = : @ + - only"

func (d *Doctor) examineConfig() []Finding {
	if d.Config == nil {
		return []Finding{{
			Check: "config", State: Problem, What: d.Fault.Error(), Fix: fleet.Hint(d.Fault),
			Why: "without a configuration no command of the fleet does anything",
		}}
	}
	warnings := plain.Each(d.Config.Warnings(), func(w config.Problem) string { return w.Pos + ": " + w.Text })
	return judgeConfig(d.Config.Path, d.Config.Untrusted(), d.Config.Trust.Broken, warnings)
}

// judgeConfig warns of parts that are not confirmed, one of which may be broken, and of odd settings.
func judgeConfig(path string, held []string, broken string, warnings []string) (list []Finding) {
	const check = "config"
	add := func(what, why, fix string) {
		list = append(list, Finding{Check: check, State: Warning, What: what, Why: why, Fix: fix})
	}
	for _, h := range held {
		fix := "stint config trust"
		if h == broken {
			fix = "stint config check"
		}
		add(h, "fires use what was confirmed last, or leave it out", fix)
	}
	if err := fleet.CheckUnitWord(path); err != nil {
		add(err.Error(), "no timer can be installed, and only stint fanout --exec starts sessions", plainPath)
	}
	for _, w := range warnings {
		add(w, "it is allowed, but rarely intended", "stint config check")
	}
	if len(list) == 0 {
		return []Finding{ok(check, "%s", path)}
	}
	return list
}

func examineBus(uid int, err error, getenv func(string) string) Finding {
	const check = "bus"
	if err == nil {
		return ok(check, "the user's service manager answers")
	}
	bad := Finding{
		Check: check, State: Problem, What: err.Error(),
		Why: "the service manager starts fires and workers and knows their processes; without it only stint fanout --exec starts them, " +
			"and you must end what a killed session leaves",
		Fix: fmt.Sprintf("sudo loginctl enable-linger %d && sudo systemctl start user@%d.service", uid, uid),
	}
	own, dir, bus := fmt.Sprintf("/run/user/%d", uid), getenv("XDG_RUNTIME_DIR"), getenv("DBUS_SESSION_BUS_ADDRESS")
	if dir != "" && dir != own || bus != "" && !strings.Contains(bus, own+"/") {
		bad.Fix = "export XDG_RUNTIME_DIR=" + own + " DBUS_SESSION_BUS_ADDRESS=unix:path=" + own + "/bus"
		bad.Why += "; $XDG_RUNTIME_DIR and $DBUS_SESSION_BUS_ADDRESS are not this user's own, as in a shell of su or sudo"
	}
	return bad
}

func examineLinger(on bool, err error) Finding {
	const check = "linger"
	switch {
	case err != nil:
		return unknown(check, err.Error())
	case on:
		return ok(check, "on: the service manager runs from boot to shutdown")
	}
	return Finding{
		Check: check, State: Warning, What: "off: the service manager ends with your last session",
		Why: "the fleet stops when you log out, and does not start at boot",
		// Without polkit only root may.
		Fix: "loginctl enable-linger || sudo loginctl enable-linger $(id -un)", Repair: repairLinger,
	}
}

// lingerTime bounds the wait for logind, which waits for polkit.
const lingerTime = 20 * time.Second

func enableLinger(ctx context.Context, dryRun bool) (done []string, err error) {
	if !dryRun {
		argv := []string{"loginctl", "--no-ask-password", "enable-linger"}
		_, err = command.Command{Argv: argv, Env: os.Environ(), Timeout: lingerTime}.Output(ctx)
	}
	return []string{"loginctl enable-linger"}, err
}

func (d *Doctor) examineControllers(m *systemd.Manager) []Finding {
	group, err := m.ControlGroup()
	if err != nil {
		return []Finding{unknown("controllers", err.Error())}
	}
	var broken []string
	root := os.DirFS("/")
	for _, name := range d.Config.CategoryNames() {
		for _, why := range systemd.Undelegated(root, group, d.Config.Categories[name].Unit) {
			broken = append(broken, fmt.Sprintf("category %s: %s", name, why))
		}
	}
	memory := systemd.Undelegated(root, group, map[string]any{"MemoryMax": "1G"})
	return judgeControllers(os.Getuid(), broken, strings.Join(memory, "; "))
}

// judgeControllers judges limits in the configuration that the machine cannot enforce, and why memory cannot be limited.
func judgeControllers(uid int, broken []string, memory string) []Finding {
	const check = "controllers"
	bad := Finding{
		Check: check, State: Problem, Why: "its sessions run without the limit that the configuration gives them",
		Fix: "sudo mkdir -p /etc/systemd/system/user@.service.d && " +
			`printf '[Service]\nDelegate=cpu io memory pids\n' | sudo tee /etc/systemd/system/user@.service.d/delegate.conf && ` +
			"sudo systemctl daemon-reload && sudo systemctl restart " + fmt.Sprintf("user@%d.service", uid),
	}
	switch {
	case len(broken) > 0:
		return plain.Each(broken, func(what string) Finding { f := bad; f.What = what; return f })
	case memory != "":
		bad.State, bad.What, bad.Why = Warning, memory, "sessions get no memory limit: one that grows can take the whole machine down"
		return []Finding{bad}
	}
	return []Finding{ok(check, "every limit of the configuration can be enforced")}
}

const (
	// tick bounds the lead of a recorded time over our clock: another process may have read the clock a moment later.
	tick = 2 * time.Second
	// A store that cannot grow loses the end of a session. A session leaves up to 64 MiB of log.
	minFree, fewFree = 100 << 20, 1 << 30
)

func (d *Doctor) examineClock() Finding {
	const check, unsynchronized = "clock", 0x40 // STA_UNSYNC of adjtimex(2)
	if bad, found := judgeClock(d.Now(), d.latest, d.ahead); found {
		return bad
	}
	_, unmarked := os.Stat("/run/systemd/timesync/synchronized")
	var t syscall.Timex // its modes change nothing
	_, err := syscall.Adjtimex(&t)
	switch {
	case unmarked == nil, err == nil && t.Status&unsynchronized == 0:
		return ok(check, "kept in time")
	case err != nil:
		return unknown(check, fmt.Sprintf("ask the kernel about its clock: %v", err))
	}
	return Finding{
		Check: check, State: Warning, What: "no program synchronizes it",
		Why: "cooldowns and usage limits end by this clock: a step ends them early or late",
		// The first command fails if no program is installed that could do it.
		Fix: "sudo timedatectl set-ntp true || sudo apt install systemd-timesyncd",
	}
}

// judgeClock compares the clock with the latest time on record, and with that of the store.
func judgeClock(now, latest time.Time, ahead time.Duration) (bad Finding, found bool) {
	bad = Finding{Check: "clock"}
	switch lead := latest.Sub(now); {
	case lead > tick:
		bad.State, bad.Fix = Problem, "timedatectl"
		bad.What = fmt.Sprintf("the record has times from the future: %s, %v from now", plain.Stamp(latest), lead.Round(time.Second))
		bad.Why = "the clock was set back: rests and cooldowns end late"
	case ahead.Abs() > fleet.ClockSlack:
		bad.State, bad.Fix = Warning, "stint fanout, or wait for the next fire, which sets it"
		bad.What = fmt.Sprintf("the store's clock is %s from this machine's, which was set", ahead.Abs().Round(time.Second))
		bad.Why = "claims and runs are shown with its times"
	}
	return bad, bad.What != ""
}

// examineDisk looks at the file system that holds a folder.
func examineDisk(of, path string) Finding {
	path = ExistingPath(path)
	var at syscall.Statfs_t
	if err := syscall.Statfs(path, &at); err != nil {
		return unknown("disk", fmt.Sprintf("%s: %s: %v", of, path, err))
	}
	return judgeDisk(of, path, at.Bavail*uint64(at.Frsize), at.Blocks*uint64(at.Frsize))
}

// judgeDisk judges the bytes free for this user.
func judgeDisk(of, path string, free, size uint64) Finding {
	const check = "disk"
	what := fmt.Sprintf("%s: %s free of %s (%s)", of, plain.Bytes(free), plain.Bytes(size), path)
	bad := Finding{Check: check, What: what, Fix: "df -h " + fleet.ShellWord(path)}
	switch {
	case size == 0: // not on a disk
		return unknown(check, of+": its file system does not say how large it is: "+path)
	case free < minFree:
		bad.State, bad.Why = Problem, "a session that cannot write loses its work, and its end is not recorded"
	case free < fewFree || free/5 < size/100: // 5 %, without overflow
		bad.State, bad.Why = Warning, "a session leaves up to 64 MiB of log, and a clone as much as the repository"
	default:
		return ok(check, "%s", what)
	}
	return bad
}

// listed lists the first few names in a sentence.
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
