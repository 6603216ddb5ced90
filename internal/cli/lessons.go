package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stint/internal/fleet"
	"stint/internal/inspect"
	"stint/internal/survey"
)

func newLessons(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "lessons",
		Short: "List the lessons and their effect on the grades",
		Long: `List the lessons: Markdown files in the lessons folder that go into the prompts of the
sessions they match. "stint help lessons" explains the columns.

A matching lesson is left out of one session in five at random (lessons.withhold), and
EFFECT is the difference in grades, shrunk towards zero when there is little data, with its
95% interval. SHOWS-0.05 and SHOWS-0.10 are how many more graded sessions are needed to
show an effect of that size; a lesson with just that effect then shows it in half of the
cases. WITH and WITHOUT count graded sessions. EMPTY and FAILED count, with and without the
lesson, the sessions that found nothing to do and those that failed. EXPOSURE is the share
of the graded sessions behind the ranking that received the lesson.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runLessons(cmd.Context())
		},
	}
}

const lessonColumns = "LESSON EFFECT 95% SHOWS-0.05 SHOWS-0.10 WITH WITHOUT EMPTY FAILED EXPOSURE"

// lessonObject is what is known of one lesson. Effects are in units of grade.
type lessonObject struct {
	ID       fleet.LessonID             `json:"id"`
	Version  string                     `json:"version"` // a hash of its text
	Active   bool                       `json:"active"`  // there is a file of it
	Edited   bool                       `json:"edited"`  // there is a file of it with another text
	Effect   float64                    `json:"effect"`
	Low      float64                    `json:"low"` // the 95 % interval
	High     float64                    `json:"high"`
	Known    bool                       `json:"known"`   // the interval leaves out zero
	Raw      float64                    `json:"raw"`     // the difference as observed
	With     int                        `json:"with"`    // graded sessions that got it
	Without  int                        `json:"without"` // graded sessions from which it was withheld
	Empty    armCounts                  `json:"empty"`   // sessions that found nothing to do
	Failed   armCounts                  `json:"failed"`  // sessions that failed
	Missing  []missing                  `json:"missing"`
	Exposure map[fleet.Category]float64 `json:"exposure"`
}

// armCounts are sessions of the two arms of a trial.
type armCounts struct {
	With    int `json:"with"`
	Without int `json:"without"`
}

func (c armCounts) String() string { return fmt.Sprintf("%d/%d", c.With, c.Without) }

// missing is how many more graded sessions it takes to show an effect.
type missing struct {
	Effect   float64 `json:"effect"`
	Sessions *int    `json:"sessions"` // null: it is never withheld
}

func (a *app) runLessons(ctx context.Context) error {
	return a.explain(ctx, func(e *inspect.Explainer) error {
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
			o := lessonObject{
				ID: l.ID, Version: l.Version, Active: l.Active, Edited: l.Edited,
				Effect: l.Effect.Mean, Low: low, High: high, Known: l.Effect.Known(), Raw: l.Effect.Raw,
				With: l.With.Graded, Without: l.Without.Graded,
				Empty: armCounts{l.With.Empty, l.Without.Empty}, Failed: armCounts{l.With.Failed, l.Without.Failed},
				Exposure: exposure,
			}
			for i, size := range survey.EffectSizes() {
				m := missing{Effect: size}
				if n := l.Missing[i]; n >= 0 {
					m.Sessions = &n
				}
				o.Missing = append(o.Missing, m)
			}
			objects = append(objects, o)
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
		rows := [][]string{fields(lessonColumns)}
		for _, o := range objects {
			rows = append(rows, lessonRow(o))
		}
		a.table(rows)
		return nil
	})
}

func lessonRow(o lessonObject) []string {
	name, effect, interval := string(o.ID), "-", "-"
	switch {
	case o.Edited:
		name += " (before an edit)"
	case !o.Active:
		name += " (gone)"
	}
	if o.With > 0 && o.Without > 0 {
		effect, interval = "unknown", fmt.Sprintf("%+.2f to %+.2f", o.Low, o.High)
		if o.Known {
			effect = fmt.Sprintf("%+.3f", o.Effect)
		}
	}
	row := []string{name, effect, interval}
	for _, m := range o.Missing {
		switch {
		case !o.Active || m.Sessions == nil:
			row = append(row, "-")
		case *m.Sessions == 0:
			row = append(row, "now")
		default:
			row = append(row, fmt.Sprintf("%d more", *m.Sessions))
		}
	}
	var exposure []string
	for _, c := range slices.Sorted(maps.Keys(o.Exposure)) {
		exposure = append(exposure, fmt.Sprintf("%s %.2f", c, o.Exposure[c]))
	}
	return append(row, fmt.Sprint(o.With), fmt.Sprint(o.Without), o.Empty.String(), o.Failed.String(), dash(strings.Join(exposure, ", ")))
}
