package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stint/internal/testkit/must"
)

// trackerConfig is a tracker in two files: the items that are open, and the reports it got.
const trackerConfig = `
[tasks.source.desk]
command = ["cat", "open.json"]
start = ["sh", "-c", "echo start $0 >>told", "{id}"]
done = ["sh", "-c", "echo done $0 >>told; echo [] >open.json", "{id}"]
release = ["sh", "-c", "echo release $0 >>told", "{id}"]
`

// TestCrashTracker kills the program at each step of a report to a tracker.
// Wherever it died, the item is closed there in the end, at most one session closes it, and it
// is handed out again only if no end of a session is on record.
func TestCrashTracker(t *testing.T) {
	t.Parallel()
	for stop, sessions := range map[string]int{
		"before Store.Begin":        2, // no agent was at work yet
		"after Store.Begin":         2,
		"before Sources.Call start": 2,
		"after Sources.Call start":  2,
		"after Runner.Run":          2, // its result died with it
		"before Folders.PutEnd":     2,
		"before Store.Complete":     1, // its result was written down
		"after Store.Complete":      1,
		"before Sources.Call done":  1,
		"after Sources.Call done":   1,
		"before Store.SeeTasks":     1,
		"after Store.SeeTasks":      1,
	} {
		t.Run(stop, func(t *testing.T) {
			t.Parallel()
			f := newCrashFleet(t)
			f.extend(trackerConfig)
			f.write("open.json", `[{"id": "item", "status": "open"}]`)
			f.write("told", "")
			run := []string{"run", "--category", "code", "--task", "item"}
			f.dies(stop, run...)
			f.exits(0, "reap")
			told := f.told(t)
			if sessions == 1 {
				if status, _, _ := f.status(run...); status == 0 {
					t.Error("the item was handed out again")
				}
			} else {
				if n := strings.Count(told, "done"); n > 0 {
					t.Errorf("closed although no end is on record: %q", told)
				}
				f.exits(0, run...)
			}
			f.exits(0, "reap")
			told = f.told(t)
			if n := strings.Count(told, "done item\n"); n < 1 || n > 2 {
				t.Errorf("told %q, want it closed, at most once more than needed", told)
			}
			starts, releases := strings.Count(told, "start item\n"), strings.Count(told, "release item\n")
			if starts > 1 && releases == 0 && stop != "before Store.Begin" {
				t.Errorf("told %q, want what was begun and not closed released", told)
			}
			before := told
			f.exits(0, "reap")
			if told = f.told(t); told != before {
				t.Errorf("told %q after %q: nothing was owed", told, before)
			}
		})
	}
}

// told is the reports that the tracker got.
func (f *crashFleet) told(t *testing.T) string {
	t.Helper()
	data := must.Get(os.ReadFile(filepath.Join(f.dir, "told")))(t)
	return string(data)
}
