package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"stint/internal/config"
	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/install"
	"stint/internal/plain"
	"stint/internal/view"
)

func newRun(a *app) *cobra.Command {
	var (
		o   engine.RunOptions
		run string
	)
	cmd := a.dry(&cobra.Command{
		Use:   "run (--run ID | --category C)",
		Short: "Run one session: lane, claim, agent, grade",
		Long: `Run one session: take the category's lane (busy: status 75), pick a task, claim
it, run the agent, grade the result, record it, and release claim and lane.

A unit that a fire started runs "stint run --run ID". By hand, name a category and,
if you like, a task and an agent. "stint help agents" says what an agent is given, what it may
say of its work in $STINT_RESULT, and how it is graded. The agent's exit status is stored, not
returned.`,
		Example: `  stint run --category code --dry-run
  stint run --category code --task fix-login`,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if run != "" {
				if o.Run, err = fleet.ParseRunID(run); err != nil {
					return usage(err)
				}
			}
			return a.runRun(cmd.Context(), o)
		},
	})
	f := cmd.Flags()
	f.StringVar(&run, "run", "", "the `RUN` that a fire planned")
	f.StringVar((*string)(&o.Category), "category", "", "the `CATEGORY` to work in")
	f.Var(taskFlag(&o.Task), "task", "the `TASK` to work on (default: the best one)")
	f.StringVar(&o.Agent, "agent", "", "the `AGENT` to run (default: the category's first)")
	cmd.MarkFlagsOneRequired("run", "category")
	for _, byHand := range []string{"category", "task", "agent", "dry-run"} {
		cmd.MarkFlagsMutuallyExclusive("run", byHand)
	}
	return cmd
}

func (a *app) runRun(ctx context.Context, o engine.RunOptions) (err error) {
	if o.Binary, err = install.Binary(); err != nil {
		return err
	}
	check := func(e *engine.Engine) error { return e.CheckRun(ctx, o) }
	if a.dryRun {
		return a.with(ctx, reading, func(f opened) error {
			p, err := f.Preview(ctx, o)
			if err != nil {
				return err
			}
			for i, entry := range p.Spec.Environment {
				name, value, _ := strings.Cut(entry, "=")
				p.Spec.Environment[i] = name + "=" + config.Mask(name, value)
			}
			a.printPreview(p)
			return nil
		}, check)
	}
	return a.with(ctx, writing, func(f opened) error {
		run, err := f.Engine.Run(ctx, o)
		switch ended := err == nil || errors.As(err, new(fleet.OutcomeError)); {
		case !ended, a.asObject(view.Run().JSON(fleet.RunStatus{Run: run})):
		case err == nil:
			fmt.Fprintln(a.Stdout, plain.Text(runLine(run)))
		}
		return err
	}, check)
}

// runLine is a run's end in one line.
func runLine(r fleet.Run) string {
	parts := []string{"run", string(r.ID), string(r.Category)}
	if r.Task != "" {
		parts = append(parts, string(r.Task))
	}
	return oneLine(parts) + ": " + verdictText(r.Verdict)
}

func verdictText(v fleet.Verdict) string {
	text := string(v.Outcome)
	if v.Grade != nil {
		text += fmt.Sprintf(" %.2f", *v.Grade)
	}
	if v.Reason != "" {
		text += " (" + v.Reason + ")"
	}
	return text
}

func (a *app) printPreview(p engine.Preview) {
	if a.asObject(previewObject().JSON(p)) {
		return
	}
	rows := [][]string{
		{"category:", string(p.Run.Category)},
		{"claim:", string(p.Run.Key)},
		{"agent:", p.Run.Agent},
		{"argv:", fmt.Sprintf("%q", p.Spec.Argv)},
		{"folder:", p.Spec.Dir},
	}
	switch has := p.Run.Conversation; {
	case has.ID != "":
		rows = append(rows, []string{"conversation:", "goes on with " + has.ID + ": " + has.Why})
	case has.Why != "":
		rows = append(rows, []string{"conversation:", "a new one: " + has.Why})
	}
	a.table(rows)
	fmt.Fprintf(a.Stdout, "environment:\n")
	for _, e := range p.Spec.Environment {
		fmt.Fprintf(a.Stdout, "  %q\n", e)
	}
	fmt.Fprintf(a.Stdout, "prompt (%s):\n%s", p.Spec.PromptMode, plain.Text(indent(p.Spec.Prompt)))
}

func indent(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString("  " + line)
	}
	return b.String()
}
