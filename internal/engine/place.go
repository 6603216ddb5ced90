package engine

import (
	"context"
	"log/slog"

	"stint/internal/survey"
)

// lookAtReview finds out what waits for review, and takes it into the places there: work that
// somebody decided about gives its place back, as does a run that crashed and left nothing, and
// work without a place takes one. A dry run writes nothing.
//
// If we die before the write, the next fire makes it; until then more places count as taken than
// are, and work without a place is listed all the same.
func (e *Engine) lookAtReview(ctx context.Context, dryRun bool) (w survey.InReview, err error) {
	w, err = e.InReview(ctx)
	sights := e.Sights(ctx, w)
	if err != nil || dryRun || len(sights) == 0 {
		return w, err
	}
	if err := e.Store.SeePlaces(ctx, w.At, sights); err != nil {
		e.Log.WarnContext(ctx, "places in review not noted", slog.Any("err", err))
		return w, nil
	}
	w.Taken, _, err = e.Store.Places(ctx)
	return w, err
}
