package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// A session with workspace = "clone" works in a clone of its own. The clone borrows the workspace's objects, which
// it may only read, and has everything else itself: refs, index, configuration, hooks. What a session does there
// reaches neither the workspace nor another session. Git in the clone runs in a box; its commits come home as one pack
// that git outside checks: see [Clone.bringHome].

// Walls is the command line in whose box a program runs that may write in a folder, and read what is listed. Empty: this
// machine has no boxes, and it runs without one.
type Walls func(ctx context.Context, dir string, read []string) ([]string, error)

// keepRef is the pin of a run's clone: what the clone began with, or a commit whose parents are that and the other tips that it has
// a copy of. While it is there, no gc in the workspace takes away what the clone borrows.
func keepRef(dir string) string { return "refs/stint/keep/" + filepath.Base(dir) }

// operatorConfig has the operator's own settings of git, and operatorIgnore and operatorAttributes what they name. They are in
// the .git of a clone.
const operatorConfig, operatorIgnore, operatorAttributes = "operator.gitconfig", "info/operator.ignore", "info/operator.attributes"

// source is the repository that a clone is made from.
type source struct {
	git
	layout
	objects  string   // the folder of the workspace's objects
	borrowed []string // these, and those that they borrow themselves
	read     []string // all of which git in a clone reads
	format   string   // of the ids: sha1 or sha256
}

func (c Clone) source(ctx context.Context) (s source, err error) {
	if s.git, s.layout, err = c.git(ctx, string(c.Dir)); err != nil {
		return s, err
	}
	s.git, s.objects, s.format = s.asItIs(), filepath.Join(s.common, "objects"), "sha1"
	for _, set := range s.settings {
		if set.key == "extensions.objectformat" && set.repositorys() {
			s.format = set.value
		}
	}
	if s.borrowed, err = lenders(s.objects, 0); err != nil {
		return s, err
	}
	s.read = s.borrowed
	for _, folder := range s.borrowed {
		if large := largeOf(filepath.Dir(folder)); exists(large) { // where git-lfs looks for what it has of another clone
			s.read = append(slices.Clip(s.read), large)
		}
	}
	return s, nil
}

// lenders are a folder of objects and those that it borrows, as git follows them: five deep.
func lenders(objects string, depth int) (all []string, err error) {
	all = []string{objects}
	text, err := readFile(filepath.Join(objects, "info", "alternates"))
	if errors.Is(err, fs.ErrNotExist) || depth > 5 {
		return all, nil
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(line, "\n"); line == "" || line[0] == '#' {
			continue
		}
		if !filepath.IsAbs(line) {
			line = filepath.Join(objects, line)
		}
		more, err := lenders(line, depth+1)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, err
}

// makeOwn makes a run's clone in a folder that is not there yet, with a branch that begins at a commit, of the refs that were seen
// in the workspace.
//
// If we die before the pin, nothing is there. If we die after it, there is a pin, and perhaps a part of a folder, of a run that
// is over soon: [Clone.Prune] takes both away.
func (c Clone) makeOwn(ctx context.Context, s source, v sight, dir, branch, start string) error {
	if err := c.pin(ctx, s, v, dir, start); err != nil {
		return err
	}
	_, later, err := c.furnish(s, v, dir, branch, start)
	if err == nil {
		err = c.fill(ctx, s, dir)
	}
	if err != nil || later.from == "" || exists(filepath.Join(dir, later.to)) {
		return err
	}
	return os.CopyFS(filepath.Join(dir, later.to), os.DirFS(later.from)) // before any agent was in the folder
}

// furnish writes git's part of a clone, without objects or index, and returns its files. One for a landing has its target, and shows
// the objects themselves without replacements.
func (c Clone) furnish(
	s source, v sight, dir, branch, start string, target ...ref,
) (files map[string]string, later copies, err error) {
	own, refs, landing := filepath.Join(dir, ".git"), target, len(target) > 0
	for _, folder := range []string{"objects/info", "objects/pack", "refs/heads", "info", "hooks", "logs"} {
		if err := os.MkdirAll(filepath.Join(own, folder), 0o700); err != nil {
			return nil, later, err
		}
	}
	files = map[string]string{"HEAD": "ref: " + heads + branch + "\n", "objects/info/alternates": alternate(s.objects)}
	if branch == "" {
		files["HEAD"] = start + "\n"
	} else {
		refs = append(refs, ref{name: heads + branch, id: start})
	}
	for name, r := range v.refs {
		copies := slices.ContainsFunc(copied(), func(folder string) bool { return strings.HasPrefix(name, folder) })
		switch {
		case landing && strings.HasPrefix(name, "refs/replace/"):
		case r.link != "" && copies:
			files[name] = "ref: " + r.link + "\n"
		case name == v.head || copies:
			refs = append(refs, r)
		}
	}
	files["packed-refs"] = packed(refs)
	for _, name := range []string{"shallow", "info/grafts", "info/exclude", "info/attributes", "info/sparse-checkout"} {
		folder := s.common
		if name == "info/sparse-checkout" {
			folder = s.gitDir
		}
		if text, err := readFile(filepath.Join(folder, name)); err == nil && !(landing && name == "info/grafts") {
			files[name] = string(text)
		}
	}
	if later, err = s.configure(own, files); err != nil {
		return nil, later, err
	}
	if keys := filepath.Join(s.common, gitCrypt); exists(keys) {
		if err := os.CopyFS(filepath.Join(own, gitCrypt), os.DirFS(keys)); err != nil {
			return nil, later, err
		}
	}
	for name, text := range files {
		path := filepath.Join(own, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			return nil, later, err
		}
	}
	return files, later, nil
}

// fill has git in a clone write the files of its HEAD.
func (c Clone) fill(ctx context.Context, s source, dir string) error {
	const workers, from = "checkout.workers=2", "checkout.thresholdForParallelism=2000"
	_, err := c.within(s, dir).git(ctx, "-c", noHooks, "-c", workers, "-c", from, "reset", "--quiet", "--hard")
	return err
}

// copied are the folders of the refs that a clone gets a copy of.
func copied() []string { return []string{"refs/tags/", "refs/remotes/", "refs/replace/"} }

// pinned is the message of such a commit.
const pinned = "stint: what a clone borrows"

// maxPinned bounds the tips in a pin: git's command line has room for that many.
const maxPinned = 500

func (c Clone) pin(ctx context.Context, s source, v sight, dir, start string) error {
	head := v.refs[v.head].id
	var tips []string
	for name, r := range v.refs {
		if r.id != start && r.id != head && strings.HasPrefix(name, "refs/remotes/") {
			tips = append(tips, r.id)
		}
	}
	id := start
	slices.Sort(tips)
	if tips = slices.Compact(tips); head != "" && head != start {
		tips = slices.Insert(tips, 0, head) // a session has a branch there, which must not pass for its own
	}
	if len(tips) > 0 {
		g := s.git
		g.env = append(slices.Clone(g.env), asStint()...)
		args := []string{"commit-tree", "-m", pinned, start + "^{tree}", "-p", start}
		for _, tip := range tips[:min(len(tips), maxPinned)] {
			args = append(args, "-p", tip)
		}
		made, err := g.run(ctx, args...)
		if err != nil {
			return err
		}
		id = made
	}
	return c.setRef(ctx, "pin what a clone borrows", keepRef(dir), id)
}

// setRef sets a ref that is stint's own in the workspace's repository, in turn: if we die in it, the next turn removes the lock
// that git has left. A ref that is to be elsewhere than before is not set.
func (c Clone) setRef(ctx context.Context, doing, name, id string, before ...string) error {
	return c.inTurn(ctx, fleet.RunID(filepath.Base(name)), doing, func(ctx context.Context, t *turn) error {
		return t.insist(ctx, append([]string{"update-ref", "--no-deref", "-m", "stint: " + doing, name, id}, before...)...)
	})
}

// dropRefs deletes refs that are stint's own, where they are there.
func (c Clone) dropRefs(ctx context.Context, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	return c.inTurn(ctx, fleet.RunID(filepath.Base(names[0])), "forget a clone", func(ctx context.Context, t *turn) error {
		return insist(ctx, func() error {
			deletes := plain.Each(names, func(name string) string { return "delete " + name })
			_, err := t.feed(lines(deletes)).run(ctx, "update-ref", "--no-deref", "--stdin")
			return err
		})
	})
}

// alternate is a line of objects/info/alternates, which git reads in quotes where it begins with one or with a #.
func alternate(path string) string {
	if path[0] == '"' || path[0] == '#' || strings.Contains(path, "\n") {
		path = quoted(path)
	}
	return path + "\n"
}

// alsoIn is the variable by which git finds objects in one more folder. Without the quotes it would end at a colon.
func alsoIn(objects string) string { return "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quoted(objects) }

func packed(refs []ref) string {
	slices.SortStableFunc(refs, func(a, b ref) int { return strings.Compare(a.name, b.name) })
	var b strings.Builder
	b.WriteString("# pack-refs with: sorted \n")
	for _, r := range slices.CompactFunc(refs, func(a, b ref) bool { return a.name == b.name }) {
		b.WriteString(r.id + " " + r.name + "\n")
	}
	return b.String()
}

// notCopied are the settings that no clone gets: those that are of one folder or one process, that name a program or a login of the
// operator's, or that git would go by behind our back.
func notCopied() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(core\.(bare|worktree|repositoryformatversion|logallrefupdates|filemode|ignorecase|precomposeunicode` +
		`|symlinks|fsmonitor|untrackedcache|sshcommand|gitproxy|alternaterefs.*|editor|pager|askpass|hookspath|excludesfile|attributesfile)` +
		`|include\.|includeif\.|extensions\.|safe\.|credential\.|http\..*extraheader|gc\.|maintenance\.|index\.` +
		`|fetch\.(bundleuri|writecommitgraph)|trace2\.|receive\.|uploadpack|submodule\.` +
		`|commit\.gpgsign|tag\.gpgsign|tag\.forcesignannotated|push\.gpgsign|user\.signingkey|gpg\.|sendemail\.|imap\.|branch\.|remote\.|url\.)`)
}

// copies are a folder and where in the work tree it goes.
type copies struct{ from, to string }

// configure adds the files by which git in the clone goes as it does for the operator. A folder of hooks that is in the work
// tree, where git does not know it, is to be copied once that is there.
func (s source) configure(own string, files map[string]string) (later copies, err error) {
	value, none := map[string]string{}, notCopied()
	var local, global []setting
	for _, set := range s.settings {
		if set.scope == "command" { // stint's own
			continue
		}
		value[set.key] = set.value
		switch {
		case none.MatchString(set.key):
		case set.repositorys():
			local = append(local, set)
		default:
			global = append(global, set)
			if section, _, _ := strings.Cut(set.key, "."); slices.Contains([]string{"user", "author", "committer"}, section) {
				local = append(local, set)
			}
		}
	}
	at := func(path string) string {
		if rest, home := strings.CutPrefix(path, "~/"); home {
			path = filepath.Join(fleet.Variable(s.env, "HOME"), rest)
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.top, path)
		}
		return path
	}
	hooks, named := value["core.hookspath"]
	folder := filepath.Join(s.common, "hooks")
	if named {
		folder = at(hooks)
	}
	switch info, err := os.Stat(folder); {
	case named && filepath.IsLocal(hooks):
		local = append(local, setting{key: "core.hookspath", value: hooks})
		if err == nil && info.IsDir() {
			later = copies{folder, hooks}
		}
	case err == nil && info.IsDir():
		if err := copyHooks(folder, filepath.Join(own, "hooks")); err != nil {
			return later, err
		}
	}
	config := cmp.Or(fleet.Variable(s.env, "XDG_CONFIG_HOME"), filepath.Join(fleet.Variable(s.env, "HOME"), ".config"))
	for key, name := range map[string]string{"core.excludesfile": operatorIgnore, "core.attributesfile": operatorAttributes} {
		file := filepath.Join(config, "git", map[string]string{operatorIgnore: "ignore", operatorAttributes: "attributes"}[name])
		if set, given := value[key]; given {
			file = at(set)
		}
		if text, err := readFile(file); err == nil {
			files[name] = string(text)
			local = append(local, setting{key: key, value: filepath.Join(own, name)})
		}
	}
	var b strings.Builder
	version, extensions := 0, ""
	if s.format != "sha1" {
		version, extensions = 1, section(setting{key: "extensions.objectformat", value: s.format})
	}
	if promisor, partial := value["extensions.partialclone"]; partial {
		version = 1
		extensions += section(setting{key: "extensions.partialclone", value: promisor})
	}
	fmt.Fprintf(&b, "[core]\n\trepositoryformatversion = %d\n%s", version, extensions)
	for _, set := range local {
		b.WriteString(section(set))
	}
	b.WriteString(ownSettings)
	for _, set := range s.settings {
		if m := regexp.MustCompile(`^remote\.(.*)\.(url|fetch|promisor|partialclonefilter)$`).FindStringSubmatch(set.key); m != nil {
			if m[2] == "url" {
				set.value = s.address(set.value)
			}
			b.WriteString(section(set))
		}
	}
	files["config"] = b.String()
	b.Reset()
	for _, set := range global {
		b.WriteString(section(set))
	}
	files[operatorConfig] = b.String()
	return later, nil
}

// ownSettings hold in every clone. A session cannot type a passphrase, and what signs its work is not there.
const ownSettings = `[core]
	filemode = true
	bare = false
	logallrefupdates = true
[gc]
	auto = 0
[maintenance]
	auto = false
[commit]
	gpgsign = false
`

// address is that of a remote, for a clone somewhere else: with the operator's rewriting, and without a login in it.
func (s source) address(url string) string {
	written, longest := url, 0
	for _, set := range s.settings {
		base, of := strings.CutPrefix(set.key, "url.")
		base, instead := strings.CutSuffix(base, ".insteadof")
		if of && instead && strings.HasPrefix(written, set.value) && len(set.value) > longest {
			longest, url = len(set.value), base+written[len(set.value):]
		}
	}
	url = regexp.MustCompile(`^(https?://)[^/@]*@`).ReplaceAllString(url, "$1")
	if !regexp.MustCompile(`^([a-z+]+://|[^/]*:|/)`).MatchString(url) {
		url = filepath.Join(s.top, url)
	}
	return url
}

// section is a setting as a file of git's has it.
func section(s setting) string {
	path, name := s.key[:max(0, strings.LastIndexByte(s.key, '.'))], s.key[strings.LastIndexByte(s.key, '.')+1:]
	head, sub, _ := strings.Cut(path, ".")
	if sub != "" {
		head += " " + quoted(sub)
	}
	return "[" + head + "]\n\t" + name + " = " + quoted(s.value) + "\n"
}

func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(s) + `"`
}

// copyHooks copies a folder of hooks, without the samples that git puts there.
func copyHooks(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(from, path)
		target := filepath.Join(to, rel)
		switch {
		case err != nil || rel == "." || strings.HasSuffix(rel, ".sample"):
			return err
		case d.IsDir():
			return os.MkdirAll(target, 0o700)
		case d.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			return errors.Join(err, os.Symlink(link, target))
		case !d.Type().IsRegular():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := readFile(path)
		return errors.Join(err, os.WriteFile(target, text, info.Mode().Perm()|0o600))
	})
}

// insideTime bounds a git command in a clone: it is enough to check out a large tree on a slow disk.
const insideTime = 5 * time.Minute

// maxSaid bounds the bytes that are read of git's output in a clone.
const maxSaid = 1 << 20

// inner is git in a run's clone, in a box: all that it finds there may be the session's.
type inner struct {
	clone Clone
	dir   string
	read  []string // what it may read, beside the clone
	env   []string // what it gets, beside what all of them get
}

func (c Clone) within(s source, dir string) inner { return inner{clone: c, dir: dir, read: s.read} }

// asStint is the environment in which a commit is stint's own.
func asStint() []string {
	return []string{
		"GIT_AUTHOR_NAME=stint", "GIT_AUTHOR_EMAIL=stint@localhost", "GIT_COMMITTER_NAME=stint", "GIT_COMMITTER_EMAIL=stint@localhost",
	}
}

func (i inner) command(ctx context.Context, args ...string) (*exec.Cmd, error) {
	argv := []string{"git", "-c", "core.fsmonitor=false"}
	if i.clone.Walls != nil {
		walls, err := i.clone.Walls(ctx, i.dir, i.read)
		if err != nil {
			return nil, fmt.Errorf("make a box for git in %s: %w", i.dir, err)
		}
		argv = append(walls, argv...)
	}
	argv = append(argv, args...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	own := filepath.Join(i.dir, ".git")
	cmd.Dir = i.dir
	for _, pair := range environment(i.clone.Environment) { // a filter that the session has named sees it, too
		name, _, _ := strings.Cut(pair, "=")
		if slices.Contains([]string{"PATH", "HOME", "LANG", "LC_ALL", "USER", "LOGNAME", "TZ"}, name) || strings.HasPrefix(name, "GIT_AUTHOR_") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+filepath.Join(own, operatorConfig), "GIT_TERMINAL_PROMPT=0",
		"TMPDIR="+own, "GIT_DIR="+own, "GIT_WORK_TREE="+i.dir) // whatever work tree its settings name
	cmd.Env = append(cmd.Env, i.env...)
	return cmd, nil
}

// git returns what a command prints. More than maxSaid is an error.
func (i inner) git(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := &capped{most: maxSaid, flooded: func() { cancel(fmt.Errorf("it prints more than %d bytes", maxSaid)) }}
	err := i.write(ctx, out, args...)
	return strings.TrimSuffix(string(out.data), "\n"), err
}

// write has a command write what it prints.
func (i inner) write(ctx context.Context, stdout io.Writer, args ...string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, insideTime, fmt.Errorf("time-out after %v", insideTime))
	defer cancel()
	cmd, err := i.command(ctx, args...)
	if err != nil {
		return err
	}
	stderr := &capped{most: maxSaid, flooded: func() {}}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return failedGit(ctx, cmd, firstWord(args), runGroup(cmd), string(stderr.data))
}

// firstWord is the command in git's arguments, after its options.
func firstWord(args []string) string {
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "-c":
			i++
		case !strings.HasPrefix(args[i], "-"):
			return args[i]
		}
	}
	return ""
}
