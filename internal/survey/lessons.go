package survey

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
)

// LessonEffect has the recorded effect of one version of a lesson.
type LessonEffect struct {
	ID      fleet.LessonID
	Version string
	Active  bool       // there is a file of it
	Edited  bool       // there is a file of another version
	With    rank.Tried // its sessions, over all categories
	Without rank.Tried // those from which it was withheld
	Effect  rank.Effect
}

// lessonKey is one version of a lesson.
type lessonKey struct {
	id      fleet.LessonID
	version string
}

func (k lessonKey) compare(other lessonKey) int {
	return cmp.Or(cmp.Compare(k.id, other.id), cmp.Compare(k.version, other.version))
}

// LessonEffects sums up the record by lesson, in order of their ids.
func (f *Reader) LessonEffects(ctx context.Context) ([]LessonEffect, error) {
	lessons, err := f.listLessons(ctx)
	if err != nil {
		return nil, err
	}
	s, err := f.Record().Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	byKey := map[lessonKey]*LessonEffect{}
	files := map[fleet.LessonID]bool{}
	for _, l := range lessons {
		byKey[lessonKey{l.ID, l.Version()}], files[l.ID] = &LessonEffect{Active: true}, true
	}
	for _, l := range s.Lessons {
		key := lessonKey{l.ID, l.Version}
		if byKey[key] == nil {
			byKey[key] = &LessonEffect{Edited: files[l.ID]}
		}
		r := byKey[key]
		for _, injected := range []bool{true, false} {
			sum, a := &r.With, l.Of(injected)
			if !injected {
				sum = &r.Without
			}
			sum.Graded, sum.Empty, sum.Failed = sum.Graded+a.Graded, sum.Empty+a.Empty, sum.Failed+a.Failed
		}
	}
	trials, noise := f.trials(s)
	list := []LessonEffect{}
	for _, key := range slices.SortedFunc(maps.Keys(byKey), lessonKey.compare) {
		r := byKey[key]
		r.ID, r.Version, r.Effect = key.id, key.version, rank.EffectOf(trials[key], noise)
		list = append(list, *r)
	}
	return list, nil
}

// trials are those of each lesson, as of the next fire, and the noise of their grades.
func (f *Reader) trials(s store.Snapshot) (trials map[lessonKey][]rank.Trial, noise float64) {
	var all []rank.Trial
	trials = map[lessonKey][]rank.Trial{}
	for _, l := range s.Lessons { // ordered, as a sum's last bit is
		t := f.Config.Selector.Settings().Faded(l.Trial, s.Coming(l.Category, f.Here.Host).Round)
		all = append(all, t)
		key := lessonKey{l.ID, l.Version}
		trials[key] = append(trials[key], t)
	}
	return trials, rank.Noise(all)
}

// lessonShifts is, by category, what today's lessons change beside those behind what is
// believed. The next session of a category works on the task that it would try first, or
// finds its own work: that decides which lessons it can get.
func (f *Reader) lessonShifts(v View) map[fleet.Category]float64 {
	trials, noise := f.trials(v.Snapshot)
	if len(trials) == 0 { // of lessons nothing is known
		return nil
	}
	next := f.Queue(v).Firsts()
	today := map[lessonKey]map[fleet.Category]float64{}
	for _, l := range v.Lessons {
		key := lessonKey{l.ID, l.Version()}
		today[key] = map[fleet.Category]float64{}
		for _, c := range f.Config.CategoryNames() {
			if l.Matches(c, next[c]) {
				today[key][c] = 1 - f.Withhold
			}
		}
	}
	behind := map[lessonKey]map[fleet.Category]float64{}
	for _, l := range v.Snapshot.Lessons {
		key := lessonKey{l.ID, l.Version}
		if behind[key] == nil {
			behind[key] = map[fleet.Category]float64{}
		}
		behind[key][l.Category] = l.Exposure
	}
	parts := map[fleet.Category][]rank.Exposure{}
	for _, key := range slices.SortedFunc(maps.Keys(trials), lessonKey.compare) {
		effect := rank.EffectOf(trials[key], noise).Scored()
		f.assume(behind[key], v.Snapshot.Arms)
		for _, c := range f.Config.CategoryNames() {
			parts[c] = append(parts[c], rank.Exposure{Effect: effect, Next: today[key][c], Behind: behind[key][c]})
		}
	}
	shifts := map[fleet.Category]float64{}
	for c, list := range parts {
		shifts[c] = rank.LOO(list)
	}
	return shifts
}

// assume gives the categories without a grade the mean exposure of the others: the belief about
// them comes from those.
func (f *Reader) assume(exposure map[fleet.Category]float64, arms map[fleet.Category]store.Arm) {
	sum := 0.0
	known := slices.Sorted(maps.Keys(exposure))
	for _, c := range known {
		sum += exposure[c] / float64(len(known))
	}
	for _, c := range f.Config.CategoryNames() {
		if arms[c].Graded == 0 {
			exposure[c] = sum
		}
	}
}
