package workspace

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// attack is a clone in which a session has planted something that git would run.
type attack struct {
	gitter                // the workspace
	origin, tree gitter   // its remote, and the clone of the session
	root         string   // of clones
	witness      string   // the file that the planted program writes
	evil         string   // the planted program, as a shell's words
	other        gitter   // a repository of the session's own making
	open         Own      // that of the session
	revisions    []string // to be shown
}

func newAttack(t *testing.T) attack {
	t.Helper()
	origin, clone := pair(t)
	a := attack{gitter: clone, origin: origin, root: filepath.Join(t.TempDir(), "clones"), other: repository(t)}
	a.open = mustOpen(t, clone.clone(), own, a.root)
	a.tree = clone.at(a.open.Dir).as(own)
	a.witness = filepath.Join(t.TempDir(), "witness")
	program := filepath.Join(t.TempDir(), "evil")
	writeProgram(t, program, "#!/bin/sh\necho \"$0 $*\" >>'"+a.witness+"'\nexec timeout 1 cat\n")
	a.evil = program
	return a
}

// everything is all that stint does with git, around and after a session.
func (a attack) everything() {
	ctx, c := a.t.Context(), a.clone()
	c.Root = a.root
	p := Places{Clone: c, Log: slog.New(slog.DiscardHandler)}
	_, _ = c.Condition(ctx)
	_, _, _ = c.Excluding(ctx, "#", []string{"x"})
	_, _, _, _ = p.GitDirs(ctx, a.open.Dir)
	_, _ = p.Work(ctx, a.open.Dir, a.files(own))
	_, _ = p.Work(ctx, a.dir, a.files(own))
	_, _ = p.Own(ctx, own, filepath.Join(a.dir, "a"))
	_, _ = c.Close(ctx, a.open)
	_, _ = c.Fetch(ctx, own)
	_, _ = c.Sync(ctx, own)
	if w, err := c.Open(ctx, neighbour, filepath.Join(a.root, string(neighbour))); err == nil {
		_, _ = c.Close(ctx, w)
	}
	_, _ = c.Prune(ctx, Limits{Now: testTime(a.t)}, func(fleet.RunID) bool { return true })
	_, _ = p.Branches(ctx)
	_, _, _ = c.Diff(ctx, a.revisions, 1<<20)
	_, _, _ = c.Since(ctx, "HEAD~1", "HEAD", 1<<20)
}

// TestNothingPlantedRuns plants, as a session can that may write in the clone, what git runs by
// itself, and has stint do all that it does there.
func TestNothingPlantedRuns(t *testing.T) {
	t.Parallel()
	config := func(pairs ...string) func(a attack) {
		return func(a attack) {
			for i := 0; i < len(pairs); i += 2 {
				a.git("config", pairs[i], strings.ReplaceAll(pairs[i+1], "EVIL", a.evil))
			}
		}
	}
	attributes := func(a attack, line string) {
		a.write(".git/info/attributes", line+"\n")
		// Other files, sizes and times, so that git has to look.
		a.write("a", "x\n")
		a.tree.write("a", "y\n")
	}
	tests := map[string]func(a attack){
		"hooks": func(a attack) {
			for _, name := range []string{"post-checkout", "pre-rebase", "reference-transaction", "post-rewrite", "post-index-change", "pre-commit", "post-commit"} {
				a.hook(name, a.evil)
			}
		},
		"hooks by config": func(a attack) {
			dir := filepath.Dir(a.evil)
			writeProgram(a.t, filepath.Join(dir, "post-checkout"), "#!/bin/sh\nexec "+a.evil+"\n")
			a.git("config", "core.hooksPath", dir)
		},
		"watcher":       config("core.fsmonitor", "EVIL"),
		"signature":     config("log.showSignature", "true", "commit.gpgSign", "true", "gpg.program", "EVIL", "user.signingKey", "x"),
		"ssh signature": config("commit.gpgSign", "true", "gpg.format", "ssh", "gpg.ssh.program", "EVIL", "gpg.ssh.defaultKeyCommand", "EVIL"),
		"alias":         config("alias.status", "!EVIL", "alias.rev-parse", "!EVIL"),
		"pager, editor": config("core.pager", "EVIL", "pager.log", "EVIL", "core.editor", "EVIL", "sequence.editor", "EVIL"),
		"ssh":           config("core.sshCommand", "EVIL", "remote.origin.url", "ssh://localhost/x"),
		"ssh, renamed":  config("core.sshCommand", "EVIL", "url.ssh://localhost/.insteadOf", "/"),
		"proxy":         config("core.gitProxy", "EVIL", "remote.origin.url", "git://localhost/x"),
		"ext":           config("protocol.ext.allow", "always", "remote.origin.url", "ext::EVIL"),
		"vcs":           config("protocol.ext.allow", "always", "remote.origin.vcs", "ext", "remote.origin.url", "EVIL"),
		"upload-pack":   config("remote.origin.uploadpack", "EVIL"),
		"credentials": func(a attack) {
			asks := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("WWW-Authenticate", "Basic")
				w.WriteHeader(http.StatusUnauthorized)
			}))
			a.t.Cleanup(asks.Close)
			config("credential.helper", "!EVIL", "credential."+asks.URL+".helper", "!EVIL", "core.askPass", "EVIL", "remote.origin.url", asks.URL)(a)
		},
		"alternate refs": func(a attack) {
			a.write(".git/objects/info/alternates", filepath.Join(a.other.dir, ".git/objects")+"\n")
			a.origin.add("new", "new")
			config("core.alternateRefsCommand", "EVIL")(a)
		},
		"lazy fetch": func(a attack) {
			config("remote.origin.promisor", "true", "remote.origin.uploadpack", "EVIL", "extensions.partialClone", "origin", "core.repositoryFormatVersion", "1")(a)
			blob := a.git("rev-parse", "HEAD:b")
			must.Do(a.t, os.Remove(filepath.Join(a.dir, ".git/objects", blob[:2], blob[2:])))
		},
		"filter": func(a attack) {
			config("filter.x.clean", "EVIL", "filter.x.smudge", "EVIL", "filter.x.required", "true")(a)
			attributes(a, "* filter=x")
		},
		"filter process": func(a attack) {
			config("filter.x.process", "EVIL")(a)
			attributes(a, "* filter=x")
		},
		"diff": func(a attack) {
			config("diff.external", "EVIL", "diff.x.command", "EVIL", "diff.x.textconv", "EVIL")(a)
			attributes(a, "* diff=x")
		},
		"merge": func(a attack) {
			config("merge.x.driver", "EVIL", "merge.default", "x")(a)
			a.write(".git/info/attributes", "* merge=x\n")
			a.origin.add("a", "theirs\n")
			a.add("a", "mine\n")
		},
		"included": func(a attack) {
			path := filepath.Join(a.root, "more")
			a.at("/").write(path, "[core]\n\thooksPath = "+filepath.Dir(a.evil)+"\n[filter \"x\"]\n\tclean = "+a.evil+"\n")
			a.git("config", "includeIf.gitdir:/.path", path)
			attributes(a, "* filter=x")
		},
		"another common folder": func(a attack) {
			a.other.git("config", "filter.x.clean", a.evil)
			a.other.write(".git/info/attributes", "* filter=x\n")
			a.write(".git/commondir", filepath.Join(a.other.dir, ".git")+"\n")
			a.write("a", "x\n")
		},
		"the clone's own settings": func(a attack) {
			for _, pair := range [][2]string{{"core.fsmonitor", a.evil}, {"core.hooksPath", filepath.Dir(a.evil)}, {"filter.x.clean", a.evil}, {"filter.x.process", a.evil}, {"core.alternateRefsCommand", a.evil}} {
				a.tree.git("config", pair[0], pair[1])
			}
			writeProgram(a.t, filepath.Join(filepath.Dir(a.evil), "reference-transaction"), "#!/bin/sh\nexec "+a.evil+"\n")
			a.tree.write(".git/info/attributes", "* filter=x\n")
			a.tree.write("a", "y\n")
		},
		"another repository in the place of the clone's": func(a attack) {
			a.other.git("config", "core.fsmonitor", a.evil)
			a.other.add("a", "a")
			must.Do(a.t, os.RemoveAll(filepath.Join(a.tree.dir, ".git")))
			a.tree.write(".git", "gitdir: "+filepath.Join(a.other.dir, ".git")+"\n")
			a.tree.write("a", "y\n")
		},
		"submodule": func(a attack) {
			a.other.add("s", "s")
			for _, g := range []gitter{a.gitter, a.tree} {
				g.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", a.other.dir, "sub")
				g.commit("submodule")
				sub := g.at(filepath.Join(g.dir, "sub"))
				sub.git("config", "filter.x.clean", a.evil)
				sub.git("config", "core.fsmonitor", a.evil)
				sub.write(".gitattributes", "* filter=x\n")
				sub.write("s", "x")
				g.git("config", "submodule.sub.update", "!"+a.evil)
			}
			a.git("config", "submodule.recurse", "true")
		},
		"a repository of the report": func(a attack) {
			nested := a.at(filepath.Join(a.dir, "nested")).as(own)
			must.Do(a.t, os.Mkdir(nested.dir, 0o700))
			nested.git("init", "--quiet")
			nested.add("n", "n")
			nested.git("config", "diff.x.textconv", a.evil)
			nested.git("config", "log.showSignature", "true")
			nested.git("config", "gpg.program", a.evil)
			nested.write(".git/info/attributes", "* diff=x\n")
		},
	}
	for name, plant := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAttack(t)
			a.origin.add("c", "c")
			a.add("d", "d")
			a.tree.add("e", "e")
			a.revisions = strings.Fields(a.git("rev-parse", "HEAD", "HEAD~1"))
			must.Do(t, os.MkdirAll(filepath.Join(a.dir, ".git/info"), 0o700))
			plant(a)
			_ = os.Remove(a.witness) // what the planting itself ran
			a.everything()
			if ran, err := os.ReadFile(a.witness); err == nil {
				t.Errorf("ran: %s", ran)
			}
		})
	}
}

// TestLockFileNamesNothingElse has a session write into the lock file what a turn would that died.
func TestLockFileNamesNothingElse(t *testing.T) {
	t.Parallel()
	for name, note := range map[string]string{
		"a folder":  `{"run":"0x","doing":"close","remove":"DIR/documents"}`,
		"a rebase":  `{"run":"0x","doing":"sync","branch":"refs/heads/main","top":"DIR","git_dir":"DIR/documents","from":"x"}`,
		"elsewhere": `{"run":"0x","doing":"sync","branch":"refs/heads/main","top":"OTHER","git_dir":"OTHER/.git","from":"x"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, clone := pair(t)
			other := repository(t)
			other.write(".git/rebase-merge", "")
			dir := t.TempDir()
			kept := filepath.Join(dir, "documents/rebase-merge")
			must.Do(t, os.MkdirAll(kept, 0o700))
			clone.write(".git/stint.lock", strings.NewReplacer("DIR", dir, "OTHER", resolved(other.dir)).Replace(note))
			_, _ = clone.places(t.TempDir()).Sync(t.Context(), own)
			if !exists(kept) || !exists(filepath.Join(other.dir, ".git/rebase-merge")) {
				t.Error("gone")
			}
		})
	}
}

// TestGitWritesThroughNoLink plants, in the place of what git writes, links to a file of the
// operator's.
func TestGitWritesThroughNoLink(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"COMMIT_EDITMSG", "ORIG_HEAD", "FETCH_HEAD", "index", "logs/HEAD", "logs/refs/heads/main", "logs",
	} {
		for kind, target := range map[string]string{"a file": "profile", "nothing yet": "absent", "a chain": "chain"} {
			if target != "profile" && name != "COMMIT_EDITMSG" && name != "logs/HEAD" {
				continue
			}
			t.Run(name+" to "+kind, func(t *testing.T) {
				t.Parallel()
				a := newAttack(t)
				a.origin.add("c", "c")
				a.add("d", "d")
				a.tree.add("e", "e")
				home := a.at(t.TempDir())
				home.write("profile", "mine\n")
				if name == "index" && target == "profile" {
					home.write("profile", readText(t, filepath.Join(a.dir, ".git/index")))
				}
				must.Do(t, os.Symlink("absent", filepath.Join(home.dir, "chain")))
				before := readText(t, filepath.Join(home.dir, "profile"))
				link := filepath.Join(a.dir, ".git", name)
				must.Do(t, os.RemoveAll(link))
				must.Do(t, os.Symlink(filepath.Join(home.dir, target), link))
				a.everything()
				if got := readText(t, filepath.Join(home.dir, "profile")); got != before || exists(filepath.Join(home.dir, "absent")) {
					t.Errorf("written through the link: %q", got)
				}
			})
		}
	}
}

func TestLinkInGitsFolderIsNamed(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	link, outside := filepath.Join(clone.dir, ".git/COMMIT_EDITMSG"), filepath.Join(t.TempDir(), "profile")
	clone.add("a", "todo\n")
	plant := func(target string) {
		_ = os.Remove(link)
		must.Do(t, os.Symlink(target, link))
	}
	plant(outside)
	_, err := clone.clone().Sync(t.Context(), own)
	if err == nil || !strings.Contains(err.Error(), link+" is a link to "+outside) || fleet.Hint(err) != "remove the link: rm "+link {
		t.Errorf("got %v, hint %q", err, fleet.Hint(err))
	}
	plant("message") // git's own
	if _, err := clone.clone().Sync(t.Context(), own); err != nil {
		t.Errorf("a link inside of git's folder: %v", err)
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	return string(text)
}
