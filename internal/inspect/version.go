package inspect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"stint/internal/store"
)

// stir is how often what runs counts as changed by itself: its tokens, and how long it took,
// are in no store.
const stir = 20 * time.Second

// Version names the state of all that a page can show, and changes with it. It is cheap at any age of the
// record: it reads all that is open or learnt, and the last of the rest.
func (e *Explainer) Version(ctx context.Context, now time.Time) string {
	if e.Store == nil {
		return "nothing"
	}
	var state struct {
		store.Snapshot
		Fires, Runs any
		Lapsed      int
		Stir        int64
	}
	var err [3]error
	state.Snapshot, err[0] = e.Store.Snapshot(ctx)
	state.Fires, err[1] = e.Store.LastFires(ctx, store.FireQuery{Brief: true, Limit: 1})
	state.Runs, err[2] = e.Store.LastRuns(ctx, store.RunQuery{Limit: 1})
	state.Lapsed = lapsed(state.Snapshot, now)
	if len(state.Open) > 0 {
		state.Stir = now.Unix() / int64(stir.Seconds())
	}
	for _, err := range err {
		if err != nil {
			return "unknown"
		}
	}
	text, jsonErr := json.Marshal(state)
	if jsonErr != nil {
		return "unknown"
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// lapsed counts what ended by the clock alone: nothing of it changes in the store.
func lapsed(s store.Snapshot, now time.Time) (n int) {
	over := func(at time.Time) {
		if !at.IsZero() && !at.After(now) {
			n++
		}
	}
	for _, c := range s.Claims {
		over(c.ExpiresAt)
	}
	for _, p := range s.Pauses {
		over(p.Until)
	}
	for _, a := range s.Agents {
		over(a.Until)
	}
	return n
}
