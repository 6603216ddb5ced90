package workspace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"stint/internal/fleet"
)

// Places readies the folders that runs work in, and reads what they did there.
type Places struct {
	Clone
	Limits Limits // of those that are kept; its Now is set for each pruning
	Log    *slog.Logger
}

// Environment has the variables for the agent's git in its folder: in a clone those with the operator's settings, in the
// workspace the mark by which its commits are known. Who commits stands in a clone's own settings; in the workspace it is in
// variables, if the agent's git is to be named: these would also name who commits in other repositories that a session makes.
func (p Places) Environment(ctx context.Context, dir string, files fleet.RunFiles, named bool) []string {
	if p.owns(dir) {
		return []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + filepath.Join(dir, ".git", operatorConfig)}
	}
	env := []string{reflogMarked(fleet.RunID(filepath.Base(files.Dir)))}
	if !named {
		return env
	}
	g, _, err := p.git(ctx, dir)
	if err != nil {
		return env // it commits nothing
	}
	for _, key := range []string{"name", "email"} {
		if value := g.value("user." + key); value != "" {
			name := strings.ToUpper(key)
			env = append(env, "GIT_AUTHOR_"+name+"="+value, "GIT_COMMITTER_"+name+"="+value)
		}
	}
	return env
}

// owns reports whether a folder is that of a run's own clone.
func (p Places) owns(dir string) bool {
	_, err := fleet.ParseRunID(filepath.Base(dir))
	return err == nil && filepath.Dir(dir) == p.Root
}

// Enter readies the folder in which a run is to work, and returns it with what is to be
// called when the run has ended. Before a clone is made, the upstream may be
// fetched, and the target brought to it.
func (p Places) Enter(ctx context.Context, run fleet.RunID, place fleet.Place) (site fleet.Site, leave func(context.Context) (kept string, err error), err error) {
	stay := func(context.Context) (string, error) { return "", nil }
	leaving := func(w Own) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			state, err := p.Close(ctx, w)
			return state.Reason(), err
		}
	}
	switch {
	case place.Own || place.Continues != "":
		if place.Sync && (place.Continues == "" || !place.Since.IsZero()) {
			s, err := p.Fetch(ctx, run)
			if err != nil {
				return site, nil, err
			}
			if s.Stuck != nil {
				p.Log.WarnContext(ctx, "target not brought forward", slog.Any("err", s.Stuck))
			}
		}
		var w Own
		var err error
		if place.Continues != "" {
			w, err = p.Reopen(ctx, run, place.Continues, place.Since)
		} else {
			w, err = p.Open(ctx, run, filepath.Join(p.Root, string(run)), place.Earlier...)
		}
		if err != nil {
			return site, nil, err
		}
		return fleet.Site{Dir: w.Dir, Branch: w.Branch, Left: w.Left, News: w.News}, leaving(w), nil
	case place.Sync:
		if _, err := p.Sync(ctx, run); err != nil {
			return fleet.Site{Dir: string(p.Dir)}, stay, err
		}
	}
	return fleet.Site{Dir: string(p.Dir), On: p.On(ctx)}, stay, nil
}

// On is the branch that the workspace has checked out, or "": another commit, or there is no repository.
func (p Places) On(ctx context.Context) string {
	g, _, err := p.git(ctx, string(p.Dir))
	if err != nil {
		return ""
	}
	ref, _, _ := g.on(ctx) // what cannot be read names no branch
	return strings.TrimPrefix(ref, heads)
}

// Branch names the branch that a run's work will have, unless another branch is in the
// way of the name.
func (p Places) Branch(run fleet.RunID) string { return p.nested() + string(run) }

// Work returns what a run did in the folder that it worked in.
func (p Places) Work(ctx context.Context, dir string, files fleet.RunFiles) (fleet.Work, error) {
	if p.owns(dir) {
		if l := p.seen(dir); l.fresh {
			return p.work(ctx, dir, l.branch)
		}
		branch, err := p.branchOf(ctx, dir)
		if err != nil {
			return fleet.Work{}, err
		}
		return p.work(ctx, dir, branch)
	}
	if _, _, _, err := p.GitDirs(ctx, string(p.Dir)); err != nil { // of which a session of the workspace can have changed the folder
		p.Log.WarnContext(ctx, "git's folder not looked at", slog.Any("err", err))
	}
	return p.shared(ctx, fleet.RunID(filepath.Base(files.Dir)))
}

// branchOf is the branch of the run whose clone a folder is.
func (p Places) branchOf(ctx context.Context, dir string) (string, error) {
	t, err := p.looking(ctx)
	if err != nil {
		return "", err
	}
	return t.branchOf(ctx, fleet.RunID(filepath.Base(dir)))
}

// GitDirs returns git's folder of a work tree, the common one of all its work trees, and for a run's own clone the folders of
// objects that it borrows. Outside a repository they are the folders that git init would make. Files
// that a session planted in the workspace's are removed.
func (p Places) GitDirs(ctx context.Context, dir string) (own, common string, borrowed []string, err error) {
	l, err := p.found(ctx, string(p.Dir))
	own = filepath.Join(dir, ".git")
	switch {
	case errors.Is(err, errNoRepository):
		p.dropPlanted(ctx, own)
		return own, own, nil, nil
	case err != nil:
		return "", "", nil, fmt.Errorf("find what git keeps of %s: %w", dir, err)
	}
	p.dropPlanted(ctx, l.common)
	if p.owns(dir) || dir == p.landingDir() {
		s, err := p.source(ctx)
		return own, own, s.read, err
	}
	return l.gitDir, l.common, nil, nil
}

// dropPlanted removes the files by which git takes the settings and hooks of another folder
// for those of the clone. Git has them for worktrees alone, and they cannot be mounted for reading
// where they are not there: a session in the workspace can make them, and a person's git goes by them.
func (p Places) dropPlanted(ctx context.Context, common string) {
	if info, err := os.Lstat(common); err != nil || !info.IsDir() {
		return // a link may lead to what is another's
	}
	for _, name := range []string{"commondir", "gitdir"} {
		path := filepath.Join(common, name)
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			p.Log.ErrorContext(ctx, "planted in git's folder", slog.Any("err", err))
			continue
		}
		p.Log.WarnContext(ctx, "planted file removed", slog.String("reason", path+" has git read another folder in place of this one"))
	}
}

// Clones are the runs with clones of their own in which there may be work that is not home.
func (p Places) Clones() (runs []fleet.RunID) {
	entries, _ := os.ReadDir(p.Root) // without a folder no run ever had one
	for _, entry := range entries {
		if dir := filepath.Join(p.Root, entry.Name()); p.owns(dir) && !exists(keptMark(dir)) {
			runs = append(runs, fleet.RunID(entry.Name()))
		}
	}
	return runs
}

// Rescue brings home the work of runs that are over and had no time for it, and removes their clones.
func (p Places) Rescue(ctx context.Context, over func(fleet.RunID) bool) (err error) {
	for _, run := range p.Clones() {
		dir := filepath.Join(p.Root, string(run))
		if !over(run) {
			continue
		}
		branch, lost := p.branchOf(ctx, dir)
		if lost == nil {
			_, lost = p.Close(ctx, Own{Run: run, Dir: dir, Branch: branch})
		}
		if errors.Is(lost, errHangs) || errors.Is(lost, context.DeadlineExceeded) && ctx.Err() == nil {
			// It would hang each fire. Without the mark, for want of room, the next fire tries again.
			lost = errors.Join(lost, os.WriteFile(keptMark(dir), []byte("git does not answer in "+dir), 0o600))
		}
		if lost != nil && !errors.Is(lost, errNoRepository) && !halfMade(filepath.Join(dir, ".git")) {
			err = errors.Join(err, fmt.Errorf("bring home the work of run %s: %w", run, lost))
		}
	}
	return err
}

// Tidy prunes what runs that are over have left.
func (p Places) Tidy(ctx context.Context, over func(fleet.RunID) bool) error {
	if !exists(p.Root) {
		return nil // no run ever had a clone
	}
	pruned, err := p.Prune(ctx, p.Limits, over)
	for _, w := range pruned {
		if w.Removed {
			p.Log.InfoContext(ctx, "clone removed", slog.String("run_id", string(w.Run)), slog.String("reason", w.Reason))
		}
	}
	if errors.Is(err, errNoRepository) {
		return nil
	}
	return err
}
