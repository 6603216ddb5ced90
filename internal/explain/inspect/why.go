package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"stint/internal/explain/replay"
	"stint/internal/explain/why"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/survey"
)

// WhyQuestion asks why something is as it is.
type WhyQuestion struct {
	Name string
	Kind why.Kind // what the name is of; empty: whatever has it, in the order of [why.Kinds]

	Detail rank.Detail // of what is said of rankings
}

// LastFire is the name of the last fire.
const LastFire = "last"

const (
	whyFires   = 20  // of a pool, that are counted
	whyLook    = 200 // fires and denials that are looked through for them
	whyRuns    = 5   // that are listed
	whyDenials = 5
	whyChanges = 3
)

// Why answers from the record and the moment, and writes nothing. Also are the other
// kinds of things that have the name. A name that nothing has wraps [fleet.ErrNotFound].
func (e *Explainer) Why(ctx context.Context, q WhyQuestion) (a why.Answer, also []why.Kind, err error) {
	m := &moment{Explainer: e, detail: q.Detail}
	var found []why.Kind
	for _, kind := range why.Kinds() {
		if q.Kind != "" && q.Kind != kind {
			continue
		}
		if kind == why.OfTask && slices.Contains(found, why.OfRun) {
			continue // an id that chance has made is nobody's name for a task
		}
		is, err := m.is(ctx, kind, q.Name)
		if err != nil {
			return why.Answer{}, nil, err
		}
		if is {
			found = append(found, kind)
		}
	}
	if len(found) == 0 && (q.Kind == "" || q.Kind == why.OfRun) { // a run's id may be cut, and a category stand for one
		r, err := e.ResolveRun(ctx, q.Name, "")
		switch {
		case err == nil:
			found, q.Name = []why.Kind{why.OfRun}, string(r.ID)
		case !errors.Is(err, fleet.ErrNotFound):
			return why.Answer{}, nil, err
		}
	}
	if len(found) == 0 {
		return why.Answer{}, nil, m.unknown(ctx, q)
	}
	a, err = m.answer(ctx, found[0], q.Name)
	return a, found[1:], err
}

// moment is the fleet as it is while one question is answered: it is looked at once.
type moment struct {
	*Explainer
	seen   *survey.View
	detail rank.Detail
}

func (m *moment) view(ctx context.Context) (survey.View, error) {
	if m.seen == nil {
		v, err := m.Look(ctx)
		if err != nil {
			return survey.View{}, err
		}
		m.seen = &v
	}
	return *m.seen, nil
}

// is reports whether the name is one of this kind.
func (m *moment) is(ctx context.Context, kind why.Kind, name string) (bool, error) {
	switch kind {
	case why.OfFire:
		id, err := m.fireID(ctx, name)
		if id == 0 || err != nil {
			return false, err
		}
		_, err = m.Store.Fire(ctx, id)
		return isFound(err)
	case why.OfRun:
		id, err := fleet.ParseRunID(name)
		if err != nil {
			return false, nil //nolint:nilerr // a name that is no run's id is an answer
		}
		_, err = m.Record().Run(ctx, id)
		return isFound(err)
	case why.OfCategory:
		_, known := m.Config.Categories[fleet.Category(name)]
		return known, nil
	case why.OfTask:
		return m.isTask(ctx, name)
	}
	return false, nil
}

func isFound(err error) (bool, error) {
	if errors.Is(err, fleet.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// fireID is the fire that a name may be of, or 0.
func (m *moment) fireID(ctx context.Context, name string) (fleet.FireID, error) {
	if m.Store == nil {
		return 0, nil
	}
	if name == LastFire {
		return m.LastFire(ctx)
	}
	id, err := strconv.ParseInt(name, 10, 64)
	if err != nil || id < 1 {
		return 0, nil //nolint:nilerr // a name that is no number is an answer
	}
	return fleet.FireID(id), nil
}

// isTask reports whether there is such a task, or was one when it was claimed or run.
func (m *moment) isTask(ctx context.Context, name string) (bool, error) {
	id, err := fleet.ParseTaskID(name)
	if err != nil {
		return false, nil //nolint:nilerr // a name that is no task's id is an answer
	}
	v, err := m.view(ctx)
	if err != nil || taskOf(v, id) != nil || problem(v, id) != "" {
		return err == nil, err
	}
	c, _, err := m.Record().Check(ctx, id.Key())
	if err != nil || c.Epoch > 0 {
		return err == nil, err
	}
	runs, err := m.Record().LastRuns(ctx, store.RunQuery{Task: id, Limit: 1})
	return len(runs) > 0, err
}

func taskOf(v survey.View, id fleet.TaskID) *fleet.Task {
	if i := slices.IndexFunc(v.Tasks, func(t fleet.Task) bool { return t.ID == id }); i >= 0 {
		return &v.Tasks[i]
	}
	return nil
}

// problem says why a task that has a file is none, or "".
func problem(v survey.View, id fleet.TaskID) string {
	for _, p := range v.Problems {
		if p.Task == id {
			return p.String()
		}
	}
	return ""
}

// unknown says that nothing has the name, and what may have been meant.
func (m *moment) unknown(ctx context.Context, q WhyQuestion) error {
	kind := cmp.Or(string(q.Kind), "fire, run, category or task")
	err := fmt.Errorf("%s %q: %w", kind, q.Name, fleet.ErrNotFound)
	if id, numErr := strconv.ParseInt(q.Name, 10, 64); q.Kind == why.OfFire || q.Name == LastFire || numErr == nil && id > 0 {
		return fleet.WithHint(err, m.lastFire(ctx))
	}
	var known []string
	if q.Kind == "" || q.Kind == why.OfCategory {
		known = plain.Each(m.Config.CategoryNames(), func(c fleet.Category) string { return string(c) })
	}
	if q.Kind == "" || q.Kind == why.OfTask {
		if v, viewErr := m.view(ctx); viewErr == nil {
			known = append(known, plain.Each(v.Tasks, func(t fleet.Task) string { return string(t.ID) })...)
		}
	}
	return fleet.WithHint(err, nearest(q.Name, known))
}

// lastFire says which fires there are.
func (m *moment) lastFire(ctx context.Context) string {
	id, err := m.fireID(ctx, LastFire)
	if err != nil || id == 0 {
		return "there has been no fire yet: stint fanout makes the first, and stint fanout --dry-run says what it would do"
	}
	return fmt.Sprintf("the last fire is %d", id)
}

// nearest names what may have been meant.
func nearest(name string, known []string) string {
	const most = 3
	var near []string
	for range most {
		word := fleet.Nearest(name, known)
		if word == "" {
			break
		}
		near = append(near, strconv.Quote(word))
		known = slices.DeleteFunc(known, func(k string) bool { return k == word })
	}
	if len(near) == 0 {
		return "stint task list lists the tasks, and stint status the categories and the last fires and runs"
	}
	return "perhaps " + strings.Join(near, " or ") + " was meant"
}

func (m *moment) answer(ctx context.Context, kind why.Kind, name string) (why.Answer, error) {
	switch kind {
	case why.OfFire:
		id, err := m.fireID(ctx, name)
		if err != nil {
			return why.Answer{}, err
		}
		f, err := m.whyFire(ctx, id)
		return f.Answer(), err
	case why.OfRun:
		r, err := m.whyRun(ctx, fleet.RunID(name))
		return r.Answer(), err
	case why.OfCategory:
		c, err := m.whyCategory(ctx, fleet.Category(name))
		return c.Answer(), err
	case why.OfTask:
		t, err := m.whyTask(ctx, fleet.TaskID(name))
		return t.Answer(), err
	}
	return why.Answer{}, fmt.Errorf("%s %q: %w", kind, name, fleet.ErrUsage)
}

// whyFire ranks the fire again and reads what became of it.
func (m *moment) whyFire(ctx context.Context, id fleet.FireID) (f why.Fire, err error) {
	f = why.Fire{Now: m.Now(), Detail: m.detail, Denials: map[fleet.RunID][]fleet.DeniedClaim{}}
	if f.Fire, err = m.Store.Fire(ctx, id); err != nil {
		return f, err
	}
	if r, err := replay.Fire(f.Fire, survey.Redraws); err != nil {
		f.Unread = err.Error()
	} else {
		f.Selection, f.UsedOwnRanking, f.Differences = &r.Selection, r.Followed, len(r.Differences)
	}
	if f.Runs, err = m.Store.LastRuns(ctx, store.RunQuery{Fire: id, Limit: whyLook}); err != nil {
		return f, err
	}
	slices.Reverse(f.Runs)
	for _, r := range f.Runs {
		if f.Denials[r.ID], err = m.Store.LastDenials(ctx, store.DenialQuery{Run: r.ID, Limit: maxDenials}); err != nil {
			return f, err
		}
		slices.Reverse(f.Denials[r.ID])
	}
	return f, nil
}

// whyRun reads a run with what came before it.
func (m *moment) whyRun(ctx context.Context, id fleet.RunID) (r why.Run, err error) {
	d, err := m.RunDetail(ctx, id)
	if err != nil {
		return r, err
	}
	r = why.Run{
		Run: d.RunStatus, Now: m.Now(), Choice: d.Choice,
		Denials: d.Denials,
	}
	if d.Choice != nil {
		f, err := m.whyFire(ctx, d.Run.Fire)
		if err != nil {
			return r, err
		}
		r.Ranked = f.Sentences()[d.Choice.Category]
		r.First = firstTask(f.Selection, d.Choice.Category)
	}
	if d.Run.Source == fleet.FromRespawn {
		r.Before, err = m.before(ctx, d.Run)
	}
	return r, err
}

// firstTask is the task that a fire saw first in a category.
func firstTask(s *rank.Selection, c fleet.Category) fleet.TaskID {
	if s == nil {
		return ""
	}
	for _, score := range s.Scores {
		if score.Category == c && score.Next != nil {
			return score.Next.ID
		}
	}
	return ""
}

// before is the run that this one follows, if it is found.
func (m *moment) before(ctx context.Context, r fleet.Run) (fleet.RunID, error) {
	runs, err := m.Store.LastRuns(ctx, store.RunQuery{Category: r.Category, Before: r.ID, Limit: whyLook})
	if err != nil {
		return "", err
	}
	for _, earlier := range runs {
		if earlier.FollowedBy == r.ID {
			return earlier.ID, nil
		}
	}
	return "", nil
}
