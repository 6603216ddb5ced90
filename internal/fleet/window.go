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
	Step   float64   // the part that a session uses, in the mean
}

// firstStep is what a session is expected to use of a window before two of them ended in one.
const firstStep = 0.05

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

// after is a window after a session that heard of it, where was is as it was known before.
func (w Window) after(was Window) Window {
	w.Step = cmp.Or(was.Step, firstStep)
	if more := w.Used - was.Used; more > 0 && was.Long > 0 && w.Resets.Sub(was.Resets).Abs() < w.Long/2 {
		w.Step += (more - w.Step) / 4
	}
	return w
}

// even is when an even use, from the window's beginning to its reset, comes to what was used, with so many sessions under way,
// and leaves enough for one more.
func (w Window) even(busy int) time.Time {
	due := min(1, (w.Used+float64(busy)*w.Step)/max(w.Step, 1-w.Step))
	return w.Resets.Add(-w.Long + time.Duration(due*float64(w.Long)))
}

// open reports whether the window is under way. A reset that is further away than its window is long is no reset, but for the
// difference of two clocks: neither a session's word nor a clock that was set back keeps others from work for longer.
func (w Window) open(now time.Time) bool {
	return now.Before(w.Resets) && !w.Resets.After(now.Add(w.Long+time.Minute))
}

// Heard takes in what a session on a host heard of the windows of its plan. What a long one heard of a window that is over
// since does not replace what others heard of the next.
func (a *AgentState) Heard(windows []Window, host string, now time.Time) {
	for _, w := range windows {
		if w.Host = host; !w.open(now) {
			continue
		}
		i := slices.IndexFunc(a.Windows, func(o Window) bool { return o.Long == w.Long && o.Host == w.Host })
		if i < 0 {
			a.Windows = append(a.Windows, w.after(Window{}))
		} else {
			a.Windows[i] = w.after(a.Windows[i])
		}
	}
}

// Open are the windows of the login on a host that are under way, the shortest first.
func (a AgentState) Open(host string, now time.Time) []Window {
	list := slices.DeleteFunc(slices.Clone(a.Windows), func(w Window) bool { return w.Host != host || !w.open(now) })
	slices.SortFunc(list, func(v, w Window) int { return cmp.Compare(v.Long, w.Long) })
	return list
}

// Ahead is the window of the login on a host that was used ahead of an even pace, with so many sessions under way, and when that is
// over; zero: none was.
func (a AgentState) Ahead(host string, busy int, now time.Time) (ahead Window, until time.Time) {
	for _, w := range a.Open(host, now) {
		if at := w.even(busy); at.After(now) && at.After(until) {
			ahead, until = w, at
		}
	}
	return ahead, until
}
