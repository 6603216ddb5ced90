package main

import (
	"fmt"
	"regexp"
	"strings"
)

// A model that works through a day runs the project's tests, commits, pushes, and writes the
// result file, by a command or by the agent's own tool for files. The push goes through a hook
// that asks whether the session's claim stands.
const (
	works      behaviour = "work"
	worksTools behaviour = "work-file-tool"
)

const workResult = `{"outcome":"productive","grade":0.9,"reason":"the stub says so"}`

// resultPath is the literal path of a run's result file, as it stands in a question:
// in the prompt, or in what a command printed.
var resultPath = regexp.MustCompile(`/[\w./-]+/out/result\.json`)

func (q question) works() bool {
	return q.behaviour == limits || q.behaviour == leaves || q.behaviour == works || q.behaviour == worksTools || q.behaviour == fleetWork
}

func (q question) resultFile() string {
	return string(resultPath.Find(q.body))
}

// step is the next command of a model that works, or "": it is done. The question decides which
// one is next: it holds the results of those before.
func (q question) step(result string) string {
	if q.behaviour == fleetWork {
		return q.fleetStep(result)
	}
	if q.behaviour == limits || q.behaviour == leaves {
		return q.limitStep()
	}
	steps := []string{
		`make test 2>&1 | tail -n 5 && echo "result file: $STINT_RESULT"`,
		`for i in 1 2; do echo "line $i" >>work.txt; done && git add --all && git commit --quiet --message="Work" && git status --short`,
		`git push --quiet origin HEAD:refs/heads/pushed 2>&1 && git status --short --branch`,
		fmt.Sprintf(`printf '%%s\n' '%s' >%s`, workResult, q.resultFile()),
	}
	done := strings.Count(string(q.body), result)
	if done >= len(steps) {
		return ""
	}
	return steps[done]
}

// writesFile says whether the next call is to be of the agent's tool for files.
func (q question) writesFile(result string) bool {
	return q.behaviour == worksTools && strings.Count(string(q.body), result) == 3
}

// patch is a command that Codex takes for a call of its tool for files.
func (q question) patch() string {
	return fmt.Sprintf("apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: %s\n+%s\n*** End Patch\nEOF", q.resultFile(), workResult)
}
