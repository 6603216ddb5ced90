package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestReady says what is missing before a clone can be made. It takes no filter for missing that may be, or that no file has.
func TestReady(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		do   string
		want string
		hint string
	}{
		"plain":            {},
		"of all":           {do: "git config filter.x.process no-such-program; git config filter.x.required true"},
		"optional":         {do: "git config filter.x.process no-such-program; echo '* filter=x' >.gitattributes"},
		"not needed":       {do: "git config filter.x.process no-such-program; git config filter.x.required false; echo '* filter=x' >.gitattributes"},
		"there":            {do: "git config filter.x.process 'cat -'; git config filter.x.required true; echo '* filter=x' >.gitattributes"},
		"no program":       {do: "git config filter.x.smudge 'no-such-program %f'; git config filter.x.required true; echo '* -text filter=x' >.gitattributes", want: "files with filter=x, which runs no-such-program", hint: "install no-such-program"},
		"by info":          {do: "git config filter.x.process 'no-such-program'; git config filter.x.required true; mkdir -p .git/info; echo '* filter=x' >.git/info/attributes", want: "files with filter=x", hint: "install no-such-program"},
		"of the tree":      {do: "git config filter.x.smudge 'bin/filter %f'; git config filter.x.required true; mkdir bin; cp /bin/cat bin/filter; echo '* filter=x' >.gitattributes"},
		"not in it":        {do: "git config filter.x.smudge './filter %f'; git config filter.x.required true; echo '* filter=x' >.gitattributes", want: "which runs", hint: "install"},
		"of a shell":       {do: "git config filter.x.smudge 'A=b $HOME/no-such-program | cat'; git config filter.x.required true; echo '* filter=x' >.gitattributes"},
		"quoted":           {do: `git config filter.x.smudge '"/opt/a b/program" %f'; git config filter.x.required true; echo '* filter=x' >.gitattributes`},
		"a comment":        {do: "git config filter.x.smudge no-such-program; git config filter.x.required true; echo '# * filter=x' >.gitattributes"},
		"off":              {do: "git config filter.x.smudge no-such-program; git config filter.x.required off; echo '* filter=x' >.gitattributes"},
		"a key":            {do: "git-crypt init >/dev/null; echo 's* filter=git-crypt' >.gitattributes"},
		"never unlocked":   {do: "echo 's* filter=git-crypt' >.gitattributes", want: "no key for it", hint: "git-crypt unlock"},
		"a key of its own": {do: "git-crypt init -k team >/dev/null; echo 's* filter=git-crypt-team' >.gitattributes"},
		"without key":      {do: "git-crypt init >/dev/null; rm -r .git/git-crypt; echo 's* filter=git-crypt' >.gitattributes", want: "no key for it", hint: "git-crypt unlock"},
		"no git":           {do: "rm -r .git", want: "not a work tree of git"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, clone := pair(t)
			shell(t, clone.dir, test.do)
			err := clone.clone().Ready(t.Context())
			if (err != nil) != (test.want != "") || err != nil && (!strings.Contains(err.Error(), test.want) || !strings.Contains(fleet.Hint(err), test.hint)) {
				t.Errorf("got %v (%s), want %q (%s)", err, fleet.Hint(err), test.want, test.hint)
			}
		})
	}
}

// TestBringLarge takes home what hashes to its name, once, and nothing that a session put in the place of a file or a folder.
func TestBringLarge(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	c := clone.clone()
	s := must.Get(c.source(t.Context()))(t)
	sum := func(text string) string { of := sha256.Sum256([]byte(text)); return hex.EncodeToString(of[:]) }
	dir, outside := t.TempDir(), t.TempDir()
	at := func(name string) string {
		return filepath.Join(largeOf(filepath.Join(dir, ".git")), name[:2], name[2:4], name)
	}
	put := func(name, text string) {
		must.Do(t, os.MkdirAll(filepath.Dir(at(name)), 0o700))
		must.Do(t, os.WriteFile(at(name), []byte(text), 0o600))
	}
	put(sum("good"), "good")
	put(sum("other"), "forged")
	must.Do(t, os.MkdirAll(filepath.Dir(at(sum("pipe"))), 0o700))
	must.Do(t, unix.Mkfifo(at(sum("pipe")), 0o600))
	secret := filepath.Join(outside, sum("secret"))
	must.Do(t, os.WriteFile(secret, []byte("secret"), 0o600))
	must.Do(t, os.MkdirAll(filepath.Dir(at(sum("secret"))), 0o700))
	must.Do(t, os.Symlink(secret, at(sum("secret"))))
	must.Do(t, s.bringLarge(t.Context(), dir))
	home := must.Get(filepath.Glob(filepath.Join(largeOf(s.common), "*", "*", "*")))(t)
	want := filepath.Join(largeOf(s.common), sum("good")[:2], sum("good")[2:4], sum("good"))
	must.Equal(t, "home", strings.Join(home, " "), want)
	must.Equal(t, "text", string(must.Get(os.ReadFile(want))(t)), "good")
	must.Equal(t, "left in lfs/tmp", len(must.Get(os.ReadDir(filepath.Join(s.common, "lfs", "tmp")))(t)), 0)

	// A file of two gigabytes costs nothing where it has holes. The time for all of them is limited.
	put(sum("hole"), "")
	must.Do(t, os.Truncate(at(sum("hole")), maxPack-1))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := s.bringLarge(ctx, dir); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want an end to it", err)
	}

	// The folder itself leads out of the clone.
	must.Do(t, os.RemoveAll(filepath.Join(dir, ".git", "lfs")))
	must.Do(t, os.MkdirAll(filepath.Join(outside, "objects", "ab"), 0o700))
	must.Do(t, os.WriteFile(filepath.Join(outside, "objects", "ab", sum("more")), []byte("more"), 0o600))
	must.Do(t, os.Symlink(outside, filepath.Join(dir, ".git", "lfs")))
	must.Do(t, s.bringLarge(t.Context(), dir))
	must.Equal(t, "home", len(must.Get(filepath.Glob(filepath.Join(largeOf(s.common), "*", "*", "*")))(t)), 1)

	// A clone reads the objects and the files of the workspace, and of what that borrows.
	top := t.TempDir()
	shell(t, top, "git clone -q --shared "+fleet.ShellWord(clone.dir)+" b; git clone -q --shared b w")
	read := must.Get(cloneAt(filepath.Join(top, "w")).source(t.Context()))(t).read
	top = resolved(top)
	must.Equal(t, "read", read, []string{filepath.Join(top, "w/.git/objects"), filepath.Join(top, "b/.git/objects"), s.objects, largeOf(s.common)})
}
