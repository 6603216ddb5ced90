package engine

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/plain"
)

// environment is all that an agent gets to see of its surroundings: what the
// config passes on, what it sets, and what stint says of the run. Later entries
// win, and nothing may pose as stint's own.
func (e *Engine) environment(a assignment, agent config.Agent, deadline time.Time) []string {
	r, files := a.run, fleet.FilesOf(e.Config.State, a.run.ID)
	path := ""
	if a.task != nil {
		path = a.task.Path
	}
	fill := strings.NewReplacer(e.placeholders(a)...)
	agent.Environment = maps.Clone(agent.Environment)
	for name, value := range agent.Environment {
		agent.Environment[name] = fill.Replace(value)
	}
	var env []string
	if asksForCache(agent.Command) || agent.Box != "" && agent.Box != fleet.BoxOpen {
		// An agent that may not write in the home folder may write its caches here.
		env = append(env, "XDG_CACHE_HOME="+files.Cache)
	}
	env = append(append(env, e.Passed(agent)...),
		"STINT_FLEET="+string(e.Config.Fleet),
		"STINT_CONFIG="+e.Config.Path,
		"STINT_RUN_ID="+string(r.ID),
		"STINT_CATEGORY="+string(r.Category),
		"STINT_TASK_ID="+string(r.Task),
		"STINT_TASK_FILE="+path,
		"STINT_EPOCH="+strconv.FormatInt(int64(r.Epoch), 10),
		"STINT_HOLDER="+string(r.ID.Holder()),
		"STINT_WORKSPACE="+a.dir,
		"STINT_PROMPT_FILE="+files.Prompt,
		"STINT_RUN_DIR="+files.Out,
		"STINT_RESULT="+files.Result,
		"STINT_SOCKET="+files.Door,
		"STINT_LANE="+strconv.Itoa(r.Lane),
		"STINT_CHAIN_DEPTH="+strconv.Itoa(r.ChainDepth),
		"STINT_DEADLINE="+plain.Stamp(deadline),
	)
	return append(env, e.Repo.Environment(a.dir, files)...)
}
