package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"stint/internal/fleet"
)

// reader makes a Config of a decoded file and collects its faults. Where there is
// one, it goes on with the default, so that the next one is found as well.
type reader struct {
	Options
	source source
	faults []fault
}

func (r *reader) report(key string, err error, hint string) {
	r.reportAt(r.source.at[key], key, err, hint)
}

// reportAt prefers a hint that err has already: the code that gave it knows more.
func (r *reader) reportAt(offset int, key string, err error, hint string) {
	if own := fleet.Hint(err); own != "" {
		hint = own
	}
	r.faults = append(r.faults, fault{offset, fleet.WithHint(fmt.Errorf("%s: %w", key, err), hint)})
}

// config reads the whole file. Agents come before the categories that name them,
// categories before the lists of them.
func (r *reader) config(file *table) *Config {
	config, agent, category := defaults()
	c, folder := &config, filepath.Dir(r.source.path)
	c.Path, c.source = r.source.path, r.source
	c.Fleet = get(file, "fleet", "", fleetName())
	if !file.has("fleet") {
		file.missing("fleet", `write fleet = "bob" in the first line`)
	}
	c.Workspace = get(file, "workspace", filepath.Join(folder, c.Workspace), pathIn(folder))
	c.State = r.state(file, c.Fleet)
	c.Store = get(file, "store", c.Store, storeKind())
	c.Agents = r.agents(file, agent)
	c.Categories = r.categories(file, category, slices.Sorted(maps.Keys(c.Agents)))
	c.Fanout = r.fanout(file.child("fanout"), c.Fanout, c.Categories)
	c.Pools = r.pools(file, c.Fanout, c.Categories)
	c.Tasks = r.tasks(file.child("tasks"), c)
	c.Lessons = r.lessons(file.child("lessons"), c)
	c.Selector = r.selector(file.child("selector"), c.Selector)
	c.Notice = r.notice(file.child("notice"), c.Notice)
	c.Budget = r.budget(file.child("budget"))
	c.Prices = r.prices(file)
	c.Worktrees = worktrees(file.child("worktrees"), c.Worktrees)
	c.Runs = runs(file.child("runs"), c.Runs)
	file.close()
	r.budgetsBind(c)
	r.refuseNUL()
	return c
}

// state has no default that holds everywhere: without the key, it is what the
// environment says.
func (r *reader) state(file *table, name fleet.Name) string {
	example := "/var/lib/stint/" + string(name)
	state := get(file, "state", "", absolute(example))
	if file.has("state") {
		return state
	}
	state = DefaultState(r.Getenv, name)
	if state == "" {
		file.missing("state", fmt.Sprintf("write state = %s, as neither $XDG_STATE_HOME nor $HOME is set", literal(example)))
	}
	return state
}

func (r *reader) fanout(t *table, d Fanout, categories map[fleet.Category]Category) Fanout {
	f := Fanout{
		Workers:   get(t, "workers", d.Workers, whole(1, math.MaxInt)),
		Slots:     get(t, "slots", d.Slots, whole(1, math.MaxInt)),
		MaxPivots: get(t, "max_pivots", d.MaxPivots, whole(0, 99)),
		Limits:    limits(t, d.Limits),
	}
	allow := t.list("allow", 0, distinct(func(word string) error { return checkCategory(word, categories) }))
	for _, word := range allow {
		f.Allow = append(f.Allow, fleet.Category(word))
	}
	if !t.has("allow") {
		f.Allow = parallel(categories)
	}
	t.close()
	return f
}

// parallel are the categories that a fire may start without being told so, sorted.
func parallel(categories map[fleet.Category]Category) []fleet.Category {
	var names []fleet.Category
	for name, category := range categories {
		if category.Parallel {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (r *reader) tasks(t *table, c *Config) Tasks {
	tasks := Tasks{
		DefaultCategory: get(t, "default_category", r.firstCategory(c.Categories),
			rule[fleet.Category]{`"…"`, func(value any) (fleet.Category, error) {
				word, err := text().parse(value)
				if err == nil {
					err = checkCategory(word, c.Categories)
				}
				return fleet.Category(word), err
			}}),
	}
	r.taskFormat(t, &tasks)
	tasks.Dir = get(t, "dir", filepath.Join(c.Workspace, taskFormats(tasks.Format).dir), pathIn(c.Workspace))
	for tag, word := range t.pairs("tags", func(_, word string) error { return checkCategory(word, c.Categories) }) {
		if tasks.Tags == nil {
			tasks.Tags = map[string]fleet.Category{}
		}
		tasks.Tags[tag] = fleet.Category(word)
	}
	tasks.Sources = r.taskSources(t.child("source"), c.Categories)
	tasks.After = get(t, "after", c.Tasks.After, oneOf(append(mapped(fleet.TaskStates(), func(s fleet.TaskState) string { return string(s) }), KeepState)...))
	tasks.RaiseAfter = get(t, "raise_after", c.Tasks.RaiseAfter, pause())
	tasks.MostSessions = get(t, "most_sessions", c.Tasks.MostSessions, whole(0, 1000))
	tasks.ResolveURL = t.list("resolve_url", 0, program())
	tasks.PassEnvironment = t.variables(c.Tasks.PassEnvironment)
	t.close()
	return tasks
}

// firstCategory is the one that the file names first.
func (r *reader) firstCategory(categories map[fleet.Category]Category) fleet.Category {
	first, offset := fleet.Category(""), math.MaxInt
	for name := range categories {
		if at := r.source.at[dotted("category", string(name))]; at < offset {
			first, offset = name, at
		}
	}
	return first
}

func checkCategory(word string, categories map[fleet.Category]Category) error {
	if _, ok := categories[fleet.Category(word)]; ok {
		return nil
	}
	known := mapped(slices.Collect(maps.Keys(categories)), func(c fleet.Category) string { return string(c) })
	return fleet.WithHint(fmt.Errorf("there is no category %s", describe(word)), meant(word, known))
}

func (r *reader) lessons(t *table, c *Config) Lessons {
	l := Lessons{
		Dir:      get(t, "dir", filepath.Join(c.Workspace, c.Lessons.Dir), pathIn(c.Workspace)),
		Withhold: get(t, "withhold", c.Lessons.Withhold, chance()),
	}
	t.close()
	return l
}

func worktrees(t *table, d Worktrees) Worktrees {
	w := Worktrees{
		Keep:   get(t, "keep", d.Keep, whole(0, math.MaxInt)),
		MaxAge: get(t, "max_age", d.MaxAge, duration()),
	}
	t.close()
	return w
}

func runs(t *table, d Runs) Runs {
	r := Runs{
		Keep:   get(t, "keep", d.Keep, whole(0, math.MaxInt)),
		MaxAge: get(t, "max_age", d.MaxAge, duration()),
		Out:    get(t, "out", d.Out, storage()),
	}
	t.close()
	return r
}

func (r *reader) selector(t *table, d Selector) Selector {
	s := Selector{
		Command:  t.command(0),
		Timeout:  get(t, "timeout", d.Timeout, duration()),
		Settings: d.Settings,
	}
	s.PassEnvironment = t.variables(d.PassEnvironment)
	b := &s.Settings
	b.V = get(t, "v", b.V, number(0.1, 1000))
	b.Floor = get(t, "floor", b.Floor, fraction())
	b.Cap = get(t, "cap", b.Cap, orNone(number(1, 1000)))
	b.HalfLife = get(t, "half_life", b.HalfLife, orNone(number(1, 1e6)))
	b.SlowHalfLife = get(t, "slow_half_life", b.SlowHalfLife, orNone(number(1, 1e6)))
	b.Alarm = get(t, "alarm", b.Alarm, orNone(number(1, 1000)))
	t.close()
	return s
}

// refuseNUL keeps out of the whole file what no path, argument or variable can
// hold, and what TOML can write only as an escape.
func (r *reader) refuseNUL() {
	for _, offset := range r.source.nuls {
		r.faults = append(r.faults, fault{offset, fleet.WithHint(errors.New("a string holds a NUL character"), `remove the \u0000`)})
	}
}
