package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"stint/internal/explain/inspect"
	"stint/internal/explain/why"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/rank"
	"stint/internal/screen"
	"stint/internal/view"
)

func newWhy(a *app) *cobra.Command {
	explain := false
	cmd := &cobra.Command{
		Use:   "why TASK|CATEGORY|FIRE|RUN",
		Short: "Explain a fire, run, category or task in sentences",
		Long: `Explain in sentences, from the record and the present state:

  a fire      (its number, or "last") why each category was started or skipped
  a run       why it was started, took its task, got its grade, and was followed or not
  a category  whether the next fire would start it, and what is in its way
  a task      whether a session would take it, what is in its way, and what was tried

For each obstacle it says what would have to change, with a command if there is one. A name
of several things means the first of fire, run, category and task; --fire,
--run, --category and --task choose.`,
		Example: `  stint why last
  stint why code
  stint why --task code`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, q := cmd.Context(), inspect.WhyQuestion{Name: args[0], Detail: rank.Detail(explain || a.json)}
			for _, kind := range why.Kinds() {
				if asked, _ := cmd.Flags().GetBool(string(kind)); asked { // an error is of an unknown flag alone
					q.Kind = kind
				}
			}
			return a.with(ctx, reading|record, func(f opened) error {
				answer, also, err := f.Why(ctx, q)
				if err != nil {
					return err
				}
				facts, err := a.factsOf(ctx, f, answer)
				if err != nil {
					return err
				}
				a.say(view.Why(also).JSON(answer), func(s screen.Style) []string {
					if facts != nil { // which begin with what leads the answer
						answer.Lead = nil
						return append(screen.Run(*facts, s), screen.Why(answer, s)...)
					}
					return screen.Why(answer, s)
				})
				for _, kind := range also {
					a.hint(fmt.Sprintf("this is of the %s; there is a %s of the name, too: stint why --%s %s", answer.Kind, kind, kind, q.Name))
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&explain, "explain", false, "also show what each score of a ranking was computed from")
	for _, kind := range why.Kinds() {
		cmd.Flags().Bool(string(kind), false, "take the name for a "+string(kind)+"'s")
	}
	cmd.MarkFlagsMutuallyExclusive(plain.Each(why.Kinds(), func(k why.Kind) string { return string(k) })...)
	return cmd
}

// factsOf returns what "stint show" says of the answer's run, without its prompt and
// log; nil: it is about no run.
func (a *app) factsOf(ctx context.Context, e opened, answer why.Answer) (*screen.RunView, error) {
	if answer.Kind != why.OfRun || a.json {
		return nil, nil
	}
	d, err := e.RunDetail(ctx, fleet.RunID(answer.Subject))
	return &screen.RunView{RunDetail: d, At: a.Now()}, err
}
