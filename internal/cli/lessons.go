package cli

import (
	"context"

	"github.com/spf13/cobra"

	"stint/internal/view"
)

func newLessons(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "lessons",
		Short: "List the lessons and their effect on the grades",
		Long: `List the lessons: Markdown files in the lessons folder that go into the prompts of the
sessions they match. A matching lesson is left out of one session in five at random.

EFFECT is the difference in grades, and 95% its interval: while that holds zero, nothing is
known. WITH and WITHOUT count graded sessions, EMPTY and FAILED those that found nothing to do
or failed.`,
		RunE: a.open(reading, func(ctx context.Context, f opened, _ []string) error {
			effects, err := f.LessonEffects(ctx)
			return show(a, view.Lessons().JSON(effects), view.Lesson(), effects, err, "no lessons in "+f.Config.Lessons.Dir)
		}),
	}
}
