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

// Mark is an environment variable for the agent, see [Folder.Mark].
func (p Places) Mark(files fleet.RunFiles) string { return p.Dir.Mark(files) }

// Enter readies the folder in which a run is to work, and returns it with what is to be
// called when the run has ended. A worktree starts from the upstream as it is fetched
// now, or else from what the workspace has checked out; the workspace itself is not
// touched for it.
func (p Places) Enter(ctx context.Context, run fleet.RunID, place fleet.Place) (site fleet.Site, leave func(context.Context) (kept string, err error), err error) {
	stay := func(context.Context) (string, error) { return "", nil }
	leaving := func(w Worktree) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			state, err := p.Close(ctx, w)
			return state.Reason(), err
		}
	}
	switch {
	case place.Continues != "":
		w, err := p.Reopen(ctx, run, place.Continues)
		return fleet.Site{Dir: w.Dir, Branch: w.Branch}, leaving(w), err
	case place.Worktree:
		from := FromHead
		if place.Sync {
			if _, err := p.Fetch(ctx, run); err != nil {
				return site, nil, err
			}
			from = FromUpstream
		}
		w, err := p.Open(ctx, run, filepath.Join(p.Root, string(run)), from)
		if err != nil {
			return site, nil, err
		}
		return fleet.Site{Dir: w.Dir, Branch: w.Branch}, leaving(w), nil
	case place.Sync:
		if _, err := p.Sync(ctx, run); err != nil {
			return fleet.Site{Dir: string(p.Dir)}, stay, err
		}
	}
	return fleet.Site{Dir: string(p.Dir), On: p.On(ctx)}, stay, nil
}

// On is the branch that the workspace has checked out, or "": another commit, or there is no repository.
func (p Places) On(ctx context.Context) string {
	l, err := p.found(ctx, string(p.Dir))
	if err != nil {
		return ""
	}
	head, err := readFile(filepath.Join(l.gitDir, "HEAD"))
	branch, is := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: "+heads)
	if err != nil || !is {
		return ""
	}
	return branch
}

// Branch names the branch that a run's worktree will have, unless another branch is in the
// way of the name.
func (p Places) Branch(run fleet.RunID) string { return p.nested() + string(run) }

// Work returns what a run did in the folder that it worked in.
func (p Places) Work(ctx context.Context, dir string, files fleet.RunFiles) (fleet.Work, error) {
	if info, err := os.Lstat(files.Git); err == nil && info.Size() > maxTrace {
		p.Log.WarnContext(ctx, "git's report is too long: commits in its middle are not counted",
			slog.String("reason", fmt.Sprintf("%s has %d bytes, of which %d are read", files.Git, info.Size(), maxTrace)))
	}
	if _, _, err := p.GitDirs(ctx, string(p.Dir)); err != nil { // of which a session of the workspace can have changed the folder
		p.Log.WarnContext(ctx, "git's folder not looked at", slog.Any("err", err))
	}
	commits, err := Folder(dir).Commits(files)
	if err != nil || commits == 0 {
		return fleet.Work{Commits: commits}, err
	}
	changes, err := p.Changes(ctx, Folder(dir), files)
	left := changes.Commits
	return fleet.Work{
		Commits: commits, Revisions: left[max(0, len(left)-fleet.MostCommits):], Branch: changes.Branch,
		Known: err == nil && changes.Unknown == 0, Standing: len(left), Files: changes.Files, Tests: changes.Tests,
		Insertions: changes.Insertions, Deletions: changes.Deletions, Cut: changes.Cut,
	}, err
}

// GitDirs are where git keeps what it knows of the folder, and of the clone with all of
// its worktrees. For a worktree that is not there yet they are where git would make them; for a
// folder that no git knows, where git init would. Files that a session planted in the clone's are removed.
func (p Places) GitDirs(ctx context.Context, dir string) (own, common string, err error) {
	in := dir
	if filepath.Dir(dir) == p.Root {
		in = string(p.Dir)
	}
	l, err := p.found(ctx, in)
	switch {
	case errors.Is(err, errNoRepository):
		own = filepath.Join(dir, ".git")
		p.dropPlanted(ctx, own)
		return own, own, nil
	case err != nil:
		return "", "", fmt.Errorf("find what git keeps of %s: %w", dir, err)
	}
	p.dropPlanted(ctx, l.common)
	if filepath.Dir(dir) == p.Root {
		return filepath.Join(l.common, "worktrees", filepath.Base(dir)), l.common, nil
	}
	return l.gitDir, l.common, nil
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

// Tidy prunes the worktrees and branches of runs that are over.
func (p Places) Tidy(ctx context.Context, over func(fleet.RunID) bool) error {
	if !exists(p.Root) {
		return nil // no run ever had one
	}
	pruned, err := p.Prune(ctx, p.Root, p.Limits, over)
	for _, w := range pruned {
		if w.Removed {
			p.Log.InfoContext(ctx, "worktree removed", slog.String("run_id", string(w.Run)), slog.String("reason", w.Reason))
		}
	}
	if errors.Is(err, errNoRepository) {
		return nil
	}
	return err
}
