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

	"stint/internal/fleet"
)

// taskNames lists the files that may be tasks, in order, by names relative to the folder.
// A file with such a name need not be a task. A folder for tasks that were put away may be
// missing. A folder that cannot be read, or is reached through a link, is a [*fileError] beside the names of the others.
func (f Folder) taskNames() ([]string, error) {
	var bad *fileError
	names, err := f.namesIn(f.Dir)
	if err != nil && (names == nil || !errors.As(err, &bad)) {
		return nil, err
	}
	for _, a := range f.Format.archives() {
		more, err := f.namesIn(filepath.Join(f.Dir, a.dir))
		if err != nil && !errors.As(err, &bad) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return nil, err
		}
		for _, name := range more {
			names = append(names, a.dir+"/"+name)
		}
	}
	slices.Sort(names)
	if bad != nil {
		return names, bad
	}
	return names, nil
}

// namesIn lists the files of a folder that may be tasks, and those of the folders below it. Of these, hidden ones, templates,
// and those of tasks that were put away are left out, and all those below the top of a repository.
func (f Folder) namesIn(dir string) (names []string, err error) {
	at, err := f.open(dir)
	if err != nil {
		return nil, err
	}
	defer at.close()
	entries, err := os.ReadDir(at.path)
	if err != nil {
		return nil, err
	}
	names = []string{}
	top := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ".git" })
	for _, e := range entries {
		name := e.Name()
		switch {
		case isTaskName(name) && !e.IsDir():
			names = append(names, name)
		case e.IsDir() && !top && name[0] != '.' && name != "templates" && !f.Format.isArchive(name):
			below, lost := f.namesIn(filepath.Join(dir, name))
			for _, file := range below {
				names = append(names, name+"/"+file)
			}
			var bad *fileError
			switch {
			case errors.As(lost, &bad):
				err = bad
			case lost != nil && !errors.Is(lost, fs.ErrNotExist):
				err = unreadable(filepath.Join(dir, name), lost, "make it readable, or move it away")
			}
		}
	}
	return names, err
}

// scan reads the files of those names: of each its task, without the body, or the
// error why it is none.
func (f Folder) scan(ctx context.Context, names []string) ([]fleet.Task, []error, error) {
	tasks, errs := make([]fleet.Task, len(names)), make([]error, len(names))
	spread(len(names), func(i int) {
		if errs[i] = ctx.Err(); errs[i] == nil {
			tasks[i], errs[i] = f.inspect(filepath.Join(f.Dir, names[i]))
		}
	})
	return tasks, errs, ctx.Err()
}

// inspect reads one file. A file deleted since it was listed is ignored; a link that leads nowhere is a problem.
func (f Folder) inspect(path string) (fleet.Task, error) {
	t, err := f.read(path)
	if err != nil {
		return fleet.Task{}, explain(path, err)
	}
	t.Body = ""
	return t, nil
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

// minShare is the least number of files that pays for a goroutine.
const minShare = 16

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
