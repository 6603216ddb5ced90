package book_test

import (
	"testing"

	"stint/internal/fleet"
	"stint/internal/store/book"
)

func TestRepeats(t *testing.T) {
	t.Parallel()
	end := fleet.Run{ID: "0r1", Key: "fix", Epoch: 3, Verdict: fleet.Verdict{
		Outcome: fleet.Productive, Grade: new(0.5), Reason: "2 commits", TaskState: fleet.StateDone, ExitStatus: new(0),
	}}
	if !book.RepeatsEnd(end, end) {
		t.Error("the very same end is no repetition")
	}
	for name, change := range map[string]func(*fleet.Run){
		"run":         func(r *fleet.Run) { r.ID = "0r2" },
		"key":         func(r *fleet.Run) { r.Key = "other" },
		"epoch":       func(r *fleet.Run) { r.Epoch = 4 },
		"outcome":     func(r *fleet.Run) { r.Verdict.Outcome = fleet.Lost },
		"grade":       func(r *fleet.Run) { r.Verdict.Grade = new(0.6) },
		"no grade":    func(r *fleet.Run) { r.Verdict.Grade = nil },
		"reason":      func(r *fleet.Run) { r.Verdict.Reason = "1 commit" },
		"task state":  func(r *fleet.Run) { r.Verdict.TaskState = "" },
		"exit status": func(r *fleet.Run) { r.Verdict.ExitStatus = nil },
	} {
		other := end
		change(&other)
		if book.RepeatsEnd(end, other) || book.RepeatsEnd(other, end) {
			t.Errorf("another %s passes for a repetition", name)
		}
	}
	failed := fleet.Run{ID: "0r1", Verdict: fleet.Verdict{Outcome: fleet.Failed, Grade: new(0.0)}}
	spared := failed
	spared.Verdict.Grade, spared.Verdict.Fault = nil, fleet.FaultAgent
	if !book.RepeatsEnd(spared, failed) {
		t.Error("a failure that the record found to be its agent's is no repetition")
	}
}
