package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"stint/internal/fleet"
)

const (
	endSchema = "stint/end@1"
	// maxEnd bounds what is read of an end: a reason, and a hundred commits.
	maxEnd = 1 << 20
	// maxUsed bounds the tokens and the USD of one session.
	maxUsed = 1e12
)

// spooled has a run's end, as it is on disk.
type spooled struct {
	Schema string    `json:"schema"`
	Run    fleet.Run `json:"run"`
}

// PutEnd writes down how a run ended, before it is in the store: it is on disk when this
// returns. It lies beside the folder that the agent may write.
//
// If we die in it, the file cannot be read, and the run counts as crashed.
func (f Folders) PutEnd(r fleet.Run) error {
	if err := putEnd(fleet.FilesOf(f.State, r.ID), r); err != nil {
		return fmt.Errorf("write down the end of run %s: %w", r.ID, err)
	}
	return nil
}

func putEnd(files fleet.RunFiles, r fleet.Run) error {
	text, err := json.Marshal(spooled{endSchema, r})
	if err != nil {
		return err
	}
	file, err := Make(files.End)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(text, 0)
	if err = errors.Join(err, file.Truncate(int64(len(text))), file.Sync(), file.Close()); err != nil {
		return err
	}
	dir, err := os.Open(files.Dir) // its entry is to outlast a power cut, too
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// End reads how a run ended. Where no end can be read the error wraps [fleet.ErrNotFound], also
// where the run's agent put something else there, or withdrew the right to read it: else the
// run could never be closed.
func (f Folders) End(run fleet.RunID) (fleet.Run, error) {
	text, err := Read(fleet.FilesOf(f.State, run).End, maxEnd)
	if foreign := refusal(""); errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.As(err, &foreign) {
		err = fmt.Errorf("%w: %w", fleet.ErrNotFound, err)
	}
	if err != nil {
		return fleet.Run{}, fmt.Errorf("read the end of run %s: %w", run, err)
	}
	var s spooled
	if json.Unmarshal(text, &s) != nil || s.Schema != endSchema || s.Run.ID != run || !possible(s.Run) { // it died while it wrote
		return fleet.Run{}, fmt.Errorf("end of run %s: %w", run, fleet.ErrNotFound)
	}
	return s.Run, nil
}

// Tail reads the last of what the agent of a run printed, so many bytes at most: nothing where that cannot be
// read.
func (f Folders) Tail(run fleet.RunID, most int) string {
	text, _ := Last(fleet.FilesOf(f.State, run).Log, int64(most))
	return text
}

// possible reports whether a run can have ended so: an agent that is not kept from it may
// have written there what the store would refuse at every try.
func possible(r fleet.Run) bool {
	grade, usage := r.Verdict.Grade, r.Usage
	return slices.Contains(fleet.Outcomes(), r.Verdict.Outcome) && (grade == nil || 0 <= *grade && *grade <= 1) &&
		(usage.Tokens == nil || 0 <= *usage.Tokens && *usage.Tokens <= maxUsed) && (usage.USD == nil || 0 <= *usage.USD && *usage.USD <= maxUsed) &&
		slices.Contains([]fleet.Cost{"", fleet.CostReported, fleet.CostComputed, fleet.CostAssumed}, usage.Cost) &&
		(r.Left.State == "" || slices.Contains(fleet.TaskStates(), r.Left.State)) &&
		slices.Contains([]fleet.TaskCall{"", fleet.CallDone, fleet.CallRelease}, r.Left.Owed)
}
