package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"stint/internal/fleet"
)

// Value is one setting in effect. Key and Value are TOML: the lines "Key = Value"
// of all values are a configuration that says the same.
type Value struct {
	Key    string // dotted: category.code.ttl
	Value  string
	Origin string // "stint.toml:31", or "default"
}

// Values are all settings, in the order in which a file has them, with agents and
// categories by name.
func (c *Config) Values() []Value {
	v := &values{source: c.source}
	v.add(string(c.Fleet), "fleet")
	v.add(c.Workspace, "workspace")
	v.add(c.State, "state")
	v.add(c.Store, "store")
	v.add(c.Fanout.Workers, "fanout", "workers")
	v.add(c.Fanout.Slots, "fanout", "slots")
	v.add(c.Fanout.MaxPivots, "fanout", "max_pivots")
	v.add(names(c.Fanout.Allow), "fanout", "allow")
	v.addLimits(c.Fanout.Limits)
	for _, name := range c.PoolNames() {
		v.addPool(name, c.Pools[name])
	}
	v.add(c.Tasks.Dir, "tasks", "dir")
	v.add(string(c.Tasks.Format), "tasks", "format")
	if len(c.Tasks.Fields) == 0 {
		v.add(map[string]any{}, "tasks", "fields")
	}
	v.addTaskMaps(c.Tasks.Fields, c.Tasks.States, c.Tasks.Priorities, "tasks")
	v.add(string(c.Tasks.DefaultCategory), "tasks", "default_category")
	addTable(v, c.Tasks.Tags, func(name fleet.Category) any { return string(name) }, "tasks", "tags")
	v.add(c.Tasks.After, "tasks", "after")
	v.add(c.Tasks.RaiseAfter, "tasks", "raise_after")
	v.add(c.Tasks.MostSessions, "tasks", "most_sessions")
	v.add(c.Tasks.ResolveURL, "tasks", "resolve_url")
	v.add(c.Tasks.PassEnvironment, "tasks", "pass_environment")
	for _, name := range slices.Sorted(maps.Keys(c.Tasks.Sources)) {
		v.addTaskSource(name, c.Tasks.Sources[name])
	}
	v.add(c.Lessons.Dir, "lessons", "dir")
	v.add(c.Lessons.Withhold, "lessons", "withhold")
	v.add(c.Selector.Command, "selector", "command")
	v.add(c.Selector.Timeout, "selector", "timeout")
	v.add(c.Selector.PassEnvironment, "selector", "pass_environment")
	v.add(c.Selector.Settings.V, "selector", "v")
	v.add(c.Selector.Settings.Floor, "selector", "floor")
	v.add(c.Selector.Settings.Cap, "selector", "cap")
	v.add(c.Selector.Settings.HalfLife, "selector", "half_life")
	v.add(c.Selector.Settings.SlowHalfLife, "selector", "slow_half_life")
	v.add(c.Selector.Settings.Alarm, "selector", "alarm")
	v.addNotice(c.Notice)
	v.addBudget(c.Budget, "budget")
	for _, name := range slices.Sorted(maps.Keys(c.Prices)) {
		v.addPrice(name, c.Prices[name])
	}
	v.add(c.Worktrees.Keep, "worktrees", "keep")
	v.add(c.Worktrees.MaxAge, "worktrees", "max_age")
	v.add(c.Runs.Keep, "runs", "keep")
	v.add(c.Runs.MaxAge, "runs", "max_age")
	v.add(shownBytes(c.Runs.Out), "runs", "out")
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		v.addAgent(name, c.Agents[name])
	}
	for _, name := range c.CategoryNames() {
		v.addCategory(string(name), c.Categories[name])
	}
	return v.list
}

type values struct {
	source source
	list   []Value
}

func (v *values) add(value any, key ...string) {
	k := dotted(key...)
	origin := "default"
	if offset, ok := v.source.at[k]; ok {
		line, _ := v.source.line(offset)
		origin = fmt.Sprintf("%s:%d", filepath.Base(v.source.path), line)
	}
	v.list = append(v.list, Value{k, literal(value), origin})
}

// addTable adds each entry of a table by itself, as each has its own origin.
func addTable[T any](v *values, table map[string]T, plain func(T) any, key ...string) {
	if len(table) == 0 {
		v.add(map[string]any{}, key...)
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		v.add(plain(table[name]), append(slices.Clone(key), name)...)
	}
}

func (v *values) addAgent(name string, a Agent) {
	v.add(a.Preset, "agent", name, "preset")
	v.add(a.Command, "agent", name, "command")
	v.add(string(a.Prompt), "agent", name, "prompt")
	addTable(v, masked(a.Environment), func(s string) any { return s }, "agent", name, "environment")
	v.add(a.PassEnvironment, "agent", name, "pass_environment")
	v.add(a.Slots, "agent", name, "slots")
	v.add(a.Silence, "agent", name, "silence")
	v.add(a.Trust, "agent", name, "trust")
	v.add(string(a.Transcript), "agent", name, "transcript")
	v.add(a.Quota, "agent", name, "quota")
	v.add(a.Throttle, "agent", name, "throttle")
	v.add(a.ReportsCost, "agent", name, "reports_cost")
	v.add(a.SessionLog, "agent", name, "session_log")
	v.addBudget(a.Budget, "agent", name, "budget")
}

func (v *values) addBudget(b Budget, key ...string) {
	v.add(b.Runs, append(slices.Clone(key), "runs")...)
	v.add(b.Tokens, append(slices.Clone(key), "tokens")...)
	v.add(b.USD, append(slices.Clone(key), "usd")...)
	v.add(b.SessionTokens, append(slices.Clone(key), "session_tokens")...)
	v.add(b.SessionUSD, append(slices.Clone(key), "session_usd")...)
}

func (v *values) addCategory(name string, c Category) {
	v.add(c.Pool, "category", name, "pool")
	v.add(c.Share, "category", name, "share")
	v.add(c.Agents, "category", name, "agents")
	v.add(c.Lanes, "category", name, "lanes")
	v.add(c.TTL, "category", name, "ttl")
	v.add(c.Timeout, "category", name, "timeout")
	v.add(c.Cooldown, "category", name, "cooldown")
	v.add(c.SelfDirected, "category", name, "self_directed")
	v.add(c.Parallel, "category", name, "parallel")
	v.add(c.Prompt, "category", name, "prompt")
	v.add(c.Check, "category", name, "check")
	v.add(c.CheckTimeout, "category", name, "check_timeout")
	v.add(c.Grader, "category", name, "grader")
	v.add(c.GraderTimeout, "category", name, "grader_timeout")
	v.add(kindOf(c.Worktree), "category", name, "workspace")
	v.add(c.Sync, "category", name, "sync")
	v.add(c.Respawn, "category", name, "respawn")
	v.add(c.MaxChain, "category", name, "max_chain")
	v.addBudget(c.Budget, "category", name, "budget")
	v.addWIP(name, c.WIP)
	addTable(v, c.Unit, func(value any) any { return value }, "category", name, "unit")
}

func names(categories []fleet.Category) []string {
	return mapped(categories, func(c fleet.Category) string { return string(c) })
}
