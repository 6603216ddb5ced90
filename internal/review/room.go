package review

import (
	"fmt"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Places lists the changes that a look at the work makes to the places in review which were taken
// when the look began. A session at work keeps its place, whatever it has committed so far. If a branch with commits
// is gone, somebody has merged or removed it, unless it is only elsewhere: in the clone of a machine of which that
// is said.
func Places(taken []fleet.ReviewSlot, items []Item, hidden func(fleet.ReviewSlot) bool) (list []fleet.PlaceSight) {
	places, seen := map[fleet.RunID]fleet.ReviewSlot{}, map[fleet.RunID]bool{}
	for _, p := range taken {
		places[p.Run] = p
	}
	for _, i := range items {
		seen[i.Run] = true
		switch p, has := places[i.Run]; {
		case has && !p.Ended:
		case !i.Open():
			if has {
				list = append(list, fleet.PlaceSight{Run: i.Run, State: fleet.PlaceReviewed})
			}
		case i.Apart:
			list = append(list, fleet.PlaceSight{Run: i.Run, State: fleet.PlaceOut})
		case !has:
			list = append(list, fleet.PlaceSight{Run: i.Run, State: fleet.PlaceWaits})
		}
	}
	for _, p := range taken {
		state := fleet.PlaceEmpty
		if p.Left {
			state = fleet.PlaceReviewed
		}
		if p.Ended && !seen[p.Run] && !hidden(p) {
			list = append(list, fleet.PlaceSight{Run: p.Run, State: state})
		}
	}
	return list
}

const (
	rotPart = 4  // one of so many places may be rotten: enough for bad luck, and too little to hide neglect
	rotMost = 12 // where any number of results may wait
)

// Rot says why no more work should go to review before somebody has looked through what waits
// there, or "". An open item is rotten that waited for longer than maxAge (0: none is), that
// conflicts with the target or whose check failed: each day makes it dearer to bring in. One that a person has
// checked out is being looked at.
func Rot(items []Item, limit int, maxAge time.Duration, now time.Time) string {
	old, conflicting, red, rotten := 0, 0, 0, 0
	for _, i := range items {
		aged, conflicts := maxAge > 0 && now.Sub(i.Since) > maxAge, len(i.Conflicts) > 0
		green, checked := i.Checked()
		failed := checked && !green && !conflicts // a conflict lets no check run
		if !i.Open() || i.Apart || !aged && !conflicts && !failed {
			continue
		}
		rotten++
		if aged {
			old++
		}
		if conflicts {
			conflicting++
		}
		if failed {
			red++
		}
	}
	most := rotMost
	if limit > 0 {
		most = (limit + rotPart - 1) / rotPart
	}
	if rotten < most {
		return ""
	}
	var of []string
	if old > 0 {
		of = append(of, fmt.Sprintf("%d older than %s", old, plain.Span(maxAge)))
	}
	if conflicting > 0 {
		of = append(of, fmt.Sprintf("%d in conflict with the target", conflicting))
	}
	if red > 0 {
		of = append(of, fmt.Sprintf("%d with a failed check", red))
	}
	return fmt.Sprintf("rotten in review: %d (%s), and the limit is %d", rotten, strings.Join(of, ", "), most)
}

const (
	// silentTimes times the usual time may pass without a review before that is news.
	silentTimes = 2
	// fewReviews say nothing of a reviewer's habits: then a week counts as long.
	fewReviews  = 4
	unknownTime = 7 * 24 * time.Hour / silentTimes
)

// Silence says that nobody has reviewed for twice the usual time while something waits, or "".
// Reviews are the times at which somebody did, oldest first.
func Silence(items []Item, reviews []time.Time, now time.Time) string {
	waiting, oldest := 0, now
	for _, i := range items {
		if i.Open() {
			waiting++
			if i.Since.Before(oldest) {
				oldest = i.Since
			}
		}
	}
	since, usual := oldest, usualTime(reviews)
	if len(reviews) > 0 && reviews[len(reviews)-1].After(since) {
		since = reviews[len(reviews)-1]
	}
	if waiting == 0 || now.Sub(since) <= silentTimes*usual {
		return ""
	}
	return fmt.Sprintf("nobody has reviewed for %s, more than twice the usual time; in review: %s, the oldest for %s",
		plain.Span(now.Sub(since)), plain.Plural(waiting, "result"), plain.Span(now.Sub(oldest)))
}

// usualTime is the mean length of the pause that a moment falls into. The mean of all pauses would
// be minutes for somebody who looks through ten items each morning, and every afternoon silent.
func usualTime(reviews []time.Time) time.Duration {
	if len(reviews) < fewReviews {
		return unknownTime
	}
	var sum, squares float64
	for n, at := range reviews[1:] {
		pause := at.Sub(reviews[n]).Seconds()
		sum += pause
		squares += pause * pause
	}
	if sum == 0 {
		return unknownTime
	}
	return time.Duration(squares / sum * float64(time.Second))
}
