package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Key is one of the things by which what was used can be split.
type Key string

const (
	ByDay      Key = "day" // UTC, as budgets count; of the run's creation
	ByCategory Key = "category"
	ByAgent    Key = "agent"
	ByHost     Key = "host"
)

// Keys are all of them.
func Keys() []Key { return []Key{ByDay, ByCategory, ByAgent, ByHost} }

// Spending has the usage of runs, split by some keys.
type Spending struct {
	From, To time.Time
	By       []Key
	All      Use
	Parts    []Part // in the order of the keys
}

// Part has the usage of one day, category, agent and machine; a field is zero if
// the split is not by it.
type Part struct {
	Day      time.Time
	Category fleet.Category
	Agent    string
	Host     string // the machine's name
	Use
}

// Text is the part's value of a key.
func (p Part) Text(by Key) string {
	switch by {
	case ByDay:
		return p.Day.UTC().Format(time.DateOnly)
	case ByCategory:
		return string(p.Category)
	case ByAgent:
		return p.Agent
	case ByHost:
		return p.Host
	}
	return ""
}

// NewSpending splits tallies, which are of one day each where the split is by day.
func NewSpending(tallies []fleet.Tally, from, to time.Time, by []Key) Spending {
	s := Spending{From: from, To: to, By: by}
	parts := map[string]*Part{}
	for _, t := range tallies {
		p := Part{}
		var key []string
		for _, k := range by {
			switch k {
			case ByDay:
				p.Day = t.From
			case ByCategory:
				p.Category = t.Category
			case ByAgent:
				p.Agent = t.Agent
			case ByHost:
				p.Host = t.Host
			}
			key = append(key, p.Text(k))
		}
		name := strings.Join(key, "\x00")
		if parts[name] == nil {
			parts[name] = &p
		}
		parts[name].add(t)
		s.All.add(t)
	}
	s.Parts = plain.Each(slices.SortedFunc(maps.Values(parts), s.compare), func(p *Part) Part { return *p })
	return s
}

func (s Spending) compare(a, b *Part) int {
	for _, k := range s.By {
		if c := cmp.Compare(a.Text(k), b.Text(k)); c != 0 {
			return c
		}
	}
	return 0
}
