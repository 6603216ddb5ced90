package engine

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"stint/internal/fleet"
)

// houseTime is how long a fire may take for what no session has to wait for; its unit has a quarter of an hour for all.
const houseTime = 5 * time.Minute

// keepHouse does what no session has to wait for, within houseTime. The next fire does the rest, and goes by what this
// one found out: grades that were corrected, and tasks that are open again.
//
// A crash splits it at: Store.NoticeDue, Store.AddFates, Sources.Call, Store.SeeTasks, Store.SaveFeedback, Repo.Tidy,
// Folders.Sweep and Store.Forget. The sessions go on, and the next fire finds what is left to do. A notice may be lost.
func (e *Engine) keepHouse(ctx context.Context, v sight) {
	ctx, cancel := context.WithTimeout(ctx, houseTime)
	defer cancel()
	over := e.isOver(ctx)
	for _, chore := range []struct {
		undone string // what its error means
		do     func() error
	}{
		{"", func() error { e.notifyFire(ctx, v); return nil }},
		{"not all is known of what became of sessions' work", func() error { return e.seeFates(ctx) }},
		{"trackers not updated", func() error { return e.payAll(ctx) }},
		{"feedback not asked for", func() error { return e.hear(ctx) }},
		{"not every clone could be looked at", func() error { return e.Repo.Tidy(ctx, over) }},
		{"not every run's folder could be removed", func() error { return e.sweep(ctx, over) }},
		{"what is older than [keep] record was not deleted", func() error { return e.forget(ctx) }},
	} {
		if ctx.Err() != nil {
			e.Log.WarnContext(ctx, "the next fire does the rest of the housework", slog.Any("err", ctx.Err()))
			return
		}
		if err := chore.do(); err != nil {
			e.Log.WarnContext(ctx, "housework left", slog.String("reason", chore.undone), slog.Any("err", err))
		}
	}
}

// notifyFire tells people what they have to know of what a fire saw.
func (e *Engine) notifyFire(ctx context.Context, v sight) {
	// If the store has lost what it had acknowledged, the first machine that fires says so, once.
	if l := v.Snapshot.Lineage; l.Reason() != "" && v.Now.Sub(l.Since) < day {
		e.notify(ctx, fleet.Notice{Event: fleet.EventWentBack, Reason: fmt.Sprintf("%s, at %s", l.Reason(), utc(l.Since)), At: v.Now})
	}
	for _, f := range v.Failed {
		e.notify(ctx, fleet.Notice{Event: fleet.EventSourceFailed, Source: f.Source, Reason: f.String(), At: e.Now()})
	}
	for _, reason := range e.Config.Untrusted() {
		e.Log.WarnContext(ctx, "held", slog.String("reason", reason))
		e.notify(ctx, fleet.Notice{Event: fleet.EventHeld, Reason: reason, At: e.Now()})
	}
	e.notifyLanes(ctx)
	e.notifySilence(ctx, v.waits)
	e.notifyTarget(ctx)
	for _, c := range slices.Sorted(maps.Keys(v.full)) {
		e.notify(ctx, fleet.Notice{Event: fleet.EventWIPFull, Category: c, Reason: v.full[c], At: e.Now()})
	}
}

// sweep removes the oldest of the folders of runs that are over. Folders that the record does not know stay.
func (e *Engine) sweep(ctx context.Context, over func(fleet.RunID) bool) error {
	removed, err := e.Folders.Sweep(over)
	if removed > 0 {
		e.Log.InfoContext(ctx, "folders of old runs removed", slog.String("reason", fmt.Sprintf("[keep] files: %d of them", removed)))
	}
	return err
}
