// Package box decides what a boxed process may reach. It is pure: where things are on this
// machine comes in as [Places], and out comes one list of what may be read and written
// ([fleet.Box]), by which both layers go.
//
// The first layer is Landlock: the process restricts itself before it becomes the agent
// (package inside). It needs no privilege, and can only allow: what lies in a folder that may
// be written may be written. The second is a mount namespace that bubblewrap makes
// ([Namespace]), where the kernel lets users have one: there, what is not listed is not there.
// [Missing] says what is missing where only one of them holds.
package box

import (
	"path/filepath"
	"slices"
	"strings"

	"stint/internal/fleet"
)

// Places has the paths of the things that a box has to do with. All paths are absolute; an empty
// one stands for nothing.
type Places struct {
	Home      string
	State     string   // the fleet's state folder
	Config    string   // stint.toml
	Guarded   []string // other files that stint runs, or hands to agents as instructions
	Dir       string   // where the process works
	GitDir    string   // what git keeps of that folder
	GitCommon string   // and of all folders of the repository
	Files     fleet.RunFiles
	Programs  []string // that the process needs to start: files, or the folders they are installed in
	Path      []string // the folders of its PATH
	Own       fleet.Own
	Borrowed  []string // the folders of objects that a clone of the run's own borrows; none: git's data is everybody's
	Tokens    []string // settings of tools in the home folder that have a token in them: only the configuration lets a box read these
	Read      []string // that the configuration lists
	Write     []string
}

// For is the box of a profile. It has no layers yet.
func For(profile fleet.BoxProfile, p Places) fleet.Box {
	b := fleet.Box{Profile: profile, Tmp: p.Files.Tmp}
	if b.Open() {
		return b
	}
	b.Read = slices.Concat(p.Programs, p.Read, []string{p.Files.Prompt})
	if profile == fleet.BoxStrict {
		b.Read = append(b.Read, toStart()...)
	} else {
		tools := slices.DeleteFunc(below(p.Home, toolChains()...), func(path string) bool { return slices.Contains(p.Tokens, path) })
		b.Read = slices.Concat(b.Read, system(), tools, p.Path)
	}
	p.Own.Private = slices.DeleteFunc(p.Own.Private, func(path string) bool { return slices.Contains(p.Write, path) }) // a person said so
	b.Write = slices.Concat(p.Own.Private, p.Own.Copied, p.Own.Shared, p.Write, []string{p.Dir, p.Files.Out, p.Files.Cache})
	b.Fixed = append(slices.Clone(p.Guarded), p.Config)
	// What is missing in a folder that loses all need not be made, but in what stays of it.
	b.Made = slices.DeleteFunc(slices.Clone(p.Own.Fixed), func(path string) bool {
		return Within(p.Own.Private, path) && !Within(p.Own.Shared, filepath.Dir(path))
	})
	p.git(&b)
	b.Fixed = slices.Concat(b.Fixed, b.Made, p.Own.Fixed)
	folders := slices.DeleteFunc(slices.Clone(p.Own.Shared), func(path string) bool { return filepath.Ext(path) != "" }) // a login is no folder
	b.Own, b.Made = p.Own, slices.Concat(b.Made, p.Own.Private, p.Own.Copied, folders)
	slices.Sort(b.Made) // a folder before what is in it
	b.Hidden = []string{p.State}
	b.Read = slices.DeleteFunc(b.Read, p.shows)
	b.Read, b.Write = clean(b.Read), clean(b.Write)
	b.Fixed = slices.DeleteFunc(clean(b.Fixed), func(path string) bool { return !Within(b.Write, path) })
	b.Hidden = slices.DeleteFunc(clean(b.Hidden), func(path string) bool { return !Within(b.Write, path) && !Within(b.Read, path) })
	return b
}

// Fault says which listed path would open what no box is to show, or "". The folder where the
// process works may hold such things: they are hidden then, where that can be.
func (p Places) Fault() string {
	for _, path := range slices.Concat(p.Read, p.Write) {
		if p.shows(filepath.Clean(path)) {
			return path + " holds the home folder or the state folder"
		}
	}
	return ""
}

// Kept are the paths in the place of which a session may have put links, where walls of its box
// were missing: what git keeps, and what may be written in the folder of the session.
func (p Places) Kept(b fleet.Box) (list []string) {
	for _, path := range slices.Concat(b.Fixed, b.Made, b.Write) {
		if covers(p.GitDir, path) || covers(p.GitCommon, path) {
			list = append(list, path)
		}
	}
	for _, path := range b.Write {
		if path != p.Dir && covers(p.Dir, path) && !Within(b.Own.All(), path) {
			list = append(list, path)
		}
	}
	return clean(list)
}

// Astray reports whether what one of these leads to lies outside what git keeps and the folder
// of the session, whose real path is given.
func (p Places) Astray(target, dir string) bool {
	return !covers(p.GitCommon, target) && !covers(dir, target)
}

// Judging is the box for a check or a grader, which may run what the agent wrote: it is given
// nothing of the agent's own, and a folder for /tmp in which the agent was not. A grader that asks
// a model has the folders and settings of the program by which it asks.
func Judging(b fleet.Box, tmp string, read []string, own fleet.Own) fleet.Box {
	agents := func(path string) bool { return Within(b.Own.All(), path) }
	b.Tmp = tmp
	b.Read = clean(slices.Concat(b.Read, read))
	b.Write = clean(slices.Concat(slices.DeleteFunc(slices.Clone(b.Write), agents), own.Private, own.Copied, own.Shared))
	b.Fixed = clean(append(slices.DeleteFunc(slices.Clone(b.Fixed), agents), own.Fixed...))
	b.Own = own
	return b
}

// git adds what commits need of what git keeps. The process may not change what git runs: hooks,
// and programs that its configuration names.
func (p Places) git(b *fleet.Box) {
	if p.GitDir == "" {
		return
	}
	if len(p.Borrowed) > 0 { // the clone is the session's, and so is all that git keeps of it
		b.Read = append(b.Read, p.Borrowed...)
		return
	}
	shared := p.GitDir == p.GitCommon
	b.Write = append(b.Write, p.GitDir)
	if !shared {
		b.Fixed = append(b.Fixed, below(p.GitDir, "commondir", "gitdir")...)
		b.Made = append(b.Made, filepath.Join(p.GitDir, "config.worktree"))
	}
	if file := filepath.Join(p.Dir, ".git"); file != p.GitDir {
		b.Fixed = append(b.Fixed, file) // which names that folder
	}
	if !shared {
		b.Read = append(b.Read, p.GitCommon)
		b.Write = append(b.Write, below(p.GitCommon, "objects", "refs", "logs")...)
		return
	}
	// Mounted by itself: else it could be moved away, and another one made in its place.
	b.Write = append(b.Write, p.GitCommon)
	b.Fixed = append(b.Fixed, filepath.Join(p.GitCommon, "config"))
	b.Made = append(b.Made, below(p.GitCommon, "config.worktree", "hooks", "info", "modules", "worktrees")...)
}

// shows reports whether a path that may be read would show what no box is to show: the home
// folder as a whole, or the state folder.
func (p Places) shows(path string) bool {
	return path == "/" || covers(path, p.Home) || covers(path, p.State)
}

// covers reports whether a path is another one or lies above it.
func covers(above, path string) bool {
	return path != "" && (above == path || strings.HasPrefix(path, strings.TrimSuffix(above, "/")+"/"))
}

// Within reports whether a path lies below one of the list, or is one.
func Within(list []string, path string) bool {
	return slices.ContainsFunc(list, func(above string) bool { return covers(above, path) })
}

// clean is the list without what is empty, not absolute, or there twice.
func clean(list []string) []string {
	list = slices.DeleteFunc(list, func(path string) bool { return !filepath.IsAbs(path) })
	for i := range list {
		list[i] = filepath.Clean(list[i])
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func below(folder string, names ...string) (paths []string) {
	if folder == "" {
		return nil
	}
	for _, name := range names {
		paths = append(paths, filepath.Join(folder, name))
	}
	return paths
}
