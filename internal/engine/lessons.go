package engine

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/selector"
	"stint/internal/store"
)

// listLessons reads the lessons and tells of those that cannot be read, once a process.
func (e *Engine) listLessons(ctx context.Context) ([]fleet.Lesson, error) {
	lessons, problems, err := e.Lessons.List(ctx)
	if err != nil {
		return nil, err
	}
	if !e.warnedLessons {
		e.warnedLessons = true
		for _, p := range problems {
			e.Log.WarnContext(ctx, "lesson problem", slog.String("reason", p.String()))
		}
	}
	return lessons, nil
}

// maxLessons bounds what lessons add to a prompt, in bytes: beyond some pages the task
// itself is lost among them.
const maxLessons = 48 << 10

// matching are the lessons that fit a session, and those of them that it gets: chance
// withholds some, so that their effect can be told from that of the sessions they
// happen to fit. The same run always gets the same.
func (e *Engine) matching(lessons []fleet.Lesson, r fleet.Run, task *fleet.Task) (uses []fleet.LessonUse, given []fleet.Lesson) {
	size := 0
	for _, l := range lessons {
		if !l.Matches(r.Category, task) || size+len(l.Body) > maxLessons {
			continue
		}
		size += len(l.Body) // also of one that is withheld: whether others fit must not depend on chance
		injected := bandit.Chance(string(r.ID), string(l.ID)) >= e.Config.Lessons.Withhold
		uses = append(uses, fleet.LessonUse{Lesson: l.ID, Injected: injected})
		if injected {
			given = append(given, l)
		}
	}
	return uses, given
}

// LessonEffect is what the record says of a lesson.
type LessonEffect struct {
	ID       fleet.LessonID
	Active   bool // there is a file of it
	With     int  // graded sessions that got it
	Without  int  // graded sessions from which it was withheld
	Effect   bandit.Effect
	Exposure map[fleet.Category]float64 // mean, of the sessions behind what is believed of each
}

// LessonEffects sums up the record by lesson, in order of their ids.
func (e *Engine) LessonEffects(ctx context.Context) ([]LessonEffect, error) {
	lessons, err := e.listLessons(ctx)
	if err != nil {
		return nil, err
	}
	var known []store.Lesson
	if e.Store != nil {
		s, err := e.Store.Snapshot(ctx)
		if err != nil {
			return nil, err
		}
		known = s.Lessons
	}
	byID := map[fleet.LessonID]*LessonEffect{}
	for _, l := range lessons {
		byID[l.ID] = &LessonEffect{ID: l.ID, Active: true}
	}
	for _, l := range known {
		if byID[l.ID] == nil {
			byID[l.ID] = &LessonEffect{ID: l.ID}
		}
		r := byID[l.ID]
		r.With, r.Without = r.With+int(l.With.W), r.Without+int(l.Without.W)
		if r.Exposure == nil {
			r.Exposure = map[fleet.Category]float64{}
		}
		r.Exposure[l.Category] = l.Exposure
	}
	effects := effectsOf(known)
	list := []LessonEffect{}
	for id, r := range byID {
		r.Effect = bandit.EffectOf(nil, 0)
		if effect, found := effects[id]; found {
			r.Effect = effect
		}
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b LessonEffect) int { return cmp.Compare(a.ID, b.ID) })
	return list, nil
}

// effectsOf estimates the effect of each lesson.
func effectsOf(known []store.Lesson) map[fleet.LessonID]bandit.Effect {
	var all []bandit.Trial
	trials := map[fleet.LessonID][]bandit.Trial{}
	for _, l := range known { // ordered, as a sum's last bit is
		all = append(all, l.Trial)
		trials[l.ID] = append(trials[l.ID], l.Trial)
	}
	noise := bandit.Noise(all)
	effects := map[fleet.LessonID]bandit.Effect{}
	for id, list := range trials {
		effects[id] = bandit.EffectOf(list, noise)
	}
	return effects
}

// lessonShifts is, by category, what today's lessons change beside those behind what is
// believed.
func (e *Engine) lessonShifts(v view) map[fleet.Category]float64 {
	lessons, known, tasks := v.lessons, v.snapshot.Lessons, v.tasks
	effects := effectsOf(known)
	today := map[fleet.LessonID]map[fleet.Category]float64{}
	for _, l := range lessons {
		if _, found := effects[l.ID]; found { // of others nothing is known
			today[l.ID] = selector.MatchRates(l, e.Config.CategoryNames(), tasks)
		}
	}
	parts := map[fleet.Category][]bandit.Exposure{}
	behind := map[fleet.LessonID]map[fleet.Category]float64{}
	for _, l := range known {
		if behind[l.ID] == nil {
			behind[l.ID] = map[fleet.Category]float64{}
		}
		behind[l.ID][l.Category] = l.Exposure
	}
	for _, exposure := range behind {
		e.assume(exposure, v.snapshot.Arms)
	}
	for _, id := range slices.Sorted(maps.Keys(effects)) {
		for _, c := range e.Config.CategoryNames() {
			parts[c] = append(parts[c], bandit.Exposure{
				Effect: effects[id].Mean, Next: (1 - e.Config.Lessons.Withhold) * today[id][c], Behind: behind[id][c],
			})
		}
	}
	shifts := map[fleet.Category]float64{}
	for c, list := range parts {
		shifts[c] = bandit.LOO(list)
	}
	return shifts
}

// assume gives the categories without a grade the mean exposure of the others: what is
// believed of them comes from those.
func (e *Engine) assume(exposure map[fleet.Category]float64, arms map[fleet.Category]store.Arm) {
	sum := 0.0
	known := slices.Sorted(maps.Keys(exposure))
	for _, c := range known {
		sum += exposure[c] / float64(len(known))
	}
	for _, c := range e.Config.CategoryNames() {
		if arms[c].Graded == 0 {
			exposure[c] = sum
		}
	}
}
