package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stint/internal/inspect"
	"stint/internal/plain"
	"stint/internal/screen"
	"stint/internal/survey"
	"stint/internal/wire"
)

func newLessons(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "lessons",
		Short: "List the lessons and their effect on the grades",
		Long: `List the lessons: Markdown files in the lessons folder that go into the prompts of the
sessions they match. A matching lesson is left out of one session in five at random.

EFFECT is the difference in grades, and 95% its interval: while that holds zero, nothing is
known. SHOWS-0.05 and SHOWS-0.10 are how many more graded sessions show an effect of that size
in half of the cases. WITH and WITHOUT count graded sessions, EMPTY and FAILED those that found
nothing to do or failed. EXPOSURE is the share of the sessions behind the ranking with it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.explain(cmd.Context(), func(e *inspect.Explainer) error {
				effects, err := e.LessonEffects(cmd.Context())
				if err != nil || a.asObject(wire.NewLessons(effects)) {
					return err
				}
				if len(effects) == 0 {
					fmt.Fprintf(a.Stderr, "stint: no lessons in %s\n", e.Config.Lessons.Dir)
					return nil
				}
				a.table(append([][]string{strings.Fields(lessonColumns)}, plain.Each(effects, lessonRow)...))
				return nil
			})
		},
	}
}

const lessonColumns = "LESSON EFFECT 95% SHOWS-0.05 SHOWS-0.10 WITH WITHOUT EMPTY FAILED EXPOSURE"

func lessonRow(l survey.LessonEffect) []string {
	name, effect, interval := string(l.ID), "-", "-"
	switch {
	case l.Edited:
		name += " (before an edit)"
	case !l.Active:
		name += " (gone)"
	}
	if l.With.Graded > 0 && l.Without.Graded > 0 {
		low, high := l.Effect.Interval()
		effect, interval = "unknown", fmt.Sprintf("%+.2f to %+.2f", low, high)
		if l.Effect.Known() {
			effect = fmt.Sprintf("%+.3f", l.Effect.Mean)
		}
	}
	row := []string{name, effect, interval}
	for _, n := range l.Missing {
		switch {
		case !l.Active:
			row = append(row, "-")
		case n == 0:
			row = append(row, "now")
		default:
			row = append(row, fmt.Sprintf("%d more", n))
		}
	}
	var exposure []string
	for _, c := range slices.Sorted(maps.Keys(l.Exposure)) {
		exposure = append(exposure, fmt.Sprintf("%s %.2f", c, l.Exposure[c]))
	}
	return append(row, fmt.Sprint(l.With.Graded), fmt.Sprint(l.Without.Graded), fmt.Sprintf("%d/%d", l.With.Empty, l.Without.Empty),
		fmt.Sprintf("%d/%d", l.With.Failed, l.Without.Failed), screen.Dash(strings.Join(exposure, ", ")))
}
