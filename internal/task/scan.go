package task

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"stint/internal/fleet"
)

// taskNames lists the files that may be tasks, in order, by names relative to the folder.
// A file with such a name need not be a task. A folder for tasks that were put away may be
// missing. One that is reached through a link gives a [*fileError] beside the names of the others.
func (f Folder) taskNames() ([]string, error) {
	var linked *fileError
	names, err := f.namesIn(f.Dir)
	if err != nil {
		return nil, err
	}
	for _, a := range f.Format.archives() {
		more, err := f.namesIn(filepath.Join(f.Dir, a.dir))
		if err != nil && !errors.As(err, &linked) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return nil, err
		}
		for _, name := range more {
			names = append(names, a.dir+"/"+name)
		}
	}
	slices.Sort(names)
	if linked != nil {
		return names, linked
	}
	return names, nil
}

func (f Folder) namesIn(dir string) ([]string, error) {
	at, err := f.open(dir)
	if err != nil {
		return nil, err
	}
	defer at.close()
	// os.ReadDir makes an entry of each name, which takes as long again.
	folder, err := os.OpenFile(at.path, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer folder.Close() // Only read: nothing can be lost.
	names, err := folder.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(names, func(name string) bool { return !isTaskName(name) }), nil
}

// scan reads the files of those names: of each its task, without the body, or the
// error why it is none. A file that is in the cache and did not change is not read again.
func (f Folder) scan(ctx context.Context, names []string) ([]fleet.Task, []error, error) {
	writes := f.Cache.Path != "" && f.Cache.Writes
	var now time.Time // of all time: no file has settled
	if writes {
		now = f.Cache.Now()
	}
	known := f.Cache.load(f.cacheKey())
	tasks, errs, entries := make([]fleet.Task, len(names)), make([]error, len(names)), align(known, names)
	spread(len(names), func(i int) {
		if errs[i] = ctx.Err(); errs[i] != nil {
			return
		}
		var fresh bool
		if tasks[i], fresh, errs[i] = f.recall(names[i], entries[i]); !fresh {
			tasks[i], entries[i], errs[i] = f.inspect(names[i], now)
		}
		tasks[i] = f.place(tasks[i])
	})
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if writes {
		entries = slices.DeleteFunc(entries, func(e entry) bool { return e.name == "" })
		if !slices.Equal(entries, known) {
			f.Cache.save(f.cacheKey(), entries)
		}
	}
	return tasks, errs, nil
}

// align gives each name its entry, or an empty one. Both lists are in order.
func align(entries []entry, names []string) []entry {
	aligned := make([]entry, len(names))
	for i, name := range names {
		for len(entries) > 0 && entries[0].name < name {
			entries = entries[1:]
		}
		if len(entries) > 0 && entries[0].name == name {
			aligned[i] = entries[0]
		}
	}
	return aligned
}

// recall is what an entry remembers. It is fresh when the file has not changed since.
func (f Folder) recall(name string, e entry) (t fleet.Task, fresh bool, err error) {
	path := filepath.Join(f.Dir, name)
	if e.name == "" || e.proof != f.proofAt(path) {
		return t, false, nil
	}
	if t, fresh, err = f.Format.decodeOutcome(path, e.outcome); fresh && err == nil {
		t.Modified = e.proof.since()
	}
	return t, fresh, err
}

// inspect reads one file, and what to remember of it: nothing where that may end without a
// trace in the file, as with a file that must not be read. A file deleted since it was listed
// is ignored; a link that leads nowhere is a problem.
func (f Folder) inspect(name string, now time.Time) (fleet.Task, entry, error) {
	path := filepath.Join(f.Dir, name)
	data, info, err := f.readFile(path)
	if err != nil {
		return fleet.Task{}, entry{}, explain(path, err)
	}
	t, err := fleet.Task{}, errIgnored
	if !isReadme(path, data) {
		t, err = f.Format.Parse(path, data)
	}
	t.Body = ""
	p := proofOfInfo(info)
	if err == nil {
		t.Modified = p.since()
	}
	if !p.settled(now) {
		return t, entry{}, err
	}
	return t, entry{name, p, encodeOutcome(t, err)}, err
}

// explain says why what is listed cannot be read, by what it is itself.
func explain(path string, err error) error {
	info, lost := os.Lstat(path)
	switch {
	case lost != nil:
		return err
	case info.IsDir():
		return errIgnored
	case info.Mode()&fs.ModeSymlink != 0 && errors.Is(err, errAbsent):
		return newError(path, 0, "the link leads nowhere: fix it or remove it")
	}
	return err
}

// minShare is what it pays to start a goroutine for: some hundred questions about
// files, a microsecond each.
const minShare = 256

// spread calls do with every number below n, on all processors.
func spread(n int, do func(i int)) {
	shares := max(1, min(runtime.GOMAXPROCS(0), n/minShare))
	var group sync.WaitGroup
	for share := range shares {
		group.Go(func() {
			for i := share * n / shares; i < (share+1)*n/shares; i++ {
				do(i)
			}
		})
	}
	group.Wait()
}
