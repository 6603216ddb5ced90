package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stint/internal/engine"
	"stint/internal/fleet"
)

func newLessons(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "lessons",
		Short: "List the lessons and what they do to the grades",
		Long: `List the lessons: files of Markdown in the lessons folder that go into the prompts of
the sessions they match, by category and tag.

By chance a session in five (lessons.withhold) does without a lesson that matches it, so
that the difference is the lesson's doing: EFFECT is the mean difference of the grades
within categories (Mantel-Haenszel), drawn towards none by how little is known, with its
95% interval. EXPOSURE is the part of the sessions behind the present ranking that had it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runLessons(cmd.Context())
		},
	}
}

// lessonObject is what is known of one lesson. Effects are in units of grade.
type lessonObject struct {
	ID       fleet.LessonID             `json:"id"`
	Active   bool                       `json:"active"` // there is a file of it
	Effect   float64                    `json:"effect"`
	Low      float64                    `json:"low"` // the 95 % interval
	High     float64                    `json:"high"`
	Raw      float64                    `json:"raw"`     // the difference as observed
	With     int                        `json:"with"`    // graded sessions that got it
	Without  int                        `json:"without"` // graded sessions from which it was withheld
	Exposure map[fleet.Category]float64 `json:"exposure"`
}

func (a *app) runLessons(ctx context.Context) error {
	return a.withEngine(ctx, reading, nil, func(e *engine.Engine) error {
		effects, err := e.LessonEffects(ctx)
		if err != nil {
			return err
		}
		objects := []lessonObject{}
		for _, l := range effects {
			low, high := l.Effect.Interval()
			exposure := l.Exposure
			if exposure == nil {
				exposure = map[fleet.Category]float64{}
			}
			objects = append(objects, lessonObject{
				l.ID, l.Active, l.Effect.Mean, low, high, l.Effect.Raw, l.With, l.Without, exposure,
			})
		}
		if a.json {
			printJSON(a.Stdout, struct {
				Schema  string         `json:"schema"`
				Lessons []lessonObject `json:"lessons"`
			}{"stint/lessons@1", objects})
			return nil
		}
		if len(objects) == 0 {
			fmt.Fprintf(a.Stderr, "stint: no lessons in %s\n", e.Config.Lessons.Dir)
			return nil
		}
		rows := [][]string{fields("LESSON EFFECT 95% WITH WITHOUT EXPOSURE")}
		for _, o := range objects {
			rows = append(rows, lessonRow(o))
		}
		a.table(rows)
		return nil
	})
}

func lessonRow(o lessonObject) []string {
	name, effect, interval := string(o.ID), "-", "-"
	if !o.Active {
		name += " (gone)"
	}
	if o.With > 0 && o.Without > 0 {
		effect, interval = fmt.Sprintf("%+.3f", o.Effect), fmt.Sprintf("%+.2f to %+.2f", o.Low, o.High)
	}
	var exposure []string
	for _, c := range slices.Sorted(maps.Keys(o.Exposure)) {
		exposure = append(exposure, fmt.Sprintf("%s %.2f", c, o.Exposure[c]))
	}
	return []string{name, effect, interval, fmt.Sprint(o.With), fmt.Sprint(o.Without), dash(strings.Join(exposure, ", "))}
}
