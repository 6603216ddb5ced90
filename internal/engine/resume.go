package engine

import (
	"cmp"
	"context"
	"log/slog"

	"stint/internal/config"
	"stint/internal/fleet"
)

// conversation decides which one the run has, and finds the session that it goes on with, if it does, among those that ended at
// its task, the latest first.
func (w *worker) conversation(ctx context.Context, c config.Category, list []fleet.Run) (cut fleet.Run, has fleet.Conversation, err error) {
	s := fleet.Resumption{Agent: w.run.Agent, Category: w.run.Category, Host: w.run.Host, Own: c.OwnClone, Goes: w.asks.Run}
	for _, r := range list {
		idle := r.Key == "" || r.Verdict.Internal || r.Conversation.ID == "" && r.Cut() != "" && len(r.Commits) == 0 // no agent came to work
		if n := len(s.Chain); n == 0 && !idle || n > 0 && s.Chain[n-1].Conversation.Resumes == r.ID {
			s.Chain = append(s.Chain, r)
		}
	}
	if len(s.Chain) == 0 || s.Chain[0].Conversation.ID == "" {
		return cut, has, nil
	}
	last := s.Chain[0]
	s.Able = w.Config.Agents[w.run.Agent].Resuming(last.Conversation.ID) != nil
	s.Lives = !w.Here.OnOtherHost(last.Location) && w.Liveness(ctx, last) != fleet.Gone
	reviews, err := w.Store.Reviews(ctx, last.Home())
	s.Decided = reviews[last.Home()].Decision
	if err == nil && c.OwnClone && last.Cut() == "" {
		var left map[fleet.RunID]string
		left, err = w.Work.Leftovers(ctx)
		s.Left = left[last.Home()] != ""
	}
	if has.Resumes, has.Why = s.Decide(); err == nil && has.Resumes != "" {
		cut, has.ID = last, last.Conversation.ID
	}
	return cut, has, err
}

// resume puts on record, with the branch, which conversation the run goes on with, before the folder is made: from then on nobody
// tidies up there.
//
// If we die after that, the run is one that went on with the conversation, and so is the next.
func (w *worker) resume(ctx context.Context, c config.Category, ended []fleet.Run) fleet.Run {
	cut, has, err := w.conversation(ctx, c, ended)
	if err == nil && cut.ID != "" {
		w.run.Conversation, w.run.Branch = has, cmp.Or(cut.Branch, w.run.Branch)
		err = w.onRecord(ctx)
	}
	switch {
	case err != nil:
		w.newConversation(ctx, err.Error())
		return fleet.Run{}
	case cut.ID != "":
		w.Log.InfoContext(ctx, "goes on with a conversation", w.attrs(slog.String("reason", has.Why))...)
	case has.Why != "":
		w.newConversation(ctx, has.Why)
	}
	return cut
}

// placeOf is the place of a session that goes on with the conversation of another: the same path, by which its program finds
// it, and by which the conversation names files.
func (w *worker) placeOf(p fleet.Place, cut fleet.Run) fleet.Place {
	if p.Own && cut.ID != "" {
		p.Continues, p.Since = cut.Home(), cut.EndedAt
	}
	return p
}

// newConversation has the run begin a new conversation, and says why.
func (w *worker) newConversation(ctx context.Context, why string) {
	w.run.Conversation = fleet.Conversation{Why: why}
	if err := w.onRecord(ctx); err != nil {
		w.Log.WarnContext(ctx, "conversation not recorded before the end", w.attrs(slog.Any("err", err))...)
	}
	w.Log.InfoContext(ctx, "begins a new conversation", w.attrs(slog.String("reason", why))...)
}

func (w *worker) onRecord(ctx context.Context) error {
	return w.Store.OnBranch(ctx, w.run.ID, w.run.Branch, w.run.Conversation)
}

// unknown reports whether an agent that was to go on with a conversation failed before its model answered, for no reason of its
// service or its login: it does not know the conversation.
func (w *worker) unknown(exit fleet.SessionExit) bool {
	s, err := w.ReadLog(w.run, maxOwnBytes)
	silent := s.Fault == nil || s.Fault.Kind == fleet.FaultSilent
	return err == nil && exit.End == fleet.Exited && exit.Status != 0 && !s.Answered && s.ToolCalls == 0 && s.Quota == nil && silent
}

// use finds out what the run used, and which conversation it was.
func (w *worker) use(ctx context.Context, said fleet.Usage) {
	var id string
	w.run.Usage, id = w.used(ctx, w.run, said)
	w.run.Conversation.ID = cmp.Or(id, w.run.Conversation.ID)
}
