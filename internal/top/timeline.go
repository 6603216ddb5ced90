package top

import (
	"slices"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/screen"
)

// signs are those that a timeline may show, what is under way first.
func signs() []fleet.Sign {
	var list []fleet.Sign
	for _, s := range []fleet.RunState{fleet.RunRunning, fleet.RunCrashed, fleet.RunSuspended} {
		list = append(list, fleet.RunStatus{State: s}.Sign())
	}
	for _, o := range fleet.Outcomes() {
		if o != fleet.Busy && o != fleet.Idle { // which never have a lane
			list = append(list, o.Sign())
		}
	}
	return list
}

// track has the runs of one lane.
type track struct {
	category fleet.Category
	lane     int
	runs     []fleet.RunStatus
}

// tracks are those of all lanes, also of lanes that are configured no more. While idle lanes
// are folded, those are left out in which nothing happened.
func (m Model) tracks() (list []track) {
	at := func(c fleet.Category, lane int) int {
		return slices.IndexFunc(list, func(t track) bool { return t.category == c && t.lane == lane })
	}
	for _, l := range m.look.Lanes {
		if at(l.Category, l.Number) < 0 {
			list = append(list, track{category: l.Category, lane: l.Number})
		}
	}
	for _, r := range m.pastRuns() {
		i := at(r.Category, r.Lane)
		if i < 0 {
			i = len(list)
			list = append(list, track{category: r.Category, lane: r.Lane})
		}
		list[i].runs = append(list[i].runs, r)
	}
	return slices.DeleteFunc(list, func(t track) bool {
		return !m.unfolded && len(t.runs) == 0 && (t.category != m.selected.category || t.lane != m.selected.lane)
	})
}

// pastRuns are those that were in a lane within the timeline's time.
func (m Model) pastRuns() (list []fleet.RunStatus) {
	from := m.now.Add(-Past)
	for _, r := range m.look.Past {
		if r.Lane > 0 && !r.StartedAt.IsZero() && (r.EndedAt.IsZero() || r.EndedAt.After(from)) {
			list = append(list, r)
		}
	}
	return list
}

// cells returns the run in each column, as an index of the track's runs, or -1. It is
// the one that was longest at work in the column's time, so that no short run is lost but
// beside longer ones.
func (t track) cells(now time.Time, columns int) []int {
	cells := make([]int, columns)
	longest := make([]time.Duration, columns)
	step := Past / time.Duration(columns)
	begin := now.Add(-step * time.Duration(columns))
	for i := range cells {
		cells[i] = -1
	}
	for n, r := range t.runs {
		end := r.EndedAt
		if end.IsZero() || end.After(now) {
			end = now
		}
		for i := max(int(r.StartedAt.Sub(begin)/step), 0); i < columns; i++ {
			from := begin.Add(step * time.Duration(i))
			if !end.After(from) && i != int(r.StartedAt.Sub(begin)/step) {
				break
			}
			there := plain.Latest(r.StartedAt, from)
			if d := min(end.Sub(there), from.Add(step).Sub(there)); cells[i] < 0 || d > longest[i] {
				cells[i], longest[i] = n, d
			}
		}
	}
	return cells
}

// draw draws a track. Each run's first column stands out, which separates runs in a row: it is
// narrower, or else has the letter of its outcome.
func (m Model) draw(t track, columns int) string {
	var b strings.Builder
	s := m.style()
	cells := t.cells(m.now, columns)
	for i, n := range cells {
		first := i == 0 || cells[i-1] != n
		if n < 0 {
			b.WriteString(s.Paint(screen.Dim, "·"))
			continue
		}
		sign := t.runs[n].Sign()
		switch {
		case !s.Colour && first:
			b.WriteString(sign.Letter)
		case !s.Colour:
			b.WriteString("=")
		case first:
			b.WriteString(s.Paint(screen.MoodPaint(sign.Mood), "▐"))
		default:
			b.WriteString(s.Paint(screen.MoodPaint(sign.Mood), "█"))
		}
	}
	return b.String()
}

func (m Model) timelineLines(width, rows int) (lines []string, shown string) {
	tracks := m.tracks()
	axis := rows > len(tracks)
	if axis {
		rows--
	}
	at := slices.IndexFunc(tracks, func(t track) bool {
		return t.category == m.selected.category && (t.lane == m.selected.lane || m.selected.lane == 0)
	})
	first, end := window(len(tracks), rows, at)
	names := m.nameWidth()
	columns := max(width-names-4, 1)
	for i, t := range tracks[first:end] {
		lines = append(lines, m.pointer(first+i == at)+" "+pad(m.laneName(t.category, t.lane), names)+" "+m.draw(t, columns))
	}
	if axis && len(tracks) > 0 {
		lines = append(lines, m.style().Paint(screen.Dim, strings.Repeat(" ", names+3)+axisOf(m.now, columns)))
	}
	return lines, partly(first, end, len(tracks))
}

// axisOf names the time at the left edge, in the middle and at the right.
func axisOf(now time.Time, columns int) string {
	clock := func(ago time.Duration) string { return now.Add(-ago).UTC().Format("15:04") }
	left, right := clock(Past), "now"
	if columns < len(left)+len(right)+2 {
		return ""
	}
	text := pad(left, columns/2)
	if middle := clock(Past / 2); columns >= 3*len(middle)+6 {
		text = pad(text[:len(left)], columns/2) + middle
	}
	return pad(text, columns-len(right)) + right
}

// legend says what the signs of the runs in the timeline mean.
func (m Model) legend() string {
	runs := m.pastRuns()
	var parts []string
	for _, sign := range signs() {
		if slices.ContainsFunc(runs, func(r fleet.RunStatus) bool { return r.Sign() == sign }) {
			parts = append(parts, signText(sign, m.style()))
		}
	}
	return strings.Join(parts, " ")
}

func signText(s fleet.Sign, style screen.Style) string {
	if style.Colour {
		return style.Paint(screen.MoodPaint(s.Mood), "█") + s.Word
	}
	return s.Letter + "=" + s.Word
}
