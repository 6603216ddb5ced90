package inspect

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/store"
)

// RunDetail is all that is known of one run.
type RunDetail struct {
	fleet.RunStatus
	Choice    *fleet.Choice       // what its fire decided about its category; nil: no fire planned it
	Denials   []fleet.DeniedClaim // oldest first
	Lessons   []fleet.LessonUse
	Dir       string         // the run's own work tree; empty: it has none, or it was removed
	Leftovers string         // that its branch does not have, and where; empty: none
	Files     fleet.RunFiles // which may not be there
	Swept     string         // why they are not there any more; empty: nobody removed them
	Resume    string         // the command by which a person opens its conversation; empty: none does
	Own       []string       // files in which the agent itself keeps the session, see [survey.Fleet.OwnFiles]
}

// RunDetail reads one run; one that does not exist wraps [fleet.ErrNotFound].
func (e *Explainer) RunDetail(ctx context.Context, id fleet.RunID) (d RunDetail, err error) {
	r, err := e.Run(ctx, id)
	if err != nil {
		return d, err
	}
	d.RunStatus, d.Files = e.Describe(ctx, r, nil), fleet.FilesOf(e.Config.State, id)
	if s, err := e.ReadLog(r, maxHead); err == nil && !r.StartedAt.IsZero() { // without a log, it printed nothing
		d.Conversation.ID = cmp.Or(d.Conversation.ID, s.SessionID)
		d.Own = e.OwnFiles(r, s.SessionID)
	}
	d.Resume = e.byHand(d.Run)
	if e.Swept(r) {
		d.Swept = reasonSwept
	}
	if d.Denials, err = e.Store.LastDenials(ctx, store.DenialQuery{Run: id, Limit: maxDenials}); err != nil {
		return d, err
	}
	slices.Reverse(d.Denials)
	if d.Lessons, err = e.Store.LessonUses(ctx, id); err != nil || r.Fire == 0 {
		return d, err
	}
	f, err := e.Store.Fire(ctx, r.Fire)
	for i := range f.Choices {
		if f.Choices[i].Run == id {
			d.Choice = &f.Choices[i]
		}
	}
	return d, err
}

const (
	// maxHead bounds the part of a log that is read for the session's name, in bytes: agents print it
	// first.
	maxHead = 64 << 10
	// reasonSwept says why a run has no files any more.
	reasonSwept = "its files were removed, as those of old runs are: [keep] files says when"
)

// byHand is the command by which a person opens the conversation of a run: where the run was, which its program goes by.
func (e *Explainer) byHand(r fleet.Run) string {
	agent := e.Config.Agents[r.Agent]
	if len(agent.Command) == 0 || agent.Prompt == fleet.PromptACP || e.Here.OnOtherHost(r.Location) {
		return ""
	}
	argv := agent.CLI.Resuming(agent.Command[:1], r.Conversation.ID)
	if argv == nil {
		return ""
	}
	dir, words := e.Config.Workspace, []string{"cd"}
	if r.Branch != "" {
		dir, words = filepath.Join(e.Config.State, "clones", string(r.Home())), []string{"mkdir -p", "", "&& cd"}
		words[1] = fleet.ShellWord(dir) // it is gone, as a rule
	}
	words = append(words, fleet.ShellWord(dir), "&&")
	for _, f := range agent.CLI.Folders {
		if at := agent.Environment[f.Variable]; f.Variable != "" && at != "" {
			words = append(words, f.Variable+"="+fleet.ShellWord(at))
		}
	}
	return strings.Join(append(words, plain.Each(argv, fleet.ShellWord)...), " ")
}

// maxDenials bounds the denials of a run that are shown: a worker collects fewer.
const maxDenials = 100
