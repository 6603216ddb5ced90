package survey

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stint/internal/agent/grade"
	"stint/internal/agent/preset"
	"stint/internal/agent/transcript"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/store"
)

// OpenRuns are those that have not ended, with how they do.
func (f *Reader) OpenRuns(v View) []fleet.RunStatus {
	return plain.Each(v.Snapshot.Open, func(r fleet.Run) fleet.RunStatus { return f.UnderWay(r, v.Live[r.ID], v.Now) })
}

// UnderWay is a run that has not ended, with how it does.
func (f *Reader) UnderWay(r fleet.Run, live bool, now time.Time) fleet.RunStatus {
	suspended := live && !r.StartedAt.IsZero() && !f.Here.OnOtherHost(r.Location) && f.Sessions.Suspended(r)
	return fleet.RunStatus{
		Run: r, State: r.State(live, suspended, now), Timeout: f.Config.Categories[r.Category].Timeout, Tokens: f.usedSoFar(r), RunHost: f.whereabouts(r, now),
	}
}

// Runs are the latest runs, newest first, with how they do.
func (f *Reader) Runs(ctx context.Context, q store.RunQuery) (list []fleet.RunStatus, err error) {
	runs, err := f.Record().LastRuns(ctx, q)
	for _, r := range runs {
		list = append(list, f.Describe(ctx, r, nil))
	}
	return list, err
}

// Describe is a run with how it does: as among those that were just looked at, or else now.
func (f *Reader) Describe(ctx context.Context, r fleet.Run, looked []fleet.RunStatus) fleet.RunStatus {
	if i := slices.IndexFunc(looked, func(o fleet.RunStatus) bool { return o.ID == r.ID }); i >= 0 {
		return looked[i]
	}
	f.askHosts(ctx)
	now := f.Now()
	if !r.EndedAt.IsZero() {
		return fleet.RunStatus{Run: r, State: fleet.RunEnded, RunHost: f.whereabouts(r, now)}
	}
	return f.UnderWay(r, f.Live(ctx, r, now), now)
}

// maxRead bounds the part of a log that is read for a session's usage so far, in bytes: people ask for
// a status often, and must not wait.
const maxRead = 1 << 20

// usedSoFar returns the tokens that an open run's agent has reported; nil if it
// reports none, or prints too much to be read at every look.
func (f *Reader) usedSoFar(r fleet.Run) *int64 {
	log := fleet.FilesOf(f.Config.State, r.ID).Log
	if info, err := os.Stat(log); err != nil || info.Size() == 0 || info.Size() > maxRead {
		return nil
	}
	t, err := f.Transcript(r.Agent, log)
	if err != nil || t == nil {
		return nil
	}
	return t.Usage.Tokens
}

// FaultOf is a fault with what a person needs to know of it: what happened, what fixes it,
// and the agent's own words.
func FaultOf(c preset.CLI, f transcript.Fault) *grade.Fault {
	text := c.Login.Advise(f.Kind, f.Text).Sentence()
	if f.Text != "" {
		text += fmt.Sprintf(" (it said: %s)", f.Text)
	}
	return &grade.Fault{Kind: f.Kind, Text: text}
}

// Transcript reads what an agent printed; nil where that says nothing.
func (f *Reader) Transcript(agent, log string) (*grade.Transcript, error) {
	a := f.Config.Agents[agent]
	file, err := f.Agents.Open(log)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	s, err := transcript.Read(a.CLI, file, f.Now())
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	if s.Events == 0 && s.Quota == nil && s.Fault == nil {
		return nil, nil // it is no transcript: nothing is known of what the agent did
	}
	t := &grade.Transcript{
		Success: s.Success, ToolCalls: s.ToolCalls, ToolErrors: s.ToolErrors, Retries: s.Retries,
		Usage: fleet.Usage{USD: s.CostUSD}, Err: s.Err,
	}
	if total := s.Tokens.Total(); total > 0 {
		t.Usage.Tokens = &total
	}
	if q := s.Quota; q != nil {
		t.Limit = &grade.UsageLimit{Throttled: q.Kind == transcript.Throttled, ResetAt: q.ResetAt, RetryAfter: q.RetryAfter, Text: q.Text}
	}
	if s.Fault != nil {
		t.Fault = FaultOf(a.CLI, *s.Fault)
	}
	return t, nil
}

// maxOwn bounds how many files are shown as an agent's own log.
const maxOwn = 5

func writtenDuring(file string, r fleet.Run) bool {
	info, err := os.Stat(file)
	return err == nil && info.ModTime().After(r.StartedAt) && (r.EndedAt.IsZero() || info.ModTime().Before(r.EndedAt))
}

// ReadLog reads the beginning of what a run's agent printed.
func (f *Reader) ReadLog(r fleet.Run, most int64) (transcript.Summary, error) {
	file, err := f.Agents.Open(fleet.FilesOf(f.Config.State, r.ID).Log)
	if err != nil {
		return transcript.Summary{}, err
	}
	defer file.Close()
	return transcript.Read(f.Config.Agents[r.Agent].CLI, io.LimitReader(file, most), f.Now())
}

// OwnFiles are the files in which an agent itself keeps a session. The agent names them at the
// beginning of its output; where it does not, they are all files that were written there while
// the session ran, by its neighbours, too.
func (f *Reader) OwnFiles(r fleet.Run, session string) (list []string) {
	a := f.Config.Agents[r.Agent]
	environment := a.Passed(f.Getenv)
	files, err := filepath.Glob(a.CLI.SessionGlob(func(name string) string { return fleet.Variable(environment, name) }, session))
	if err != nil {
		return nil // a pattern that is none, which says nothing of the run
	}
	for _, file := range files {
		if len(list) < maxOwn && (session != "" || writtenDuring(file, r)) {
			list = append(list, file)
		}
	}
	return list
}

const (
	// maxSearched bounds the search among a category's last runs for one under way, and among
	// the runs whose ids begin alike.
	maxSearched = 20
	// maxListed bounds the runs that an error names.
	maxListed = 5
)

// ResolveRun finds the run that a person means. A run's id may be cut to a beginning that no
// other has; those that are also known count, though they are on no record. A category's name
// stands for its run under way on a host, by the host's identity unless any will do; else for
// its last run that came to work, else for its last run. If there is no such run, the error
// wraps [fleet.ErrNotFound]; if there are several, it lists them and wraps [fleet.ErrUsage].
func (f *Reader) ResolveRun(ctx context.Context, name, host string, also ...fleet.RunID) (fleet.Run, error) {
	q := store.RunQuery{Category: fleet.Category(name), Host: host, Limit: maxSearched}
	_, category := f.Config.Categories[q.Category]
	if !category {
		id, err := fleet.ParseRunID(name)
		if err != nil {
			return fleet.Run{}, fmt.Errorf("%w, or a category of %s: %w", err, f.Config.Path, fleet.ErrNotFound)
		}
		q = store.RunQuery{Prefix: id, Limit: maxSearched}
	}
	runs, err := f.Record().LastRuns(ctx, q)
	if err != nil {
		return fleet.Run{}, err
	}
	if !category {
		return oneRun(name, runs, also)
	}
	if len(runs) == 0 {
		return fleet.Run{}, fmt.Errorf("run of category %s: %w", name, fleet.ErrNotFound)
	}
	at := slices.IndexFunc(runs, func(r fleet.Run) bool { return r.EndedAt.IsZero() && !r.StartedAt.IsZero() })
	if at < 0 {
		at = slices.IndexFunc(runs, func(r fleet.Run) bool { return r.Key != "" })
	}
	return runs[max(at, 0)], nil
}

// oneRun is the only run whose id begins with prefix, or the one that has it as its id.
func oneRun(prefix string, runs []fleet.Run, also []fleet.RunID) (fleet.Run, error) {
	for _, id := range also {
		known := slices.ContainsFunc(runs, func(r fleet.Run) bool { return r.ID == id })
		if !known && strings.HasPrefix(string(id), prefix) {
			runs = append(runs, fleet.Run{ID: id})
		}
	}
	if len(runs) == 0 {
		return fleet.Run{}, fmt.Errorf("run %s: %w", prefix, fleet.ErrNotFound)
	}
	at := slices.IndexFunc(runs, func(r fleet.Run) bool { return len(runs) == 1 || string(r.ID) == prefix })
	if at >= 0 {
		return runs[at], nil
	}
	list := plain.Each(runs[:min(len(runs), maxListed)], func(r fleet.Run) string {
		return strings.Join(strings.Fields(fmt.Sprint(r.ID, " ", r.Category, " ", r.Task)), " ")
	})
	if len(runs) > maxListed {
		list = append(list, "and more")
	}
	return fleet.Run{}, fmt.Errorf("run %s: several ids begin so: %s: %w", prefix, strings.Join(list, ", "), fleet.ErrUsage)
}
