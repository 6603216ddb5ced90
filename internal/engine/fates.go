package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"

	"stint/internal/fleet"
	"stint/internal/grade"
	"stint/internal/review"
)

// mostWatched bounds of how many runs a fire looks what became of their work, the latest first.
const mostWatched = 500

// seeFates finds out what became of the work of earlier sessions, and corrects their grades.
func (e *Engine) seeFates(ctx context.Context) error {
	now := e.Now()
	runs, err := e.Store.Watched(ctx, now.Add(-grade.WatchTime), now.Add(-grade.FateTime), mostWatched)
	if err != nil || len(runs) == 0 {
		return err
	}
	fates, err := e.fates(ctx, runs)
	return errors.Join(err, e.recordFates(ctx, news(runs, fates)))
}

// news are the fates that are not on record.
func news(runs []fleet.Run, list []fleet.Fate) []fleet.Fate {
	known := map[fleet.RunID][]fleet.Fate{}
	for _, r := range runs {
		known[r.ID] = r.Fates
	}
	return slices.DeleteFunc(list, func(f fleet.Fate) bool {
		return slices.ContainsFunc(known[f.Run], func(k fleet.Fate) bool { return k.Kind == f.Kind && k.Witness == f.Witness })
	})
}

// fates is what became of the work of runs, by people's word and by git.
func (e *Engine) fates(ctx context.Context, runs []fleet.Run) (list []fleet.Fate, err error) {
	var ids []fleet.RunID
	for _, r := range runs {
		ids = append(ids, r.ID, r.Home())
	}
	reviews, err := e.Store.Reviews(ctx, ids...)
	for _, run := range runs {
		if r := reviews[run.ID]; r.Decision == fleet.DecisionRejected {
			list = append(list, fleet.Fate{Run: r.Run, At: r.DecidedAt, Kind: fleet.FateRejected, Witness: r.By, Reason: r.Reason})
		}
	}
	err = errors.Join(err, e.askForge(ctx, runs, reviews, &list))
	if e.Work == nil {
		return list, err
	}
	var watched []review.Watched
	for _, r := range runs {
		passed := slices.ContainsFunc(list, func(f fleet.Fate) bool { return f.Run == r.ID && f.Kind.Landed() })
		passed = passed || reviews[r.ID].Passed() || reviews[r.Home()].Passed() || !e.Config.Room(r.Category).Takes
		watched = append(watched, review.Watched{Run: r.ID, Branch: r.Branch, Commits: r.Commits, Known: r.Fates, Reviewed: passed})
	}
	found, lost := e.Work.Fates(ctx, watched)
	return append(list, found...), errors.Join(err, lost)
}

// askForge adds what the forge says became of the work on branches.
func (e *Engine) askForge(ctx context.Context, runs []fleet.Run, reviews map[fleet.RunID]fleet.Review, list *[]fleet.Fate) error {
	var asked []review.Asked
	for _, r := range runs {
		if r.Branch != "" {
			asked = append(asked, review.Asked{Run: r.ID, Branch: r.Branch, Commits: r.Commits, URL: reviews[r.ID].URL, EndedAt: r.EndedAt.UTC()})
		}
	}
	if e.Forge == nil || len(asked) == 0 {
		return nil
	}
	question, err := json.Marshal(asked)
	if err != nil {
		return err
	}
	answer, err := e.Forge.Ask(ctx, question)
	if err != nil {
		return fmt.Errorf("%s: %w", review.ByForge, err)
	}
	fates, problems, err := review.ParseAnswer(answer, asked, e.Now())
	for _, p := range problems {
		e.Log.WarnContext(ctx, "what a forge says is left out", slog.String("reason", review.ByForge+": "+p))
	}
	*list = append(*list, fates...)
	if err != nil {
		return fmt.Errorf("%s: %w", review.ByForge, err)
	}
	return nil
}

// recordFates records what became of work.
//
// If we die before it, the next fire finds the same. If we die after it, it is known.
func (e *Engine) recordFates(ctx context.Context, list []fleet.Fate) error {
	if len(list) == 0 {
		return nil
	}
	added, err := e.Store.AddFates(ctx, list)
	for _, f := range added {
		reason := string(f.Kind)
		if f.Reason != "" {
			reason += ": " + f.Reason
		}
		if f.Grade != nil {
			reason += "; its grade is " + strconv.FormatFloat(*f.Grade, 'g', -1, 64)
		}
		e.Log.InfoContext(ctx, "something became of a session's work", slog.String("run_id", string(f.Run)), slog.String("reason", reason))
	}
	return err
}
