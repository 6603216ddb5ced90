package simulate

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"stint/internal/fleet"
	"stint/internal/review"
)

const (
	firesADay = 48
	fire      = 24 * time.Hour / firesADay
)

// Review is a person who looks through what sessions leave, and is away for a while.
type Review struct {
	PerDay      float64 // results that the reviewer looks through in a day
	Leaves      float64 // probability that a session that worked leaves something to look at
	Limit       int     // of what may wait, as in a configuration; 0: any number
	AwayLimit   int     // while the reviewer is away
	MaxAge      float64 // days after which a result is rotten; 0: none is
	First, Last int     // fires at which the reviewer is away; 0: none
	Order       Order
}

// Order names the result that the reviewer takes next.
type Order string

const (
	// ByWorth takes the one that "stint review" lists first.
	ByWorth Order = "stint"
	// ByAge takes the oldest.
	ByAge Order = "oldest"
)

// desk is the reviewer's, with all that waits there.
type desk struct {
	*Review
	items  []review.Item
	made   int
	chance *rand.Rand
	spare  float64 // what the reviewer could look through by now

	blocked, wanted float64       // sessions
	merged, could   float64       // results, since the reviewer came back
	oldest          time.Duration // that waited two days after that
	first           [2]float64    // minutes to the first four merges then: as the list has them, and by age
}

// settled is the time from the reviewer's return to the look at the desk.
const settled = 2 * firesADay

func (r *Review) away(round int) bool { return round >= r.First && round <= r.Last }

func clock(round int) time.Time { return time.Unix(0, 0).Add(time.Duration(round) * fire) }

// room returns the number of wanted sessions that may start, by the rules of real fires.
func (d *desk) room(round, wanted, flying int) int {
	away, taken, start := d.away(round), flying+len(d.items), 0
	room := fleet.Room{Takes: true, Limit: d.Limit, Away: d.AwayLimit}
	if away || review.Rot(d.items, d.Limit, time.Duration(d.MaxAge*24*float64(time.Hour)), clock(round)) == "" {
		for start < wanted && room.Full(taken+start, away) == "" {
			start++
		}
	}
	d.wanted += float64(wanted)
	d.blocked += float64(wanted - start)
	return start
}

// takes has a session that ended leave its work.
func (d *desk) takes(round int, v fleet.Verdict) {
	if v.Outcome != fleet.Productive || d.chance.Float64() >= d.Leaves {
		return
	}
	// Most changes that are merged are small, and few are large.
	const median, sigma, maxFiles = 60, 1.3, 12
	lines := median * math.Exp(sigma*d.chance.NormFloat64())
	id := strconv.Itoa(d.made)
	d.made++
	i := review.Item{Branch: review.Branch{Run: fleet.RunID(id), Landing: review.Waiting, Since: clock(round), Lines: int(lines)}, State: review.StateWaiting}
	for file := range min(maxFiles, 1+int(lines/100)) {
		i.Files = append(i.Files, id+"/"+strconv.Itoa(file))
	}
	d.items = append(d.items, i)
}

// works has the reviewer look through what the time between two fires is enough for.
func (d *desk) works(round int) {
	if d.away(round) {
		return
	}
	if round == d.Last+settled {
		d.measure(round)
	}
	d.spare += d.PerDay / firesADay
	if round > d.Last {
		d.could += d.PerDay / firesADay
	}
	for ; d.spare >= 1 && len(d.items) > 0; d.spare-- {
		d.sort(d.Order, round)
		d.items = d.items[1:]
		if round > d.Last {
			d.merged++
		}
	}
	d.spare = min(d.spare, 1) // nobody looks through what is not there yet
}

func (d *desk) sort(by Order, round int) {
	if by == ByWorth {
		review.Sort(d.items, clock(round))
		return
	}
	slices.SortStableFunc(d.items, func(a, b review.Item) int { return a.Since.Compare(b.Since) })
}

func (d *desk) measure(round int) {
	for n, by := range []Order{ByWorth, ByAge} {
		d.sort(by, round)
		for _, i := range d.items[:min(4, len(d.items))] {
			d.first[n] += i.Minutes()
		}
	}
	for _, i := range d.items {
		d.oldest = max(d.oldest, clock(round).Sub(i.Since))
	}
}
