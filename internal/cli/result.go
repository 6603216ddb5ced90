package cli

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"stint/internal/agent/grade"
	"stint/internal/agent/rundir"
	"stint/internal/door"
	"stint/internal/fleet"
)

func newResult(a *app) *cobra.Command {
	var (
		r     grade.Result
		value float64
		state string
	)
	cmd := &cobra.Command{
		Use:   "result",
		Short: "Say how a session went, from inside it",
		Long: `Write the result file of the session in which this command runs. It replaces an earlier one.
Wrong values are refused. "stint help agents" explains each field.`,
		Example: `  stint result --outcome productive --grade 0.8 --reason "tests pass" --task-state done
  stint result --outcome nothing --reason "it was fixed already"`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("grade") {
				r.Grade = &value
			}
			if r.TaskState = state; r == (grade.Result{}) {
				return usage(errors.New("nothing was said: --outcome, --grade, --reason or --task-state"))
			}
			text, err := json.Marshal(r)
			if err != nil {
				return usage(fmt.Errorf("--grade: %w", err)) // NaN
			}
			answer, err := a.ask(cmd.Context(), door.Request{Verb: door.Result, Run: fleet.RunID(a.Getenv("STINT_RUN_ID")), Result: text})
			if err != nil {
				return err
			}
			a.sayLine(resultObject(answer.Path).JSON(r), "wrote "+answer.Path)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar((*string)(&r.Outcome), "outcome", "", "the `OUTCOME`: productive, noop, nothing, failed, quota or unavailable")
	f.Float64Var(&value, "grade", 0, "your own grade, a `NUMBER` from 0 to 1")
	f.StringVar(&r.Reason, "reason", "", "why: a line of `TEXT` for people")
	f.Var(textFlag(&state), "task-state", "the state in which you leave the task")
	return cmd
}

// putResult writes the result file of a session, if a session may say that.
func putResult(path string, q door.Request) (door.Answer, error) {
	if path == "" {
		return door.Answer{}, fleet.WithHint(usage(errors.New("this is no session: $STINT_RESULT is not set")), "stint help agents")
	}
	if _, err := grade.ParseResult(q.Result); err != nil {
		return door.Answer{}, fleet.WithHint(usage(fmt.Errorf("result: %w", err)), "stint result --help")
	}
	file, err := rundir.Make(path)
	if err != nil {
		return door.Answer{}, fmt.Errorf("write the result: %w", err)
	}
	_, err = file.WriteAt(q.Result, 0)
	return door.Answer{Path: path}, errors.Join(err, file.Truncate(int64(len(q.Result))), file.Close())
}
