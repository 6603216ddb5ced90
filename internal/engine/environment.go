package engine

import (
	"strconv"
	"time"

	"stint/internal/config"
	"stint/internal/fleet"
)

// environment is all that an agent gets to see of its surroundings: what the
// config passes on, what it sets, and what stint says of the run. Later entries
// win, and nothing may pose as stint's own.
func (e *Engine) environment(r fleet.Run, task *fleet.Task, a config.Agent, deadline time.Time) []string {
	files := fleet.FilesOf(e.Config.State, r.ID)
	var env []string
	for _, name := range a.PassEnvironment {
		if value := e.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range a.Environment {
		env = append(env, name+"="+value)
	}
	path := ""
	if task != nil {
		path = task.Path
	}
	return append(env,
		"STINT_FLEET="+string(e.Config.Fleet),
		"STINT_CONFIG="+e.Config.Path,
		"STINT_RUN_ID="+string(r.ID),
		"STINT_CATEGORY="+string(r.Category),
		"STINT_TASK_ID="+string(r.Task),
		"STINT_TASK_FILE="+path,
		"STINT_EPOCH="+strconv.FormatInt(int64(r.Epoch), 10),
		"STINT_HOLDER="+string(r.ID.Holder()),
		"STINT_WORKSPACE="+e.Config.Workspace,
		"STINT_PROMPT_FILE="+files.Prompt,
		"STINT_RESULT="+files.Result,
		"STINT_CHAIN_DEPTH="+strconv.Itoa(r.ChainDepth),
		"STINT_DEADLINE="+deadline.UTC().Format(time.RFC3339),
		e.Repo.Mark(files),
	)
}
