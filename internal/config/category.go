package config

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"stint/internal/fleet"
)

func (r *reader) categories(file *table, d Category, agents []string) map[fleet.Category]Category {
	categories := map[fleet.Category]Category{}
	for name, t := range file.child("category").children() {
		if _, err := fleet.ParseCategory(name); err != nil {
			r.report(t.key, err, "rename it, as in [category.code]")
		}
		categories[fleet.Category(name)] = r.category(t, d, agents)
	}
	if len(categories) == 0 {
		file.missing("category", "write [category.code]")
	}
	r.divide(categories)
	return categories
}

func (r *reader) category(t *table, d Category, agents []string) Category {
	c := Category{
		Pool:         get(t, "pool", d.Pool, text()),
		Share:        get(t, "share", d.Share, fraction()),
		Agents:       r.categoryAgents(t, agents),
		Lanes:        get(t, "lanes", d.Lanes, whole(1, maxLanes)),
		TTL:          get(t, "ttl", d.TTL, duration()),
		Timeout:      get(t, "timeout", d.Timeout, duration()),
		Cooldown:     get(t, "cooldown", d.Cooldown, pause()),
		SelfDirected: get(t, "self_directed", d.SelfDirected, truth()),
		Parallel:     get(t, "parallel", d.Parallel, truth()),
		Prompt:       get(t, "prompt", d.Prompt, pathOrNone(filepath.Dir(r.source.path))),

		Check:         t.list("check", 0, program()),
		CheckTimeout:  get(t, "check_timeout", d.CheckTimeout, duration()),
		Grader:        t.list("grader", 0, program()),
		GraderTimeout: get(t, "grader_timeout", d.GraderTimeout, duration()),

		Worktree: get(t, "workspace", kindOf(d.Worktree), oneOf(inShared, inWorktree)) == inWorktree,
		Sync:     get(t, "sync", d.Sync, truth()),
		Respawn:  get(t, "respawn", d.Respawn, fraction()),
		MaxChain: get(t, "max_chain", d.MaxChain, whole(0, maxChain)),
		Budget:   r.budget(t.child("budget")),
		WIP:      r.wip(t.child("wip"), d.WIP),
		Unit:     r.unit(t.child("unit")),
	}
	t.close()
	return c
}

const (
	maxLanes = 99 // far more than one machine runs; a typing error shows
	maxChain = 9  // a fleet that follows itself for ever is what fires are there to prevent
)

// The values of category.NAME.workspace.
const inShared, inWorktree = "shared", "worktree"

func kindOf(worktree bool) string {
	if worktree {
		return inWorktree
	}
	return inShared
}

// budget bounds nothing where the file says nothing.
func (r *reader) budget(t *table) Budget {
	b := Budget{
		Runs:   get(t, "runs", 0, whole(0, math.MaxInt)),
		Tokens: int64(get(t, "tokens", 0, whole(0, math.MaxInt))),
		USD:    get(t, "usd", 0, number(0, 1e9)),

		SessionTokens: int64(get(t, "session_tokens", 0, whole(0, math.MaxInt))),
		SessionUSD:    get(t, "session_usd", 0, number(0, 1e9)),
	}
	t.close()
	return b
}

// categoryAgents default to the only agent there is.
func (r *reader) categoryAgents(t *table, agents []string) []string {
	names := t.list("agents", 1, distinct(func(word string) error {
		if slices.Contains(agents, word) {
			return nil
		}
		return fleet.WithHint(fmt.Errorf("there is no agent %s", describe(word)), meant(word, agents))
	}))
	switch {
	case t.has("agents") || len(agents) == 0:
		return names
	case len(agents) > 1:
		t.missing("agents", "say which of the agents may work on it: write agents = "+literal(agents))
	}
	return slices.Clone(agents)
}

// unit leaves to the caller which properties there are.
func (r *reader) unit(t *table) map[string]any {
	if len(t.entries) == 0 {
		return nil
	}
	if r.CheckUnit == nil {
		return t.entries
	}
	for name, value := range t.entries {
		if err := r.CheckUnit(name, value); err != nil {
			r.report(under(t.key, name), err, "see man systemd.resource-control and systemd.exec")
		}
	}
	return t.entries
}

// divide gives the categories without a share equal parts of what the others leave.
func (r *reader) divide(categories map[fleet.Category]Category) {
	rest, without := 1.0, []fleet.Category{}
	for _, name := range slices.Sorted(maps.Keys(categories)) {
		if r.source.has(dotted("category", string(name), "share")) {
			rest -= categories[name].Share
		} else {
			without = append(without, name)
		}
	}
	for _, name := range without {
		category := categories[name]
		category.Share = max(0, rest) / float64(len(without))
		categories[name] = category
	}
}
