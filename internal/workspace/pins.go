package workspace

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"stint/internal/fleet"
)

// pins are git's settings for every command. Nothing goes on behind our back: no upkeep and no
// watcher that would outlive the command, no ref and no submodule that nobody named. No hook
// runs, and no transport that is a command line: a session can write the one and name the other. And nobody's taste changes
// what stint reads: what git looks at, in which encoding it prints, and what it refuses or sets aside.
func pins() []string {
	return []string{
		"-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.fsmonitor=false", "-c", "submodule.recurse=false",
		"-c", "rebase.autoSquash=false", "-c", "rebase.updateRefs=false", "-c", "advice.detachedHead=false",
		"-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never",
		"-c", "status.showUntrackedFiles=normal", "-c", "log.showRoot=true", "-c", "log.follow=false", "-c", "i18n.logOutputEncoding=UTF-8",
		"-c", "diff.relative=false", "-c", "diff.orderFile=/dev/null", "-c", "merge.verifySignatures=false", "-c", "merge.autoStash=false",
		"-c", "log.showSignature=false", // which would run the program that the repository names for it
	}
}

// environment is base without git's variables, which could send git to another repository, into
// the report of a run or to another program. Those stay that are the operator's: where their
// configuration is, who they are, and how they log in. Git asks no person, translates
// nothing that it says, and writes to a pipe when a buffer is full: by itself it would after each
// commit that it shows.
func environment(base []string) []string {
	operators := []string{
		"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_SSL_CAINFO",
		"GIT_SSL_CAPATH", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
	}
	env := slices.DeleteFunc(slices.Clone(base), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return strings.HasPrefix(name, "GIT_") && !slices.Contains(operators, name)
	})
	return append(env, "GIT_TRACE2=0", "GIT_TRACE2_EVENT=0", "GIT_TRACE2_PERF=0", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true", "GIT_SEQUENCE_EDITOR=true", "GIT_PAGER=cat",
		"GIT_OPTIONAL_LOCKS=0", "GIT_FLUSH=0", "LC_ALL=C")
}

// setting is one of git's configuration, by its key as git lists it: section and name in lower
// case, what is between them as it was written.
type setting struct{ scope, key, value string }

// settings are all that git goes by in a work tree. It lists them again when a file has changed that they come from, or that
// decides which others count.
func (c Clone) settings(ctx context.Context, g git, l layout) ([]setting, error) {
	type read struct {
		all   []setting
		files map[string]version
	}
	if c.Found != nil {
		before, known := c.Found.Load(l)
		same := known
		if known {
			for file, v := range before.(read).files {
				same = same && versionOf(file) == v
			}
		}
		if same {
			return before.(read).all, nil
		}
	}
	home := fleet.Variable(g.env, "HOME")
	now := read{files: map[string]version{}}
	for _, file := range []string{
		filepath.Join(l.common, "config"), filepath.Join(l.gitDir, "config.worktree"), filepath.Join(l.gitDir, "HEAD"),
		filepath.Join(home, ".gitconfig"), filepath.Join(cmp.Or(fleet.Variable(g.env, "XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "git/config"), "/etc/gitconfig",
	} {
		now.files[file] = versionOf(file) // before git reads it
	}
	listed, err := g.names(ctx, "config", "--list", "--includes", "--show-scope", "--show-origin", "-z")
	for at := range slices.Chunk(listed, 3) {
		if len(at) < 3 {
			break
		}
		key, value, given := strings.Cut(at[2], "\n")
		if !given { // a name alone is true for git, and an empty value false
			value = "true"
		}
		now.all = append(now.all, setting{at[0], key, value})
		file, is := strings.CutPrefix(at[1], "file:")
		if _, seen := now.files[file]; is && !seen {
			now.files[file] = versionOf(file)
		}
	}
	if err == nil && c.Found != nil {
		c.Found.Store(l, now)
	}
	return now.all, err
}

// value is that of a setting; the last counts.
func (g git) value(key string) (value string) {
	for _, s := range g.settings {
		if s.key == key {
			value = s.value
		}
	}
	return value
}

// version tells one state of a file from another. No process can set when the kernel saw it change.
type version struct {
	inode   uint64
	changed unix.Timespec
	mode    uint32 // of a folder
}

func versionOf(path string) version {
	var stat unix.Stat_t
	_ = unix.Stat(path, &stat) // zero: it is not there
	return version{inode: stat.Ino, changed: stat.Ctim}
}

// repositorys reports whether the setting stands in a file of the repository, or in one that such
// a file includes. A session can write these; the operator's own are in other files.
func (s setting) repositorys() bool { return s.scope == "local" || s.scope == "worktree" }

// overrides are the variables by which git follows no program that only the repository's own
// configuration names: what the operator's names stands, or else what git does by itself.
func overrides(all []setting) (env []string) {
	var pairs [][2]string
	resetHelpers := false
	for _, s := range all {
		if !s.repositorys() {
			continue
		}
		section, name := ends(s.key)
		switch {
		case section == "credential" && name == "helper":
			resetHelpers = true
		case section == "remote" && name == "uploadpack":
			// The first that is configured counts for git. Only a fetch is given another, see
			// [turn.fetch]; git must not begin one by itself.
			env = append(env, "GIT_NO_LAZY_FETCH=1")
		case s.key == "core.gitproxy": // likewise
			env = append(env, "GIT_PROXY_COMMAND=")
		default:
			instead, program := ownProgram(s.key)
			if !program {
				continue
			}
			for _, o := range all { // the last counts
				if o.key == s.key && !o.repositorys() {
					instead = o.value
				}
			}
			pairs = append(pairs, [2]string{s.key, instead})
		}
	}
	if resetHelpers { // An empty one makes git forget those before it.
		pairs = append(pairs, [2]string{"credential.helper", ""})
		for _, o := range all {
			if section, name := ends(o.key); section == "credential" && name == "helper" && !o.repositorys() {
				pairs = append(pairs, [2]string{o.key, o.value})
			}
		}
	}
	for i, pair := range pairs {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, pair[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, pair[1]))
	}
	return append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(pairs)))
}

// ends are a key's section and name.
func ends(key string) (section, name string) {
	section, _, _ = strings.Cut(key, ".")
	return section, key[strings.LastIndexByte(key, '.')+1:]
}

// ownProgram returns the replacement for a program, if the key names one that git may run in a
// command of stint's.
func ownProgram(key string) (instead string, program bool) {
	section, name := ends(key)
	switch section + "." + name {
	case "core.sshcommand":
		return "ssh", true
	case "core.askpass", "gpg.defaultkeycommand":
		return "", true
	case "core.alternaterefscommand", "hook.command", "diff.external", "diff.command":
		return "true", true
	case "diff.textconv":
		return "cat", true
	case "filter.clean", "filter.smudge", "filter.process":
		return "", true // as if there were no filter
	case "filter.required":
		return "false", true
	case "merge.driver":
		return "git merge-file --marker-size=%L %A %O %B", true
	case "gpg.program":
		switch key {
		case "gpg.ssh.program":
			return "ssh-keygen", true
		case "gpg.x509.program":
			return "gpgsm", true
		}
		return "gpg", true
	}
	return "", false
}
