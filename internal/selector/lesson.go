package selector

import "stint/internal/fleet"

// matchWeight is how many tasks a lesson's match rate over all categories is worth in
// the rate of one.
const matchWeight = 8

// MatchRates is, by category, the part of the sessions that the lesson is expected to
// match, in [0,1]: of the category's open tasks, drawn towards the rate over all
// categories that it is for. A category that it is not for has none.
func MatchRates(l fleet.Lesson, categories []fleet.Category, tasks []fleet.Task) map[fleet.Category]float64 {
	open, matched := map[fleet.Category]float64{}, map[fleet.Category]float64{}
	var all, hits float64
	for _, t := range tasks {
		if !t.State.Workable() || !forCategory(l, t.Category) {
			continue
		}
		open[t.Category]++
		all++
		if l.Matches(t.Category, &t) {
			matched[t.Category]++
			hits++
		}
	}
	pooled := 0.0
	switch {
	case all > 0:
		pooled = hits / all
	case len(l.Tags) == 0: // it matches whatever comes
		pooled = 1
	}
	rates := map[fleet.Category]float64{}
	for _, c := range categories {
		if forCategory(l, c) {
			rates[c] = (matched[c] + float64(matchWeight*pooled)) / (open[c] + matchWeight)
		}
	}
	return rates
}

// forCategory reports whether the lesson is for the category, whatever its tags.
func forCategory(l fleet.Lesson, c fleet.Category) bool {
	l.Tags = nil
	return l.Matches(c, nil)
}
