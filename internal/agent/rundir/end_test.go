package rundir_test

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stint/internal/fleet"
)

// TestEnd writes down the end of a run, twice, and reads what the second said; what was cut
// short, is of another run or is no file is no end.
func TestEnd(t *testing.T) {
	t.Parallel()
	s := newState(t)
	run := s.add(0, 1)
	f, path := s.folders(0, 0), fleet.FilesOf(s.dir, run).End
	if _, err := f.End(run); !errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("before there is one: %v", err)
	}
	grade, tokens, status := 0.7, int64(12), 0
	want := fleet.Run{
		ID: run, Key: "fix", Epoch: 3, EndedAt: time.UnixMilli(5).UTC(), Commits: []string{"abc"}, Usage: fleet.Usage{Tokens: &tokens, Models: []string{"m"}},
		Verdict: fleet.Verdict{Outcome: fleet.Productive, Grade: &grade, Reason: "done", Parts: map[string]float64{"commits": 1}, ExitStatus: &status},
		Left:    fleet.TaskLeft{State: fleet.StateDone, Owed: fleet.CallDone, Changed: true},
	}
	longer := want
	longer.Verdict.Reason = "a longer reason, of which nothing may stay"
	for _, r := range []fleet.Run{longer, want} {
		s.must(f.PutEnd(r))
	}
	got, err := f.End(run)
	if diff := cmp.Diff(got, want); err != nil || diff != "" {
		t.Errorf("%v (-got +want):\n%s", err, diff)
	}
	for name, change := range map[string]func(r *fleet.Run){
		"outcome": func(r *fleet.Run) { r.Verdict.Outcome = "splendid" },
		"grade":   func(r *fleet.Run) { more := 7.5; r.Verdict.Grade = &more },
		"tokens":  func(r *fleet.Run) { less := int64(-5); r.Usage.Tokens = &less },
		"usd":     func(r *fleet.Run) { more := 1e300; r.Usage.USD = &more },
		"cost":    func(r *fleet.Run) { r.Usage.Cost = "guessed" },
		"state":   func(r *fleet.Run) { r.Left.State = "nearly" },
		"owed":    func(r *fleet.Run) { r.Left.Owed = "money" },
	} {
		bad := want
		change(&bad)
		s.must(f.PutEnd(bad))
		if _, err := f.End(run); !errors.Is(err, fleet.ErrNotFound) {
			t.Errorf("%s that cannot be: %v", name, err)
		}
	}
	s.must(f.PutEnd(want))
	s.must(os.Truncate(path, 100))
	if _, err := f.End(run); !errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("cut short: %v", err)
	}
	want.ID = "0other"
	other, err := os.ReadFile(path)
	s.must(err)
	s.must(os.MkdirAll(fleet.FilesOf(s.dir, "0other").Dir, 0o700))
	s.must(f.PutEnd(want))
	s.must(os.Rename(fleet.FilesOf(s.dir, "0other").End, path))
	if _, err := f.End(run); !errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("of another run, in the place of %q: %v", other, err)
	}
	s.must(os.Remove(path))
	s.must(syscall.Mkfifo(path, 0o600))
	if _, err := f.End(run); !errors.Is(err, fleet.ErrNotFound) { // else nobody could ever close the run
		t.Errorf("a pipe: %v", err)
	}
	if err := f.PutEnd(want); err != nil { // of the other
		t.Error(err)
	}
}
