package fleet

import (
	"strings"
	"time"
)

// Timer is the systemd timer that fires the categories of a pool.
type Timer struct {
	Pool   string
	Unit   string
	Active bool      // it will fire again
	Firing bool      // a fire is under way; the next is known when it has ended
	Failed bool      // the last fire did, and there may be no record of it
	Last   time.Time // zero: it has not fired since the manager started
	Next   time.Time // zero: it is not known
	Began  time.Time // the last fire but by hand; zero: there was none since the manager started
}

// Journal is the command that prints what the last fires logged.
func (t Timer) Journal() string {
	return "journalctl --user -n 50 -u " + ShellWord(ServiceUnit(t.Unit))
}

// ServiceUnit is the service that a timer starts.
func ServiceUnit(timer string) string { return strings.TrimSuffix(timer, ".timer") + ".service" }

// TimerUnit is the timer that starts a service.
func TimerUnit(service string) string { return strings.TrimSuffix(service, ".service") + ".timer" }
