// Package rundir keeps what runs leave on disk, in a folder each, within bounds. An agent
// may have written anything there: its files are opened in one way only ([Open], [Make]), and
// no link is followed on the way to a file that is read, written or removed.
package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stint/internal/fleet"
)

// Folders are the folders of a fleet's runs.
type Folders struct {
	State  string        // the fleet's state folder
	Keep   int           // folders at most, of the youngest runs
	MaxAge time.Duration // and none of a run that was made longer ago; zero: of any age
	Out    int64         // the most bytes that stay of what an agent wrote, once its run is over
	Now    func() time.Time
}

const (
	// maxLooked bounds how many runs a sweep asks about: each is a row of the store, and a
	// fire waits for it.
	maxLooked = 1000
	// patience is for removing: a folder may hold a hundred thousand files.
	patience = 2 * time.Second
	// going ends the name of a folder that is being removed.
	going = ".gone"
	// maxFiles bounds what stays of what an agent wrote, besides its bytes.
	maxFiles = 1000
)

// Sweep removes the folders of runs that are too old or too many, except for those of which
// over says no, and returns how many. One call does a bounded piece of work: the next one goes
// on with the rest. The rest goes on when one cannot be removed.
//
// If we die before a folder has its other name, it is whole. If we die after that, the next
// sweep removes the rest of it.
func (f Folders) Sweep(over func(fleet.RunID) bool) (removed int, err error) {
	root, err := os.OpenRoot(filepath.Join(f.State, "runs"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // nothing has run yet
	}
	if err != nil {
		return 0, err
	}
	defer root.Close() //nolint:errcheck // nothing is written by it
	runs, left, err := list(root)
	if err != nil {
		return 0, err
	}
	// The listed folders are looked at for so long: a hundred thousand take their time even to
	// list.
	enough := time.After(patience)
	late := func() bool {
		select {
		case <-enough:
			return true
		default:
			return false
		}
	}
	var errs []error
	for _, name := range left {
		if late() {
			return removed, errors.Join(errs...)
		}
		errs = append(errs, removeAll(root, name))
	}
	stale := f.stale(runs)
	// A folder that can never go must not stand in the way of others: the sweep begins anywhere.
	from := 0
	if len(stale) > maxLooked {
		from = int(uint64(f.Now().UnixNano()) % uint64(len(stale))) //nolint:gosec // any number will do
	}
	for i := range min(len(stale), maxLooked) {
		if late() {
			break
		}
		run := stale[(from+i)%len(stale)]
		if !over(run) {
			continue
		}
		name := string(run)
		if err := root.Rename(name, name+going); err != nil {
			errs = append(errs, err)
			continue
		}
		removed++
		errs = append(errs, removeAll(root, name+going))
	}
	return removed, errors.Join(errs...)
}

// list reads which runs have a folder, and which folders were being removed. An entry that is
// not a folder belongs to no run, a link least of all.
func list(root *os.Root) (runs []fleet.RunID, left []string, err error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	for _, entry := range entries {
		name, isGoing := strings.CutSuffix(entry.Name(), going)
		run, wrong := fleet.ParseRunID(name)
		switch {
		case wrong != nil || !entry.IsDir():
		case isGoing:
			left = append(left, entry.Name())
		default:
			runs = append(runs, run)
		}
	}
	return runs, left, err
}

// stale are the runs whose folders are too many or too old, the oldest first.
func (f Folders) stale(runs []fleet.RunID) []fleet.RunID {
	slices.Sort(runs) // by time of creation
	many := max(0, len(runs)-f.Keep)
	old := many
	if f.MaxAge > 0 {
		oldest := fleet.NewRunID(f.Now().Add(-f.MaxAge), 0)
		old, _ = slices.BinarySearch(runs, oldest)
	}
	return runs[:max(many, old)]
}

// Trim removes what a run that is over need not keep of what its agent wrote, and reports
// whether there was anything. The result stays, then other files, as
// long as there is room; files that [Open] refuses go.
//
// If we die in it, the next call goes on: it comes to the same.
func (f Folders) Trim(run fleet.RunID) (trimmed bool, err error) {
	files := fleet.FilesOf(f.State, run)
	dir, out, err := folderOf(files.Out, false)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer dir.Close()
	root, err := os.OpenRoot(descriptor(dir))
	if err != nil {
		return false, err
	}
	defer root.Close() //nolint:errcheck // nothing is written by it
	// Files that were of use while it worked go, however much room there is.
	for _, tmp := range []string{files.Tmp, files.Judge} {
		if err := removeAll(root, filepath.Base(tmp)); err != nil {
			return false, err
		}
	}
	info, err := root.Lstat(out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.IsDir(): // the agent put something else there
		return true, root.Remove(out)
	}
	t := trimmer{root: root, bytes: f.Out, files: maxFiles}
	result := path.Join(out, filepath.Base(files.Result))
	if info, err := root.Lstat(result); err == nil && t.takes(info) {
		t.kept = append(t.kept, result)
	}
	err = t.folder(out)
	if err != nil {
		err = fmt.Errorf("trim what run %s wrote: %w", run, err)
	}
	return t.removed > 0, err
}

// trimmer goes through the files that an agent wrote.
type trimmer struct {
	root    *os.Root
	bytes   int64 // for which there is room
	files   int
	kept    []string // without being asked again
	removed int
}

// takes reports whether there is room for a file that is worth keeping, and takes it.
func (t *trimmer) takes(info fs.FileInfo) bool {
	if refuse(info) != nil || info.Size() > t.bytes || t.files == 0 {
		return false
	}
	t.bytes -= info.Size()
	t.files--
	return true
}

func (t *trimmer) folder(name string) error {
	// Agents leave folders that may not be written, such as a cache of Go's modules.
	if err := t.root.Chmod(name, 0o700); err != nil {
		return err
	}
	entries, err := fs.ReadDir(t.root.FS(), name)
	errs := []error{err}
	for _, entry := range entries {
		errs = append(errs, t.entry(path.Join(name, entry.Name()), entry))
	}
	return errors.Join(errs...)
}

func (t *trimmer) entry(name string, entry fs.DirEntry) error {
	if slices.Contains(t.kept, name) {
		return nil
	}
	if entry.IsDir() && t.files > 0 {
		return t.folder(name)
	}
	if info, err := entry.Info(); err == nil && !entry.IsDir() && t.takes(info) {
		return nil
	}
	if entry.Type() != fs.ModeSocket { // such as the door, which stands there after a kill
		t.removed++
	}
	return removeAll(t.root, name)
}

// removeAll removes a folder, also what is in folders that may not be written.
func removeAll(root *os.Root, name string) error {
	err := root.RemoveAll(name)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = fs.WalkDir(root.FS(), name, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return root.Chmod(path, 0o700)
		}
		return nil
	})
	return root.RemoveAll(name)
}
