package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// landAll lands the work of the run [own], which has its folder in tree, as the engine does.
func landAll(ctx context.Context, c Clone, tree string) error {
	c.Root = filepath.Dir(tree)
	g, _, err := c.git(ctx, string(c.Dir))
	if err != nil {
		return err
	}
	l := fleet.Landing{Run: own, Branch: "stint/bob/0own", Target: "main"}
	tip, there, err := g.revision(ctx, heads+l.Branch)
	if err != nil || !there {
		return err
	}
	l.Tip = tip
	s, err := c.Stack(ctx, l)
	if err != nil {
		return err
	}
	if len(s.Conflicts) > 0 {
		return errors.New("conflicts in " + list(s.Conflicts))
	}
	if moved, err := c.Advance(ctx, s); err != nil || !moved && s.Commit != s.Base {
		return errors.Join(err, errors.New("main has moved"))
	}
	_, err = c.Drop(ctx, l)
	return errors.Join(err, c.Unstack(ctx))
}

// workOf is a workspace with the work of a run, as do left it in the clone of that.
func workOf(t *testing.T, do func(tree gitter)) (clone, tree gitter, l fleet.Landing, c Clone) {
	t.Helper()
	_, clone = pair(t)
	c = clone.clone()
	c.Root = t.TempDir()
	w := must.Get(c.Open(t.Context(), own, filepath.Join(c.Root, string(own))))(t)
	tree = clone.at(w.Dir)
	do(tree)
	must.Get(c.Close(t.Context(), w))(t)
	return clone, tree, fleet.Landing{Run: own, Branch: w.Branch, Tip: clone.git("rev-parse", w.Branch), Target: "main"}, c
}

func TestStack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		target    func(clone gitter) // what it did since
		conflicts string
		in        bool   // the target has it already
		merge     bool   // the work has one, with a file of its own
		log       string // of what would land, oldest first
	}{
		"at once":        {target: func(gitter) {}, log: "by agent: one, by agent: two"},
		"target moved":   {target: func(g gitter) { g.add("x", "x") }, log: "by agent: one, by agent: two"},
		"conflict":       {target: func(g gitter) { g.add("a", "theirs\n"); g.add("d", "theirs\n") }, conflicts: "a"},
		"in a merge":     {target: func(gitter) {}, merge: true, log: "by a: side, by agent: one, by agent: two"},
		"merge, moved":   {target: func(g gitter) { g.add("x", "x") }, merge: true, log: "by a: side, by agent: one, by agent: two"},
		"merged":         {target: func(g gitter) { g.git("merge", "--quiet", "--ff-only", "stint/bob/0own") }, in: true},
		"one is there":   {target: func(g gitter) { g.git("cherry-pick", "stint/bob/0own~1") }, log: "by agent: two"},
		"all are there":  {target: func(g gitter) { g.git("cherry-pick", "stint/bob/0own~2..stint/bob/0own") }, in: true},
		"left from last": {target: func(g gitter) { g.add("x", "x") }, log: "by agent: one, by agent: two"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clone, _, l, c := workOf(t, func(tree gitter) {
				tree.write("a", "one\n")
				tree.git("-c", "user.name=agent", "-c", "user.email=agent@x", "commit", "--quiet", "--all", "--author=agent <agent@x>", "-m", "one")
				tree.write("d", "two\n")
				tree.git("add", "d")
				tree.git("commit", "--quiet", "--author=agent <agent@x>", "-m", "two")
				if test.merge {
					tree.git("checkout", "--quiet", "-b", "side", "HEAD~1")
					tree.add("s", "s\n")
					tree.git("commit", "--quiet", "--amend", "-m", "side")
					tree.git("checkout", "--quiet", "-")
					tree.git("merge", "--quiet", "--no-ff", "--no-commit", "side")
					tree.add("evil", "evil\n")
				}
			})
			test.target(clone)
			before := clone.world()
			for _, merge := range []bool{false, true} {
				l.Merge = merge
				s := must.Get(c.Stack(t.Context(), l))(t)
				if got := list(s.Conflicts); got != test.conflicts && !(merge && strings.HasPrefix(got, test.conflicts)) {
					t.Errorf("merge %v: conflicts in %q, want %q", merge, got, test.conflicts)
				}
				switch {
				case test.conflicts != "":
					continue
				case (s.Commit == s.Base) != test.in && !merge:
					t.Errorf("got %+v, want it in the target: %v", s, test.in)
				case test.in:
					continue
				}
				got := strings.Split(clone.git("log", "--reverse", "--no-merges", "--format=by %an: %s", s.Base+".."+s.Commit), "\n")
				if test.merge { // two lines of the same second
					slices.Sort(got)
				}
				if got := strings.Join(got, ", "); got != test.log && !merge {
					t.Errorf("got %q, want %q", got, test.log)
				}
				if got := clone.git("show", "-s", "--format=%cn %P", s.Commit); merge && got != "a "+s.Base+" "+l.Tip {
					t.Errorf("committer and parents: got %q", got)
				}
				must.Equal(t, "branch of the folder, whose name the target could have", clone.at(s.Dir).git("rev-parse", "--abbrev-ref", "HEAD"), "HEAD")
				if test.merge && clone.git("ls-tree", "--name-only", s.Commit, "evil") == "" {
					t.Error("what the merge has is lost")
				}
				if text, err := os.ReadFile(filepath.Join(s.Dir, "d")); err != nil || string(text) != "two\n" {
					t.Errorf("in its folder: %q, %v", text, err)
				}
			}
			if got := clone.world(); got != before {
				t.Errorf("got\n%s\nwant\n%s", got, before)
			}
			if name != "left from last" {
				must.Do(t, c.Unstack(t.Context()))
			} else if _, err := c.Prune(t.Context(), Limits{}, func(fleet.RunID) bool { return false }); err != nil {
				t.Fatal(err)
			}
			if exists(c.landingDir()) || strings.Contains(clone.git("worktree", "list"), "landing") {
				t.Error("its folder is left")
			}
		})
	}
}

func TestAdvance(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before func(clone gitter) // it is stacked
		after  func(clone gitter)
		fails  string
		hint   string // in it
		linked bool   // the workspace is the work tree beside
		moved  bool   // the target, before
		status string // of the work tree, after
		want   string // what git says of the work tree then
	}{
		"checked out":     {want: "new"},
		"not checked out": {before: func(g gitter) { g.git("switch", "--quiet", "--detach") }},
		"options of merges": {before: func(g gitter) {
			g.git("config", "branch.main.mergeOptions", "--no-ff -s ours")
			g.git("config", "merge.verifySignatures", "true")
		}, want: "new"},
		"replaced": {before: func(g gitter) {
			g.git("replace", g.git("rev-parse", "stint/bob/0own:a"), g.git("rev-parse", "main:b"))
		}, want: "new"},
		"untracked beside": {before: func(g gitter) { g.write("note", "") }, want: "new"},
		"changed beside":   {before: func(g gitter) { g.write("b", "mine") }, want: "new", status: "M b"},
		"changed before":   {before: func(g gitter) { g.write("a", "mine") }, fails: "with changes that nobody committed in a"},
		"changed after":    {after: func(g gitter) { g.write("a", "mine") }, fails: "with changes that nobody committed in a"},
		"a state before":   {before: func(g gitter) { g.write("a", "state: done\na\n") }, want: "state: done\nnew", status: "M a"},
		"a state after":    {after: func(g gitter) { g.write("a", "state: done\na\n") }, want: "state: done\nnew", status: "M a"},
		"a staged state":   {after: func(g gitter) { g.write("a", "state: done\na\n"); g.git("add", "a") }, fails: "with changes that nobody committed in a"},
		"a state, and in the way": {after: func(g gitter) {
			g.write("a", "state: done\na\n")
			g.write("d", "mine")
		}, fails: "it would overwrite d, "},
		"in the way":      {after: func(g gitter) { g.write("d", "mine") }, fails: "it would overwrite d, "},
		"moved":           {after: func(g gitter) { g.add("x", "x") }, moved: true},
		"moved elsewhere": {before: func(g gitter) { g.git("switch", "--quiet", "--detach") }, after: func(g gitter) { g.git("branch", "--force", "main", "HEAD~1") }, moved: true},
		"in another folder": {before: func(g gitter) {
			g.git("switch", "--quiet", "--detach")
			g.git("worktree", "add", "--quiet", g.dir+"-2", "main")
		}, fails: "main is checked out in "},
		"in a merge": {before: func(g gitter) {
			g.git("switch", "--quiet", "-c", "side")
			g.add("s", "s")
			g.git("switch", "--quiet", "main")
			g.git("merge", "--no-commit", "--no-ff", "side")
		}, fails: "a merge is under way"},
		"in a bisection": {before: func(g gitter) {
			g.add("x", "x")
			g.git("bisect", "start", "HEAD", "HEAD~2")
		}, fails: "a bisect of main is under way in ", hint: " bisect reset"},
		"in a bisection of the main work tree": {before: func(g gitter) {
			g.add("x", "x")
			g.git("bisect", "start", "HEAD", "HEAD~2")
			g.git("worktree", "add", "--quiet", "-b", "mine", g.dir+"-2")
		}, linked: true, fails: "a bisect of main is under way in ", hint: "/clone bisect reset"},
		"in a bisection of another work tree": {before: func(g gitter) {
			g.add("x", "x")
			g.git("switch", "--quiet", "-c", "mine")
			g.git("worktree", "add", "--quiet", g.dir+"-2", "main")
			g.at(g.dir+"-2").git("bisect", "start", "HEAD", "HEAD~2")
		}, fails: "a bisect of main is under way in ", hint: "/clone-2 bisect reset"},
		"in a rebase of another work tree": {before: func(g gitter) {
			g.git("switch", "--quiet", "-c", "mine")
			g.git("worktree", "add", "--quiet", g.dir+"-2", "main")
			_, _ = g.at(g.dir+"-2").try("rebase", "--exec", "false", "HEAD~1")
		}, fails: "a rebase of main is under way in ", hint: "/clone-2 rebase --continue, or"},
		"in a rebase": {before: func(g gitter) {
			_, _ = g.try("rebase", "--exec", "false", "HEAD~1")
		}, fails: "a rebase of main is under way in ", hint: "/clone rebase --continue, or"},
		"a link": {before: func(g gitter) {
			g.git("branch", "--move", "main", "trunk")
			g.git("symbolic-ref", "refs/heads/main", "refs/heads/trunk")
		}, fails: "main stands for trunk", hint: "target = \"trunk\""},
		"a link to which HEAD points": {before: func(g gitter) {
			g.git("branch", "trunk")
			g.git("update-ref", "--no-deref", "-d", "refs/heads/main")
			g.git("symbolic-ref", "refs/heads/main", "refs/heads/trunk")
		}, fails: "main stands for trunk", hint: "switch trunk"},
		"in a folder that is gone": {before: func(g gitter) {
			g.git("switch", "--quiet", "--detach")
			g.git("worktree", "add", "--quiet", g.dir+"-2", "main")
			must.Do(g.t, os.RemoveAll(g.dir+"-2"))
		}, fails: "main is checked out in ", hint: "/clone worktree prune"},
		"in git am": {before: func(g gitter) {
			g.write("patch", g.git("format-patch", "--stdout", "HEAD~1..HEAD")+"\n")
			_, _ = g.try("am", "patch")
		}, fails: "a git am is under way", hint: " am --abort"},
		"no such branch": {before: func(g gitter) { g.git("branch", "--move", "main", "trunk") }, fails: "main is no branch of the clone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clone, tree, l, c := workOf(t, func(tree gitter) {
				tree.add("a", "new\n")
				tree.add("d", "new\n")
			})
			if test.before != nil {
				test.before(clone)
			}
			if test.linked {
				c.Dir += "-2"
			}
			s, err := c.Stack(t.Context(), l)
			if test.after != nil {
				test.after(clone)
			}
			before, moved := clone.world(), false
			if err == nil {
				moved, err = c.Advance(t.Context(), s)
			}
			switch {
			case test.fails != "":
				if err == nil || !strings.Contains(err.Error(), test.fails) || !strings.Contains(fleet.Hint(err)+"\n", cmp.Or(test.hint, "\n")) || fleet.Hint(err) == "" {
					t.Errorf("got %v, hint %q, want %q", err, fleet.Hint(err), test.fails)
				}
			case err != nil:
				t.Fatal(err)
			}
			if want := test.fails == "" && !test.moved; moved != want {
				t.Errorf("landed: %v, want %v", moved, want)
			}
			if !moved {
				if got := clone.world(); got != before {
					t.Errorf("got\n%s\nwant\n%s", got, before)
				}
				if midway(filepath.Join(clone.dir, ".git")) == "" {
					clone.mustBeTidy()
				}
				return
			}
			if got := clone.git("rev-parse", "main"); got != s.Commit {
				t.Errorf("main is %s, want %s", got, s.Commit)
			}
			if got := clone.git("status", "--porcelain", "--untracked-files=no"); got != test.status {
				t.Errorf("changes: %s", got)
			}
			if got := clone.read("a"); test.want != "" && got != test.want+"\n" {
				t.Errorf("in the work tree: %q", got)
			}
			kept, err := c.Drop(t.Context(), l)
			if err != nil || kept != "" || exists(tree.dir) || clone.git("branch", "--list", "stint/*") != "" {
				t.Errorf("kept %q, %v", kept, err)
			}
			if again, err := c.Drop(t.Context(), l); err != nil || again != "" {
				t.Errorf("again: %q, %v", again, err)
			}
		})
	}
}

// TestLandingSigns has an operator whose git signs: what lands is signed outside of the box, with the authors' names and dates.
func TestLandingSigns(t *testing.T) {
	t.Parallel()
	clone, _, l, c := workOf(t, func(tree gitter) {
		tree.add("d", "one\n")
		tree.write("e", "two\n")
		tree.git("add", "e")
		tree.git("commit", "--quiet", "--author=Jörg <agent@x>", "--date=2001-02-03T04:05:06+0100", "-m", "two\n\nWhy.")
		tree.write("f", "three\n")
		tree.git("add", "f")
		tree.git("-c", "i18n.commitEncoding=ISO-8859-1", "commit", "--quiet", "--author=M\xfcller <agent@x>", "--date=1970-01-02T00:00:00Z", "-m", "f\xfcnf")
	})
	clone.add("x", "x")
	dir := t.TempDir()
	settings, program := filepath.Join(dir, "gitconfig"), filepath.Join(dir, "gpg")
	must.Do(t, os.WriteFile(settings, []byte("[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = "+program+"\n"), 0o600))
	must.Do(t, os.WriteFile(program, []byte("#!/bin/sh\ncat >/dev/null\necho '-----BEGIN PGP SIGNATURE-----'\necho '-----END PGP SIGNATURE-----'\necho '[GNUPG:] SIG_CREATED ' >&2\n"), 0o700))
	c.Environment = append(c.Environment, "GIT_CONFIG_GLOBAL="+settings)
	for _, l.Merge = range []bool{false, true} {
		s := must.Get(c.Stack(t.Context(), l))(t)
		for _, commit := range strings.Fields(clone.git("rev-list", s.Base+".."+s.Commit)) {
			if !strings.Contains(clone.git("cat-file", "commit", commit), "\ngpgsig -----BEGIN") {
				t.Errorf("merge %v: %s is not signed", l.Merge, clone.git("show", "-s", "--format=%s", commit))
			}
		}
		must.Equal(t, "log", clone.git("log", "--reverse", "--no-merges", "--format=%an %ad %B|", "--date=iso", "-1", s.Commit, "--", "e"), "Jörg 2001-02-03 04:05:06 +0100 two\n\nWhy.\n|")
		must.Equal(t, "tree", clone.git("ls-tree", "--name-only", s.Commit), "a\nb\nd\ne\nf\nx")
		raw := clone.git("log", "-1", "--no-merges", "--format=%H", s.Commit, "--", "f")
		raw = clone.git("cat-file", "commit", raw)
		wanted := []string{"\nauthor M\xfcller <agent@x> 86400 +0000\n", "\nencoding ISO-8859-1\n", "\n\nf\xfcnf"}
		if !l.Merge { // a rebase writes UTF-8
			wanted = []string{"\nauthor Müller <agent@x> 86400 +0000\n", "\n\nfünf"}
		}
		for _, want := range wanted {
			if !strings.Contains(raw, want) {
				t.Errorf("got %q, want %q in it", raw, want)
			}
		}
	}
	must.Do(t, os.WriteFile(program, []byte("#!/bin/sh\nexit 2\n"), 0o700)) // a passphrase that nobody can type
	if s := must.Get(c.Stack(t.Context(), l))(t); !strings.Contains(s.Refused, "gpg failed to sign") {
		t.Errorf("got %+v, want it refused", s)
	}
}

// TestLandingRunsNoFilter has a filter in the operator's own settings. It runs in the box of the clone alone, and where a work
// tree would need it, a person is asked.
func TestLandingRunsNoFilter(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		attributes string
		keys       string // of the filter
	}{
		"smudge": {"*.bin filter=x\n", "smudge clean"},
		"clean":  {"*.bin filter=x\n", "clean"},
		// The file of the work tree is in an encoding in which git cannot read it; git reads the one in the index.
		"encoded": {".gitattributes working-tree-encoding=UTF-16\n*.bin filter=x\n", "smudge clean"},
	} {
		for _, merge := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, merge %v", name, merge), func(t *testing.T) {
				t.Parallel()
				clone, _, l, c := workOf(t, func(tree gitter) {
					tree.write("attributes", test.attributes)
					tree.git("update-index", "--add", "--cacheinfo", "100644,"+tree.git("hash-object", "-w", "attributes")+",.gitattributes")
					tree.write("d.bin", "d\n")
					tree.git("add", "d.bin")
					tree.git("commit", "--quiet", "-m", "d")
				})
				l.Merge = merge
				dir := t.TempDir()
				settings, ran := filepath.Join(dir, "gitconfig"), filepath.Join(dir, "ran")
				text := "[filter \"x\"]\n"
				for key := range strings.FieldsSeq(test.keys) {
					text += "\t" + key + " = \"touch " + ran + "; cat\"\n"
				}
				must.Do(t, os.WriteFile(settings, []byte(text), 0o600))
				c.Environment = append(c.Environment, "GIT_CONFIG_GLOBAL="+settings)
				s, err := c.Stack(t.Context(), l)
				must.Do(t, err)
				before := clone.world()
				if merge || name != "encoded" { // whose file is never what is in its commit, as a rebase wants it
					must.Equal(t, "refused", s.Refused, "")
					must.Equal(t, "filtered", list(s.Filtered), "d.bin")
					if _, err := c.Advance(t.Context(), s); err == nil || !strings.Contains(err.Error(), "git has a filter for d.bin") || !strings.Contains(fleet.Hint(err), "merge --ff-only "+s.Commit) {
						t.Errorf("got %v, hint %q", err, fleet.Hint(err))
					}
					s.Filtered = nil // nor where the question has missed it
					_, err := c.Advance(t.Context(), s)
					must.Do(t, err)
				} else {
					must.Equal(t, "the clone", clone.world(), before)
				}
				if exists(ran) {
					t.Error("a filter ran outside of the box")
				}
			})
		}
	}
}

// TestDropKeeps has work of a run that did not land.
func TestDropKeeps(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		work func(tree gitter)
		do   func(clone gitter)
		want string
	}{
		"uncommitted": {func(tree gitter) { tree.write("a", "x") }, func(gitter) {}, "what was left uncommitted is refs/stint/wip/0own"},
		"a folder":    {func(tree gitter) { tree.write("a", "x"); tree.git("stash", "-q") }, func(gitter) {}, "0own has work that is not home"},
		"commits": {func(gitter) {}, func(clone gitter) {
			clone.git("branch", "-f", "stint/bob/0own", clone.git("commit-tree", "-p", "stint/bob/0own", "-m", "e", "stint/bob/0own^{tree}"))
		}, "branch stint/bob/0own has other commits"},
		"checked out": {func(gitter) {}, func(clone gitter) { clone.git("switch", "--quiet", "stint/bob/0own") }, "is checked out in "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clone, _, l, c := workOf(t, func(tree gitter) { tree.add("d", "new\n"); test.work(tree) })
			test.do(clone)
			kept, err := c.Drop(t.Context(), l)
			if err != nil || !strings.Contains(kept, test.want) {
				t.Errorf("got %q, %v, want %q", kept, err, test.want)
			}
			if clone.git("branch", "--list", "stint/*") == "" {
				t.Error("the branch is gone")
			}
		})
	}
}

// TestLandSurvivesCrashes kills a landing wherever it can be cut. The target has none or all
// of the work, and the next landing does the rest.
func TestLandSurvivesCrashes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ out, state bool }{"checked out": {out: true}, "not checked out": {}, "a state": {true, true}} {
		out, changes := test.out, map[bool]string{true: "M a"}[test.state]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyStop(t, func(t *testing.T, clone gitter, arm string, stop int) bool {
				t.Helper()
				tree := filepath.Join(t.TempDir(), string(own))
				c := clone.clone()
				c.Root = filepath.Dir(tree)
				w := must.Get(c.Open(t.Context(), own, tree))(t)
				clone.at(w.Dir).add("a", "new\n")
				clone.at(w.Dir).add("d", "new\n")
				must.Get(c.Close(t.Context(), w))(t)
				if !out {
					clone.git("switch", "--quiet", "--detach")
				}
				clone.add("x", "x")
				if !out {
					clone.git("branch", "--force", "main", "HEAD")
				}
				before := clone.git("rev-parse", "main")
				if test.state {
					clone.write("a", "state: done\na\n")
				}
				stopped := clone.crash(arm, stop, "land", tree)
				if at := clone.git("rev-parse", "main"); at != before {
					if got := clone.git("log", "--format=%s", before+".."+at); got != "d\na" {
						t.Errorf("main has, half way, %q", got)
					}
				}
				if err := landAll(t.Context(), clone.clone(), tree); err != nil && !errors.Is(err, fleet.ErrBusy) {
					t.Error(err)
				}
				if got := clone.git("log", "--format=%s", before+"..main"); got != "d\na" {
					t.Errorf("main has %q", got)
				}
				if got := clone.git("status", "--porcelain", "--untracked-files=no") + clone.git("stash", "list"); out && got != changes {
					t.Errorf("changes: %s", got)
				}
				if got := clone.read("a"); test.state && got != "state: done\nnew\n" {
					t.Errorf("a has %q", got)
				}
				if _, err := c.Prune(t.Context(), Limits{}, func(fleet.RunID) bool { return true }); err != nil {
					t.Error(err)
				}
				if got := clone.git("worktree", "list") + clone.git("branch", "--list", "stint/*"); strings.Contains(got, string(own)) {
					t.Errorf("left: %s", got)
				}
				clone.mustBeTidy()
				return stopped
			}, func(_, _ gitter) {}, 13)
		})
	}
}

// TestFirstLandingSurvivesCrashes kills the landing that makes the branch of a repository without a commit.
func TestFirstLandingSurvivesCrashes(t *testing.T) {
	t.Parallel()
	everyStop(t, func(t *testing.T, clone gitter, arm string, stop int) bool {
		t.Helper()
		clone.git("update-ref", "-d", "refs/heads/main")
		clone.git("config", "--remove-section", "branch.main")
		clone.git("read-tree", "--empty")
		clone.git("clean", "-dfq")
		tree := filepath.Join(t.TempDir(), string(own))
		c := clone.clone()
		c.Root = filepath.Dir(tree)
		w := must.Get(c.Open(t.Context(), own, tree))(t)
		clone.at(w.Dir).add("a", "new\n")
		clone.at(w.Dir).add("d", "new\n")
		must.Get(c.Close(t.Context(), w))(t)
		stopped := clone.crash(arm, stop, "land", tree)
		if err := landAll(t.Context(), clone.clone(), tree); err != nil && !errors.Is(err, fleet.ErrBusy) {
			t.Error(err)
		}
		if got := clone.git("log", "--format=%s", "main"); got != "d\na\nBegin" {
			t.Errorf("main has %q", got)
		}
		if got := clone.git("status", "--porcelain") + clone.git("stash", "list"); got != "" {
			t.Errorf("changes: %s", got)
		}
		return stopped
	}, func(_, _ gitter) {}, 13)
}

// TestLandingCutShort has a landing die while git writes the files, and a person change one of
// them before the next turn.
func TestLandingCutShort(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		do      func(clone gitter)
		landed  bool
		stashed string
		status  string // of the work tree, once it has landed
	}{
		"not begun":  {do: func(gitter) {}},
		"half way":   {do: func(g gitter) { g.write("a", "ne") }, landed: true, stashed: "ne"},
		"one file":   {do: func(g gitter) { g.write("a", "new\n") }, landed: true},
		"a new file": {do: func(g gitter) { g.write("d", "n") }, landed: true},
		"all files":  {do: func(g gitter) { g.write("a", "new\n"); g.write("d", "new\n"); g.git("add", "a", "d") }, landed: true},
		"changed since": {do: func(g gitter) {
			g.write("d", "new\n")
			g.write("a", "mine\n")
		}, landed: true, stashed: "mine"},
		"changed beside": {do: func(g gitter) {
			g.write("d", "new\n")
			g.write("b", "mine\n")
		}, landed: true, status: "M b"},
		"changed once the branch had moved": {do: func(g gitter) {
			g.git("update-ref", "refs/heads/main", "stint/bob/0own")
			g.write("a", "mine\n")
		}, landed: true, stashed: "mine"},
		"moved since":    {do: func(g gitter) { g.write("a", "new\n"); g.git("commit", "--quiet", "--all", "-m", "mine") }},
		"only theirs":    {do: func(g gitter) { g.write("a", "mine\n"); g.write("d", "mine\n") }},
		"switched since": {do: func(g gitter) { g.git("switch", "--quiet", "-c", "other"); g.write("a", "mine\n") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clone, _, l, c := workOf(t, func(tree gitter) {
				tree.add("a", "new\n")
				tree.add("d", "new\n")
			})
			s := must.Get(c.Stack(t.Context(), l))(t)
			text := `{"run":"0own","pid":1,"doing":"land","git_dir":"` + clone.git("rev-parse", "--absolute-git-dir") + `","top":"` + clone.git("rev-parse", "--show-toplevel") +
				`","branch":"refs/heads/main","from":"` + s.Base + `","land":"` + s.Commit + `"}`
			clone.write(".git/stint.lock", text)
			test.do(clone)
			was := clone.git("rev-parse", "main")
			must.Do(t, c.Unstack(t.Context()))
			at := clone.git("rev-parse", "main")
			if got := at == s.Commit; got != test.landed || !got && at != was {
				t.Errorf("landed: %v", got)
			}
			if test.landed && (clone.read("a") != "new\n" || clone.read("d") != "new\n" || clone.git("status", "--porcelain") != test.status) {
				t.Errorf("work tree: %s", clone.git("status", "--porcelain"))
			}
			stashes := clone.git("stash", "list")
			if (stashes != "") != (test.stashed != "") {
				t.Errorf("stashes %q, want %q in one", stashes, test.stashed)
			}
			if test.stashed != "" && !slices.Contains(strings.Split(clone.git("stash", "show", "--patch"), "\n"), "+"+test.stashed) {
				t.Errorf("stash: %s", clone.git("stash", "show", "--patch"))
			}
		})
	}
}

// TestLandingSparesFiles has files of a person's where work lands, of which git sees no change. They stay as they are in a landing, in
// the turn after one that was killed before git wrote a file, and in the turn after one that was killed on the way.
func TestLandingSparesFiles(t *testing.T) {
	t.Parallel()
	hide := func(g gitter, how string) {
		g.git("update-index", how, "a")
		g.write("a", "a\nmine\n")
		g.write("e", "")
	}
	for name, test := range map[string]struct {
		do   func(g gitter)
		file string // that a person wrote
		text string
	}{
		"untracked":         {func(g gitter) { g.write("d", "mine\n"); g.write("e", "") }, "d", "mine\n"},
		"ignored":           {func(g gitter) { g.write(".git/info/exclude", "d\n"); g.write("d", "mine\n"); g.write("e", "") }, "d", "mine\n"},
		"skipped":           {func(g gitter) { hide(g, "--skip-worktree") }, "a", "a\nmine\n"},
		"assumed unchanged": {func(g gitter) { hide(g, "--assume-unchanged") }, "a", "a\nmine\n"},
		"renamed":           {func(g gitter) { g.git("mv", "a", "moved"); g.write("moved", "a\nmine\n") }, "moved", "a\nmine\n"},
		"a link":            {func(g gitter) { must.Do(g.t, os.Symlink("mine", filepath.Join(g.dir, "d"))); g.write("mine", "n") }, "d", "n"},
		"in a folder":       {func(g gitter) { g.write("d/mine", "mine\n"); g.write("e", "") }, "d/mine", "mine\n"},
		"for a folder":      {func(g gitter) { g.write("f", "mine\n"); g.write("e", "") }, "f", "mine\n"},
	} {
		for _, killed := range []string{"", "before", "on the way"} {
			t.Run(strings.TrimSpace(name+" "+killed), func(t *testing.T) {
				t.Parallel()
				clone, _, l, c := workOf(t, func(tree gitter) {
					tree.add("a", "new\n")
					tree.add("d", "new\n")
					tree.add("e", "new\n")
					tree.add("f/f", "new\n")
				})
				s := must.Get(c.Stack(t.Context(), l))(t)
				test.do(clone)
				if killed == "on the way" {
					clone.write("e", "ne")
				}
				before := clone.world() + clone.git("ls-files", "-v")
				land := func() error {
					return c.inTurn(t.Context(), neighbour, "look", func(context.Context, *turn) error { return nil })
				}
				if killed == "" {
					land = func() error {
						_, err := c.Advance(t.Context(), s)
						return err
					}
				} else {
					clone.write(".git/stint.lock", `{"run":"0own","pid":1,"doing":"land","git_dir":"`+clone.git("rev-parse", "--absolute-git-dir")+
						`","top":"`+clone.git("rev-parse", "--show-toplevel")+`","branch":"refs/heads/main","from":"`+s.Base+`","land":"`+s.Commit+`"}`)
				}
				named := test.file
				if name == "renamed" {
					named = "a"
				}
				err := land()
				if refused := killed == "" || killed == "on the way" && name != "renamed"; refused != (err != nil) ||
					refused && (!strings.Contains(err.Error(), " "+named) || fleet.Hint(err) == "") {
					t.Errorf("got %v, hint %q, want %s named", err, fleet.Hint(err), named)
				}
				if killed == "on the way" && name == "renamed" { // of which the index knows: it is in a stash
					must.Equal(t, "in the stash", clone.git("show", "stash@{0}:moved"), "a\nmine")
				} else {
					must.Equal(t, "world", clone.world()+clone.git("ls-files", "-v"), before)
				}
				must.Equal(t, test.file, clone.read(test.file), test.text)
				if killed == "on the way" && name != "renamed" {
					must.Do(t, os.Rename(filepath.Join(clone.dir, test.file), filepath.Join(t.TempDir(), "out")))
					must.Do(t, land())
					must.Equal(t, "main", clone.git("rev-parse", "main"), s.Commit)
				}
			})
		}
	}
}

// TestCheckOutOfAFolderThatIsGone has a person's folder removed by hand, and made again.
func TestCheckOutOfAFolderThatIsGone(t *testing.T) {
	t.Parallel()
	clone, _, l, c := workOf(t, func(tree gitter) { tree.add("d", "new\n") })
	dir := must.Get(c.CheckOut(t.Context(), l.Run, l.Branch))(t)
	must.Do(t, os.RemoveAll(dir))
	must.Equal(t, "folder", must.Get(c.CheckOut(t.Context(), l.Run, l.Branch))(t), dir)
	must.Equal(t, "file", clone.at(dir).read("d"), "new\n")
}

// TestFirstLandingInTheWay has a staged file in a repository without a commit. Git has nothing there on which to stash it.
func TestFirstLandingInTheWay(t *testing.T) {
	t.Parallel()
	clone := repository(t)
	clone.git("update-ref", "-d", "HEAD")
	clone.git("read-tree", "--empty")
	clone.git("clean", "-dfq")
	c := clone.clone()
	c.Root = t.TempDir()
	w := must.Get(c.Open(t.Context(), own, filepath.Join(c.Root, string(own))))(t)
	clone.at(w.Dir).add("d", "new\n")
	must.Get(c.Close(t.Context(), w))(t)
	clone.write("d", "mine\n")
	clone.git("add", "d")
	l := fleet.Landing{Run: own, Branch: w.Branch, Tip: clone.git("rev-parse", w.Branch), Target: clone.git("branch", "--show-current")}
	_, err := c.Stack(t.Context(), l)
	if err == nil || !strings.Contains(err.Error(), " in d") || strings.Contains(fleet.Hint(err), "stash") {
		t.Errorf("got %v, hint %q", err, fleet.Hint(err))
	}
	must.Do(t, os.Rename(filepath.Join(clone.dir, "d"), filepath.Join(t.TempDir(), "d")))
	clone.git("reset", "--quiet")
	s := must.Get(c.Stack(t.Context(), l))(t)
	must.Equal(t, "landed", must.Get(c.Advance(t.Context(), s))(t), true)
	must.Equal(t, "d", clone.read("d"), "new\n")
}

// TestPutBackSparesAPerson has somebody write into a task's file after a landing died that had set its state aside.
func TestPutBackSparesAPerson(t *testing.T) {
	t.Parallel()
	for now, want := range map[string]string{"a\n": "state: done\na\n", "mine\n": "mine\n"} {
		clone, _, l, c := workOf(t, func(tree gitter) { tree.add("a", "new\n") })
		s := must.Get(c.Stack(t.Context(), l))(t)
		clone.write("a", "state: done\na\n")
		object := clone.git("hash-object", "-w", "a")
		clone.write("a", now)
		clone.write(".git/stint.lock", `{"run":"0own","pid":1,"doing":"land","git_dir":"`+clone.git("rev-parse", "--absolute-git-dir")+
			`","top":"`+clone.git("rev-parse", "--show-toplevel")+`","branch":"refs/heads/main","from":"`+s.Base+`","land":"`+s.Commit+
			`","aside":{"a":"`+object+`"}}`)
		must.Do(t, c.Unstack(t.Context()))
		if got := clone.read("a"); got != want {
			t.Errorf("from %q: got %q, want %q", now, got, want)
		}
	}
}

// TestRemoteOf has the settings by which git push finds a remote, the strongest last.
func TestRemoteOf(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	for _, set := range [][3]string{
		{"branch.main.remote", "origin", "origin"}, {"remote.pushDefault", "fork", "fork"}, {"branch.main.pushRemote", "mine", "mine"},
	} {
		clone.git("config", set[0], set[1])
		g, _, err := clone.clone().git(t.Context(), clone.dir)
		must.Do(t, err)
		must.Equal(t, set[0], must.Get(g.remoteOf(t.Context(), "main"))(t), set[2])
	}
}

// TestLandingThatCannotWrite has git stopped in the middle of the files, as by a full disk: the next turn goes on.
func TestLandingThatCannotWrite(t *testing.T) {
	clone, _, l, c := workOf(t, func(tree gitter) {
		tree.add("a", "new\n")
		tree.add("z", "z\n")
	})
	s := must.Get(c.Stack(t.Context(), l))(t)
	dir := t.TempDir()
	full := filepath.Join(dir, "full")
	must.Do(t, os.WriteFile(full, nil, 0o600))
	program := must.Get(exec.LookPath("git"))(t)
	writeProgram(t, filepath.Join(dir, "git"), `#!/bin/sh
case " $* " in
*" merge "*" --ff-only "*) test ! -e '`+full+`' || { echo new >'`+clone.dir+`/a'; exit 128; };;
*" restore "*) test ! -e '`+full+`' || exit 128;;
esac
exec '`+program+`' "$@"
`)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	if _, err := c.Advance(t.Context(), s); !errors.Is(err, errLeft) {
		t.Errorf("got %v, want something left", err)
	}
	next := func() error {
		return c.inTurn(t.Context(), neighbour, "look", func(context.Context, *turn) error { return nil })
	}
	if err := next(); err == nil {
		t.Error("the next turn has forgotten what is left")
	}
	must.Do(t, os.Remove(full))
	must.Do(t, next())
	must.Equal(t, "main", clone.git("rev-parse", "main"), s.Commit)
	must.Equal(t, "status", clone.git("status", "--porcelain"), "")
}
