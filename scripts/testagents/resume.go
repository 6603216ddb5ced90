package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	limits behaviour = "limit" // the service has no more room after one command, until the same conversation goes on
	leaves behaviour = "leave" // the model ends before it has committed that command's work, likewise
)

// goesOn reports whether the question is of a conversation that was cut off and goes on.
func (q question) goesOn() bool {
	return bytes.Contains(q.body, []byte("Go on with the work of this conversation"))
}

// limited reports whether there is no room for the question.
func (q question) limited(result string) bool {
	return q.behaviour == limits && !q.goesOn() && bytes.Contains(q.body, []byte(result))
}

// limitStep is the command of either half of that conversation, or "": it is over.
func (q question) limitStep() string {
	switch one, two := bytes.Contains(q.body, []byte("echo one")), bytes.Contains(q.body, []byte("echo two")); {
	case !one && !q.goesOn():
		return "echo one >left.txt"
	case one && !two && q.goesOn():
		return "echo two >>left.txt && git add left.txt && git commit --quiet --message=Work"
	}
	return ""
}

// shown is as much of stint/run-detail@1 as is looked at.
type shown struct {
	Conversation, Resumes, Resume string
	Tokens                        int64
	QuotaUntil                    time.Time `json:"quota_until"`
	Files                         struct{ Own []string }
}

// resumes plays a session that meets a limit, and the next, which goes on with its conversation.
func (s session) resumes(ctx context.Context) (faults []string, err error) {
	var runs []result
	var all []shown
	for len(runs) < 2 {
		r, err := s.run(ctx)
		if err != nil {
			return nil, err
		}
		var d shown
		text, err := s.command(ctx, "show", r.Run, "--json")
		if err == nil {
			err = json.Unmarshal(text, &d)
		}
		if err != nil {
			return nil, err
		}
		runs, all = append(runs, r), append(all, d)
		time.Sleep(time.Until(d.QuotaUntil.Add(time.Second)))
	}
	was, is := all[0], all[1]
	want, requests := []string{"quota", "productive"}, []int64{1, 2}
	_, m, other := s.account.other()
	if s.behaviour == leaves {
		want[0], requests = "noop", []int64{2, 2}
	}
	if m.forgets {
		want[1] = want[0]
	}
	if got := []string{runs[0].Outcome, runs[1].Outcome}; !slices.Equal(got, want) {
		faults = append(faults, fmt.Sprintf("outcomes: got %v (%s; %s), want %v", got, runs[0].Reason, runs[1].Reason, want))
	}
	for i, n := range requests {
		sum := tokens(s.account, n)
		want := sum.Total()
		if other {
			want = int64(min(2, m.tokens)) * (inputTokens + outputTokens) //nolint:mnd // requests
		}
		if all[i].Tokens != want {
			faults = append(faults, fmt.Sprintf("tokens of run %d: got %d, want %d", i+1, all[i].Tokens, want))
		}
	}
	same := is.Conversation == was.Conversation && is.Resumes == runs[0].Run && slices.Equal(is.Files.Own, was.Files.Own)
	if was.Conversation == "" || is.Conversation == "" || same == m.forgets {
		faults = append(faults, fmt.Sprintf("conversation: got %+v after %+v, want the same: %v", is, was, !m.forgets))
	}
	if m.forgets {
		return faults, nil
	}
	if m.command == nil && !strings.Contains(is.Resume, filepath.Join("clones", runs[0].Run)) {
		faults = append(faults, fmt.Sprintf("by hand: got %q, want the folder of the first", is.Resume))
	}
	if text, err := s.ask(ctx, "show", strings.Join(runs[1].Commits, " ")+":left.txt"); text != "one\ntwo" {
		faults = append(faults, fmt.Sprintf("what was left: got %q, %v", text, err))
	}
	return faults, nil
}
