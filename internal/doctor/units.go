package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/install"
	"stint/internal/plain"
	"stint/internal/systemd"
)

// timer fires a pool, by starting its service.
type timer struct {
	systemd.Installed
	pool, unit string // the pool is empty for the whole fleet
	fires      systemd.TimerState
	service    systemd.Installed
	config     string // the service's; empty: none named
}

// examineTimers looks at each pool's timer, its unit files, and the fires that follow it.
func (d *Doctor) examineTimers(ctx context.Context, m *systemd.Manager) (list []Finding) {
	for _, pool := range d.Config.FiredPools() {
		t, err := lookAtTimer(ctx, m, d.Config, pool)
		if err != nil {
			list = append(list, unknown("timer", t.unit+": "+err.Error()))
			continue
		}
		d.timers = append(d.timers, t)
		list = append(list, t.judge(d.Config.Path))
		if t.Load == "loaded" && t.installed() {
			list = append(list, t.judgeFiles(d.Config.Path), t.judgeFires(d.Now(), d.lastFire, !d.unread))
			list = append(list, d.examineWatch(ctx, m, t)...)
		}
	}
	return append(list, d.examineFormer(ctx, m)...)
}

func lookAtTimer(ctx context.Context, m *systemd.Manager, c *config.Config, pool string) (t timer, err error) {
	t = timer{pool: install.Pool(pool), unit: install.Timer(c.Fleet, pool)}
	if t.Installed, err = m.Installed(ctx, t.unit); err != nil {
		return t, err
	}
	if t.fires, err = m.Timer(ctx, t.unit); err != nil {
		return t, err
	}
	t.service, err = m.Installed(ctx, t.serviceUnit())
	t.config = configOf(t.service.Argv, c.Path)
	return t, err
}

// examineWatch looks at the installed units by which tasks and programs ask for fires.
func (d *Doctor) examineWatch(ctx context.Context, m *systemd.Manager, t timer) (list []Finding) {
	const check = "watch"
	folder, err := install.Folder(d.Getenv, t.runtime())
	p := install.Plan{Config: d.Config, Folder: folder}
	if err != nil || !p.Watched() || !t.on() || t.Active != "active" { // they start with the timer
		return nil
	}
	for _, unit := range install.Watch(t.unit) {
		u, err := m.Installed(ctx, unit)
		text, _ := os.ReadFile(u.Fragment)
		bad := Finding{Check: check, State: Problem, Why: "it asks for no fire", Fix: t.again(d.Config.Path), Repair: repairTimers}
		switch {
		case err != nil:
			bad = unknown(check, unit+": "+err.Error())
		case u.Active != "active":
			bad.What = fmt.Sprintf("%s is %s", unit, cmp.Or(u.Active, u.Load))
		case strings.HasSuffix(unit, ".path") && !strings.Contains(string(text), "="+d.Config.Tasks.Dir+"\n"):
			bad.What = unit + " watches another folder than " + d.Config.Tasks.Dir
		default:
			bad = ok(check, "%s waits", unit)
		}
		list = append(list, bad)
	}
	return list
}

// withoutManager returns the findings if the service manager does not answer.
func (d *Doctor) withoutManager() (timers, controllers []Finding) {
	const reason = "the service manager cannot be asked"
	for _, pool := range d.Config.FiredPools() {
		timers = append(timers, unknown("timer", install.Timer(d.Config.Fleet, pool)+": "+reason))
	}
	return timers, []Finding{unknown("controllers", reason)}
}

// examineFormer looks for timers of pools that the configuration no longer has.
func (d *Doctor) examineFormer(ctx context.Context, m *systemd.Manager) (list []Finding) {
	const check = "timer"
	for _, runtime := range []bool{false, true} {
		folder, err := install.Folder(d.Getenv, runtime)
		if err != nil {
			continue // nothing can be installed there
		}
		instances, err := install.Plan{Config: d.Config, Folder: folder}.Former()
		if err != nil {
			list = append(list, unknown(check, folder+": "+err.Error()))
		}
		for _, instance := range instances {
			t := timer{unit: "stint@" + instance + ".timer"}
			if t.Installed, err = m.Installed(ctx, t.unit); err != nil {
				list = append(list, unknown(check, t.unit+": "+err.Error()))
			} else if t.on() || t.Active == "active" {
				flag := ""
				if runtime {
					flag = "--runtime "
				}
				list = append(list, Finding{
					Check: check, State: Warning, What: t.unit + " fires a pool that the configuration does not have here",
					Why: "each of its fires fails", Fix: "systemctl --user disable " + flag + "--now " + t.unit,
				})
			}
		}
	}
	return list
}

// installTimers brings the files of installed timers up to date, and starts the enabled timers. A person switched the
// others off, or never on.
func (d *Doctor) installTimers(ctx context.Context, dryRun bool) (done []string, err error) {
	var pools, on, started []string
	p := install.Plan{Config: d.Config, DryRun: dryRun, Did: func(path, action string) {
		if action != install.Kept {
			done = append(done, action+": "+path)
		}
	}}
	for _, t := range d.timers {
		p.Runtime = p.Runtime || t.runtime()
		if t.pool != "" && t.installed() {
			pools = append(pools, t.pool)
		}
		if t.installed() && t.on() {
			on = append(on, t.unit)
			if t.Active != "active" {
				started = append(started, "started: "+t.unit)
			}
		}
	}
	if p.Folder, err = install.Folder(d.Getenv, p.Runtime); err == nil {
		p.Watch = p.Watched()
		err = p.Apply(ctx, pools, on)
	}
	return append(done, started...), err
}

// configOf returns the configuration in a fire's command line; ours, if it is the same file by another path.
func configOf(argv []string, ours string) string {
	i := slices.Index(argv, "--config") + 1
	if i == 0 || i == len(argv) {
		return ""
	}
	if sameFile(argv[i], ours) {
		return ours
	}
	return argv[i]
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	other, otherErr := os.Stat(b)
	return err == nil && otherErr == nil && os.SameFile(one, other)
}

func (t timer) serviceUnit() string { return strings.TrimSuffix(t.unit, ".timer") + ".service" }

// runtime reports whether the timer goes when the machine goes down.
func (t timer) runtime() bool { return strings.HasPrefix(t.Fragment, "/run/") }

// installed reports whether this fleet's timer is installed. The unit templates of any fleet are enough for the manager
// to load the timer of every other.
func (t timer) installed() bool {
	return t.Load != "not-found" && (t.on() || t.Active == "active" || t.config != "")
}

// on reports whether the timer is enabled.
func (t timer) on() bool { return strings.HasPrefix(t.Enabled, "enabled") }

// again returns the command that installs the fleet's units anew.
func (t timer) again(path string) string {
	switch {
	case fleet.CheckUnitWord(path) != nil:
		return plainPath
	case t.runtime():
		return "stint init --systemd --runtime " + fleet.ShellWord(filepath.Dir(path))
	}
	return "stint init --systemd " + fleet.ShellWord(filepath.Dir(path))
}

func (t timer) judge(path string) Finding {
	const check = "timer"
	bad := Finding{Check: check, State: Problem, Fix: t.again(path)}
	if t.on() { // a person decides whether sessions may start unattended
		bad.Repair = repairTimers
	}
	fires := "nothing fires the fleet"
	if t.pool != "" {
		fires = "nothing fires the pool " + t.pool
	}
	switch {
	case t.Load == "masked":
		// Somebody did this on purpose: only a person undoes it.
		bad.What, bad.Why, bad.Fix, bad.Repair = t.unit+" is masked", fires, "systemctl --user unmask "+t.unit, ""
	case t.Load == "not-found", t.Load == "loaded" && !t.installed():
		// Something else may fire.
		bad.State, bad.What, bad.Why = Warning, t.unit+" is not installed", fires+" but a person or another program"
		bad.Repair = ""
	case t.Load != "loaded":
		bad.What, bad.Why = fmt.Sprintf("%s cannot be loaded: %s", t.unit, t.Load), fires
	case t.Active != "active" && !t.on():
		bad.What, bad.Why = fmt.Sprintf("%s is %s and %s", t.unit, t.Active, t.Enabled), fires
	case t.Active != "active":
		bad.What, bad.Why = fmt.Sprintf("%s is %s", t.unit, t.Active), fires
	case !t.on():
		bad.State, bad.What = Warning, fmt.Sprintf("%s is active and %s", t.unit, t.Enabled)
		bad.Why = "after the next start of the service manager " + fires
	case !t.fires.Active:
		bad.What, bad.Why = t.unit+" has no next fire", fires
		bad.Fix, bad.Repair = "systemctl --user edit "+t.unit, ""
	case t.fires.Firing:
		return ok(check, "%s fires now", t.unit)
	case t.fires.Next.IsZero():
		return ok(check, "%s fires, not by the calendar", t.unit)
	default:
		return ok(check, "%s, next fire %s", t.unit, plain.Stamp(t.fires.Next))
	}
	return bad
}

func (t timer) judgeFiles(path string) Finding {
	const check = "unit_files"
	s, unit, program := t.service, t.serviceUnit(), ""
	if len(s.Argv) > 0 {
		program = s.Argv[0]
	}
	_, missing := exec.LookPath(program)
	own, err := install.Binary()
	bad := Finding{Check: check, State: Problem, Fix: t.again(path), Repair: repairTimers, Why: "every fire fails"}
	switch {
	case s.Load != "loaded":
		bad.What = fmt.Sprintf("%s cannot be loaded: %s", unit, s.Load)
	case t.config == "":
		bad.What = unit + " names no configuration: its drop-in is missing"
	case t.config != path:
		bad.What, bad.Why = fmt.Sprintf("%s fires another configuration: %s", unit, t.config), "no timer fires this one"
		bad.Repair = "" // a person must say whose timer it is
		if _, err := os.Stat(t.config); errors.Is(err, fs.ErrNotExist) {
			bad.What += ", which is not there"
		} else {
			bad.Fix = "give one of the two fleets another name"
		}
	case missing != nil || !filepath.IsAbs(program):
		bad.What = fmt.Sprintf("%s runs %s, which is not there", unit, program)
	case err != nil:
		return unknown(check, err.Error())
	case !sameFile(program, own):
		bad.State, bad.What = Warning, fmt.Sprintf("%s runs %s, and this is %s", unit, program, own)
		bad.Why = "the fires may be of another version than the commands you type"
	case s.Stale:
		bad.State, bad.What = Warning, unit+": its files were changed since the service manager read them"
		bad.Why, bad.Fix = "fires go on as before the change", "systemctl --user daemon-reload"
	default:
		return ok(check, "%s runs %s", unit, program)
	}
	return bad
}

// late bounds the time from a timer to its fire on record: the service may take fifteen minutes.
const late = 15 * time.Minute

// judgeFires compares the timer's last time with the last fire on record. The service manager does not tell the
// interval, and need not: a timer that went off leaves a fire, and one that should have gone off is overdue.
func (t timer) judgeFires(now, recorded time.Time, known bool) Finding {
	const check = "fires"
	journal := "journalctl --user -n 50 -u " + t.serviceUnit()
	bad := Finding{Check: check, State: Problem, Why: "the timer fires, and nothing is started", Fix: journal}
	switch {
	case t.service.Active == "failed":
		bad.What = fmt.Sprintf("%s failed at its last fire: %s", t.serviceUnit(), t.service.Result)
	case !t.fires.Next.IsZero() && now.Sub(t.fires.Next) > late:
		bad.What = fmt.Sprintf("%s was to fire at %s, and did not", t.unit, plain.Stamp(t.fires.Next))
		bad.Why = "the fire before hangs, or the clock was set"
	case t.fires.Last.IsZero():
		return ok(check, "%s has not fired since it was started", t.unit)
	case !known || t.pool != "": // the record does not tell a fire's pool
		return ok(check, "%s fired at %s", t.unit, plain.Stamp(t.fires.Last))
	case !recorded.Before(t.fires.Last.Add(-tick)):
		return ok(check, "the last at %s", plain.Stamp(recorded))
	case now.Sub(t.fires.Last) > late:
		bad.What = fmt.Sprintf("%s fired at %s, and no fire since then is on record", t.unit, plain.Stamp(t.fires.Last))
	default:
		return ok(check, "one under way since %s", plain.Stamp(t.fires.Last))
	}
	return bad
}
