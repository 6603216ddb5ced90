package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// kind is a kind of repository: scripts for a shell. The workspace is "w" where make leaves it, beside what it came from.
type kind struct {
	make string
	work string // of a session, in its clone; empty: one new file in a commit
	in   string // what the session sees there before it works, by the script see
	see  string
	land string // what the workspace has in the end, by the script look, in it
	look string
	dir  string // of the workspace; empty: w
	none bool   // the session's work is not landed

	after string // what a person does then, in the workspace
	ends  string // and sees
}

// seed makes a repository with two commits and folders.
const seed = `
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=protocol.file.allow GIT_CONFIG_VALUE_0=always
seed() { d=$1; shift; git init -q -b main "$@" "$d"; (cd "$d"; mkdir a b; echo 1 >a/x; echo 2 >b/y; git add .; git commit -qm one; echo 3 >>a/x; git commit -qam two); }
`

func kinds() map[string]kind {
	return map[string]kind{
		"plain":  {make: "seed w", land: "one two work", look: subjects},
		"unborn": {make: "git init -q -b main w", land: "Begin work", look: subjects},
		"sparse, cone": {
			make: "seed w; git -C w sparse-checkout set --cone a", see: "ls", in: "a",
			work: "echo 4 >>a/x; git commit -qam work", land: "a one two work", look: "ls; " + subjects,
		},
		"sparse, in a linked worktree": {
			make: "seed w0; git -C w0 switch -q --detach; git -C w0 worktree add -q $PWD/w main; git -C w sparse-checkout set --cone b", see: "ls", in: "b",
			work: "echo 4 >>b/y; git commit -qam work", land: "b one two work", look: "ls; " + subjects,
		},
		"partial": {
			make: `seed up; git -C up config uploadpack.allowFilter true; git -C up config uploadpack.allowAnySHA1InWant true
for i in 1 2; do echo $i >up/b/y; git -C up commit -qam $i; done; git clone -q --filter=blob:none "file://$PWD/up" w`,
			see: "git rev-list --count HEAD", in: "4", land: "one two 1 2 work", look: subjects,
		},
		"partial, behind": { // whose blobs come with the files of the session, or never
			make: `seed up; git -C up config uploadpack.allowFilter true; git -C up config uploadpack.allowAnySHA1InWant true
git clone -q --filter=blob:none "file://$PWD/up" w; for i in 1 2; do echo $i >up/b/y; echo z$i >up/a/z; git -C up add .; git -C up commit -qm $i; done; git -C w fetch -q`,
			see: "cat b/y", in: "2", work: "echo 4 >>a/x; git commit -qam work", land: "one two 1 2 work", look: subjects,
		},
		"partial, sparse": {
			make: `seed up; git -C up config uploadpack.allowFilter true; git -C up config uploadpack.allowAnySHA1InWant true
git clone -q --filter=blob:none --sparse "file://$PWD/up" w`,
			work: "git sparse-checkout add b; echo 4 >b/z; git add .; git commit -qm work", land: "one two work", look: subjects,
		},
		"shallow": {
			make: `seed up; git clone -q --depth 1 "file://$PWD/up" w`, see: "git rev-list --count HEAD", in: "1", land: "two work", look: subjects,
		},
		"SHA-256": {make: "seed w --object-format=sha256", see: "git rev-parse --show-object-format", in: "sha256", land: "one two work", look: subjects},
		".bare with worktrees": {
			make: `seed s; git clone -q --bare s p/.bare; echo "gitdir: ./.bare" >p/.git; git -C p worktree add -q main main`, dir: "p/main",
			land: "one two work", look: subjects,
		},
		"linked worktree": {
			make: "seed w0; git -C w0 switch -q --detach; git -C w0 worktree add -q $PWD/w main", land: "one two work", look: subjects,
		},
		"alternates of alternates": {
			make: `seed a; git clone -q --shared a b; git -C b commit -q --allow-empty -m b; git clone -q --shared b w; git -C w commit -q --allow-empty -m w`,
			see:  "git rev-list --count HEAD", in: "4", land: "one two b w work", look: subjects,
		},
		"relative alternates": {
			make: `seed a; git clone -q --shared a w; echo ../../../a/.git/objects >w/.git/objects/info/alternates`, land: "one two work", look: subjects,
		},
		"replaced": {
			make: `seed w; git -C w commit -q --allow-empty -m three; git -C w replace --graft HEAD HEAD~2`,
			see:  "git rev-list --count HEAD", in: "2", land: "one two three work", look: "git --no-replace-objects log --reverse --format=%s",
		},
		"grafts": {
			make: `seed w; git -C w commit -q --allow-empty -m three; cd w; git rev-parse HEAD HEAD~2 | tr '\n' ' ' >.git/info/grafts`,
			see:  "git rev-list --count HEAD 2>/dev/null", in: "2", land: "one two three work",
			look: "rm .git/info/grafts; " + subjects,
		},
		"50,000 refs": {
			make: `seed w; cd w; h=$(git rev-parse main); (echo "# pack-refs with: peeled fully-peeled sorted"
i=10000; while [ $i -lt 60000 ]; do echo "$h refs/remotes/origin/b$i"; i=$((i+1)); done) >.git/packed-refs; git tag -a v1 -m v1`,
			see: "git rev-parse origin/b59999 v1^{commit} | uniq | wc -l", in: "1", land: "one two work", look: subjects,
		},
		"names": {
			make: `seed w; cd w; printf x >"$(printf 'l\351')"; printf x >"$(printf 'new\nline')"; printf x >'q"uo\te'; ln -s /etc/passwd out; ln -s a/x in; echo 1 >Case; echo 2 >case
git init -q nested; git -C nested commit -q --allow-empty -m i; git add . 2>/dev/null; git commit -qm names`,
			see: "git status --porcelain; git ls-files | wc -l; readlink out", in: "10 /etc/passwd",
			work: "echo y >>Case; git commit -qam work", land: "1 y", look: "cat Case",
		},
		"settings by folder and branch": {
			make: `seed w; printf '[user]\n email = folder@x\n' >f; printf '[user]\n name = branch\n' >b
git -C w config "includeIf.gitdir:$PWD/w/.path" $PWD/f; git -C w config includeIf.onbranch:main.path $PWD/b`,
			see: "git config user.email; git config user.name", in: "folder@x branch", land: "one two work", look: subjects,
		},
		"husky": {
			make: `seed w; cd w; mkdir -p .husky/_; echo '*' >.husky/_/.gitignore; printf '#!/bin/sh\n. "$(dirname "$0")/../pre-commit"\n' >.husky/_/pre-commit; chmod +x .husky/_/pre-commit
echo 'echo husky ran >&2' >.husky/pre-commit; git add .husky; git commit -qm husky; git config core.hooksPath .husky/_`,
			work: `echo n >n; git add n; git commit -qm work 2>log; echo log >>.git/info/exclude; grep -q "husky ran" log`,
			land: "one two husky work", look: subjects,
		},
		"a hook with a library": {
			make: `seed w; cd w/.git; mkdir -p hooks/lib; printf '#!/bin/sh\n. "$(cd "$(dirname "$0")" && pwd)/lib/x.sh"\n' >hooks/pre-commit; chmod +x hooks/pre-commit; echo 'echo lib ran >&2' >hooks/lib/x.sh`,
			work: `echo n >n; git add n; git commit -qm work 2>.git/log; grep -q "lib ran" .git/log`, land: "one two work", look: subjects,
		},
		"hooks of all repositories": {
			make: `seed w; mkdir gh; printf '#!/bin/sh\necho global hook >&2\n' >gh/pre-commit; chmod +x gh/pre-commit; git -C w config core.hooksPath $PWD/gh`,
			work: `echo n >n; git add n; git commit -qm work 2>.git/log; grep -q "global hook" .git/log`, land: "one two work", look: subjects,
		},
		"a filter": { // as of git-crypt: where its program is not in the box, a session would commit the plain text
			make: `seed w; cd w; git config filter.rot.clean 'tr a-z n-za-m'; git config filter.rot.smudge 'tr a-z n-za-m'; echo 'secret* filter=rot' >.gitattributes
echo word >secret; git add .; git commit -qm rot`,
			see: "cat secret", in: "word",
			work: "echo more >secret2; git add .; git commit -qm work; git show HEAD:secret2 >.git/log; grep -qx zber .git/log", none: true,
		},
		"git-crypt": {
			make: `seed w; cd w; git-crypt init >.git/log; echo 'secret* filter=git-crypt diff=git-crypt' >.gitattributes; echo word >secret; git add .; git commit -qm crypt`,
			see:  "cat secret", in: "word",
			work: "echo more >secret2; git add .; git commit -qm work; git show HEAD:secret2 | head -c 9 | grep -qa GITCRYPT", none: true,
		},
		"LFS": { // large files of sessions come home with the commits that name them
			make: `seed w; cd w; git lfs install --local >.git/log; git lfs track '*.bin' >.git/log; head -c 5000 /dev/zero >big.bin; git add .; git commit -qm lfs`,
			see:  "wc -c <big.bin; git lfs ls-files -s", in: "5000 7ca5bd879f * big.bin (5.0 KB)",
			work: "head -c 70000 /dev/zero >new.bin; git add .; git commit -qm work; git show HEAD:new.bin | grep -q '^size 70000'", none: true,
			after: "git merge -q --ff-only stint/bob/" + string(own) + "; wc -c <new.bin; git lfs fsck", ends: "70000 Git LFS fsck OK",
		},
		"reftable": { // where git knows them
			make: "seed w --ref-format=reftable 2>/dev/null || seed w", land: "one two work", look: subjects,
		},
		"core.worktree": {
			make: `seed w; mv w/.git g.git; git --git-dir=g.git config core.worktree $PWD/w; echo "gitdir: $PWD/g.git" >w/.git`, land: "one two work", look: subjects,
		},
		"a submodule": {
			make: "seed sub; seed w; git -C w submodule --quiet add $PWD/sub vendor; git -C w commit -qm sub",
			work: "git submodule --quiet update --init; ls vendor >.git/log; grep -qx a .git/log; echo n >n; git add n; git commit -qm work",
			land: "one two sub work", look: subjects,
		},
		"a submodule with a commit of its own": {
			make: "seed sub; seed w; git -C w submodule --quiet add $PWD/sub vendor; git -C w commit -qm sub",
			work: "git submodule --quiet update --init; cd vendor; echo s >s; git add s; git commit -qm inside; cd ..; git commit -qam work", none: true,
		},
		"a day": {
			make: `seed up; git clone -q up w; git -C up switch -q -c feat; git -C up commit -q --allow-empty -m feat; git -C up switch -q main; git -C up tag v1
git -C w fetch -q --tags; git -C w remote set-url origin ../up; (cd up; echo up >up; git add up; git commit -qm upstream)`,
			work: `git fetch -q origin; git describe --tags >.git/log; grep -q ^v1 .git/log; echo n >n; git add n; git commit -qm n; echo s >>n; git stash -q; git rebase -q origin/main; git stash pop -q
git commit -qam work; git worktree add -q tree; git worktree remove tree; git merge-base HEAD origin/HEAD >.git/log; git switch -q feat 2>.git/log || git switch -q -c feat origin/feat; git switch -q -`,
			land: "one two upstream n work", look: subjects,
		},
	}
}

const subjects = "git log --reverse --format=%s"

// TestKinds has a session work in a clone of each kind of repository, and its work land.
func TestKinds(t *testing.T) {
	t.Parallel()
	for name, k := range kinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := resolved(t.TempDir())
			shell(t, top, seed+k.make)
			if k.dir == "" {
				k.dir = "w"
			}
			ws := gitter{t: t, dir: filepath.Join(top, k.dir)}
			p := ws.places(filepath.Join(top, "clones"))
			must.Do(t, os.Mkdir(p.Root, 0o700))
			dir := filepath.Join(p.Root, string(own))
			w := must.Get(p.Open(t.Context(), own, dir))(t)
			if got := shell(t, dir, "git status --porcelain"); got != "" {
				t.Errorf("a new clone has changes: %s", got)
			}
			if k.see != "" {
				must.Equal(t, "in the clone", shell(t, dir, k.see), k.in)
			}
			if k.work == "" {
				k.work = "echo new >new; git add new; git commit -qm work"
			}
			shell(t, dir, seed+k.work)
			work := must.Get(p.Work(t.Context(), dir, fleet.FilesOf(top, own)))(t)
			if work.Commits == 0 || work.Files == 0 {
				t.Errorf("got %+v, want a commit", work)
			}
			must.Get(p.Close(t.Context(), w))(t)
			l := fleet.Landing{Run: own, Branch: w.Branch, Tip: ws.git("rev-parse", w.Branch), Target: "main"}
			s := must.Get(p.Stack(t.Context(), l))(t)
			moved, err := p.Advance(t.Context(), s)
			if k.none {
				if err == nil || moved || fleet.Hint(err) == "" {
					t.Errorf("landed: %v, %v, want a refusal with a hint", moved, err)
				}
				if k.after != "" {
					must.Equal(t, "afterwards", shell(t, ws.dir, k.after), k.ends)
				}
				return
			}
			if err != nil || !moved {
				t.Fatalf("landed: %v, %v, %+v", moved, err, s)
			}
			must.Equal(t, "landed", shell(t, ws.dir, k.look), k.land)
			if got := shell(t, ws.dir, "git status --porcelain --untracked-files=no"); got != "" {
				t.Errorf("the workspace has changes: %s", got)
			}
		})
	}
}

// shell runs a script in a folder, and returns the words that it prints.
func shell(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", script)
	var said strings.Builder
	cmd.Dir, cmd.Env, cmd.Stderr = dir, person(), &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, said.String())
	}
	return strings.Join(strings.Fields(string(out)), " ")
}
