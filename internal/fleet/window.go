package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Window is a time in which the plan of a login allows so much use, and no more.
type Window struct {
	Long   time.Duration
	Used   float64   // the part, from 0 to 1
	Resets time.Time // when the next begins
	Host   string    // of the login
}

// String says how much of the window was used: "83 % of 5 h, resets 14:20Z".
func (w Window) String() string {
	const day = 24 * time.Hour
	used := fmt.Sprintf("%.0f %% of ", 100*w.Used)
	switch {
	case w.Long == 7*day:
		return used + "the week"
	case w.Long == day:
		return used + "the day"
	case w.Long > day:
		return used + fmt.Sprintf("%.0f days", w.Long.Hours()/24)
	}
	return used + fmt.Sprintf("%g h, resets %s", w.Long.Hours(), w.Resets.UTC().Format("15:04Z"))
}

// WindowsText lists windows.
func WindowsText(list []Window) string {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = w.String()
	}
	return strings.Join(words, "; ")
}

// Heard takes in what a session on a host heard of the windows of its plan.
func (a *AgentState) Heard(windows []Window, host string) {
	for _, w := range windows {
		w.Host = host
		i := slices.IndexFunc(a.Windows, func(o Window) bool { return o.Long == w.Long && o.Host == w.Host })
		if i < 0 {
			a.Windows = append(a.Windows, w)
		} else {
			a.Windows[i] = w
		}
	}
}

// Open are the windows of the login on a host that are not over, the shortest first.
func (a AgentState) Open(host string, now time.Time) []Window {
	list := slices.DeleteFunc(slices.Clone(a.Windows), func(w Window) bool { return w.Host != host || !now.Before(w.Resets) })
	slices.SortFunc(list, func(v, w Window) int { return cmp.Compare(v.Long, w.Long) })
	return list
}
