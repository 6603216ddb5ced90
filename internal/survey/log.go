package survey

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/grade"
	"stint/internal/transcript"
)

// FaultOf is a fault with what a person needs to know of it: what happened, what fixes it,
// and the agent's own words.
func FaultOf(format transcript.Format, f transcript.Fault) *grade.Fault {
	text := transcript.Advise(format, f.Kind, f.Text).Sentence()
	if f.Text != "" {
		text += fmt.Sprintf(" (it said: %s)", f.Text)
	}
	return &grade.Fault{Kind: f.Kind, Text: text}
}

// Transcript reads what an agent printed; nil where that says nothing.
func (f *Fleet) Transcript(agent, log string) (*grade.Transcript, error) {
	a := f.Config.Agents[agent]
	limits, err := transcript.ParseLimits(a.Quota)
	if err != nil {
		return nil, err
	}
	file, err := f.Agents.Open(log)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	s, err := transcript.Read(a.Transcript, file, transcript.Options{Now: f.Now(), Limits: limits})
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	if s.Events == 0 && s.Quota == nil && s.Fault == nil {
		return nil, nil // it is no transcript: nothing is known of what the agent did
	}
	t := &grade.Transcript{
		Success: s.Success, ToolCalls: s.ToolCalls, ToolErrors: s.ToolErrors, Retries: s.Retries,
		Usage: fleet.Usage{USD: s.CostUSD},
	}
	if total := s.Tokens.Total(); total > 0 {
		t.Usage.Tokens = &total
	}
	if q := s.Quota; q != nil {
		t.Limit = &grade.UsageLimit{Throttled: q.Kind == transcript.Throttled, ResetAt: q.ResetAt, RetryAfter: q.RetryAfter, Text: q.Text}
	}
	if s.Fault != nil {
		t.Fault = FaultOf(a.Transcript, *s.Fault)
	}
	return t, nil
}

// mostOwn bounds how many files are shown as an agent's own log.
const mostOwn = 5

func writtenDuring(file string, r fleet.Run) bool {
	info, err := os.Stat(file)
	return err == nil && info.ModTime().After(r.StartedAt) && (r.EndedAt.IsZero() || info.ModTime().Before(r.EndedAt))
}

// ReadLog reads the beginning of what a run's agent printed.
func (f *Fleet) ReadLog(r fleet.Run, most int64) (transcript.Summary, error) {
	file, err := f.Agents.Open(fleet.FilesOf(f.Config.State, r.ID).Log)
	if err != nil {
		return transcript.Summary{}, err
	}
	defer file.Close()
	return transcript.Read(f.Config.Agents[r.Agent].Transcript, io.LimitReader(file, most), transcript.Options{Now: f.Now()})
}

// OwnFiles are the files in which an agent itself keeps a session. The agent names them at the
// beginning of its output; where it does not, they are all files that were written there while
// the session ran, by its neighbours, too.
func (f *Fleet) OwnFiles(r fleet.Run, session string) (list []string) {
	a := f.Config.Agents[r.Agent]
	if a.SessionLog == "" {
		return nil
	}
	environment := a.Passed(f.Getenv)
	files, err := filepath.Glob(transcript.LogGlob(inOwnFolder(a, environment), fleet.Variable(environment, "HOME"), session))
	if err != nil {
		return nil // a pattern that is none, which says nothing of the run
	}
	for _, file := range files {
		if len(list) < mostOwn && (session != "" || writtenDuring(file, r)) {
			list = append(list, file)
		}
	}
	return list
}

// inOwnFolder is the pattern of an agent's own files, in the folder that its environment
// names for them, if it does.
func inOwnFolder(a config.Agent, environment []string) string {
	login, _ := config.PresetLogin(a.Preset)
	for _, f := range login.Files {
		rest, isThere := strings.CutPrefix(a.SessionLog, "~/"+f.Folder+"/")
		if folder := fleet.Variable(environment, f.Variable); isThere && folder != "" {
			return strings.TrimRight(folder, "/") + "/" + rest
		}
	}
	return a.SessionLog
}
