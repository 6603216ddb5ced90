package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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

	"golang.org/x/sys/unix"

	"stint/internal/fleet"
)

// Filters of git change files on their way in and out of the objects. Two are known by what they keep in git's folder: git-crypt its
// keys, which a clone gets a copy of, and git-lfs the content of large files, which comes home with the work.

const gitCrypt = "git-crypt"

// largeOf is the folder in which git-lfs keeps the content of large files, by SHA-256.
func largeOf(gitDir string) string { return filepath.Join(gitDir, "lfs", "objects") }

// bringLarge copies the large files of a clone that the workspace lacks. What does not have the sum that its name says is left alone.
// Nothing that the session put in the place of a folder leads out of the clone.
//
// If we die in it, there is a file of ours in the workspace's lfs/tmp, which git-lfs removes after an hour.
func (s source) bringLarge(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, insideTime, fmt.Errorf("time-out after %v", insideTime))
	defer cancel()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // it was only read
	return fs.WalkDir(root.FS(), filepath.ToSlash(largeOf(".git")), func(path string, d fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if err != nil || !d.Type().IsRegular() || len(name) != 2*sha256.Size || !isID(name) {
			return nil // what cannot be read is no file of git-lfs
		}
		home := filepath.Join(largeOf(s.common), name[:2], name[2:4], name)
		if exists(home) {
			return nil
		}
		from, err := root.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		defer from.Close()
		return storeLarge(during{ctx, from}, filepath.Join(s.common, "lfs", "tmp"), home)
	})
}

// during reads while its context lasts: a file of two gigabytes costs a session nothing where it has holes.
type during struct {
	ctx  context.Context //nolint:containedctx // of one call
	from io.Reader
}

func (d during) Read(p []byte) (int, error) {
	if d.ctx.Err() != nil {
		return 0, context.Cause(d.ctx)
	}
	return d.from.Read(p)
}

// storeLarge makes a file of what is read, if that has the sum which its name says.
func storeLarge(from io.Reader, scratch, path string) error {
	for _, folder := range []string{scratch, filepath.Dir(path)} {
		if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // as git-lfs makes them
			return err
		}
	}
	to, err := os.CreateTemp(scratch, "stint-")
	if err != nil {
		return err
	}
	defer func() { _ = errors.Join(to.Close(), os.Remove(to.Name())) }() // which is another file's name by then, or nobody's
	sum := sha256.New()
	if n, err := io.Copy(io.MultiWriter(to, sum), io.LimitReader(from, maxPack)); err != nil || n == maxPack {
		return errors.Join(fmt.Errorf("large file %s: %d bytes read, %d are too many", filepath.Base(path), n, int64(maxPack)), err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != filepath.Base(path) {
		return nil // git-lfs had not written all of it
	}
	if err := to.Sync(); err != nil {
		return err
	}
	return os.Rename(to.Name(), path)
}

// Ready says why no clone of the workspace can be made, or its work cannot come home: git's folder cannot be written, or a filter
// of the repository's files that must work cannot.
func (c Clone) Ready(ctx context.Context) error {
	s, err := c.source(ctx)
	if err != nil {
		return err
	}
	for _, folder := range []string{s.common, s.objects, filepath.Join(s.common, "refs")} {
		if err := unix.Access(folder, unix.W_OK); err != nil {
			return fleet.WithHint(fmt.Errorf("stint cannot write in %s: %w", folder, err),
				"ls -ld "+fleet.ShellWord(folder)+"; findmnt -T "+fleet.ShellWord(folder))
		}
	}
	var named []string // by the attributes of the workspace
	for _, path := range []string{filepath.Join(s.top, ".gitattributes"), filepath.Join(s.common, "info", "attributes")} {
		if text, err := readFile(path); err == nil {
			for _, m := range regexp.MustCompile(`(?m)^[^#\n].*\sfilter=(\S+)`).FindAllStringSubmatch(string(text), -1) {
				named = append(named, m[1])
			}
		}
	}
	for _, name := range named {
		filter := "filter." + name + "."
		command := s.value(filter + "process")
		if command == "" {
			command = s.value(filter + "smudge")
		}
		// Without its key the filter is not there, and a session would commit the plain text.
		if strings.HasPrefix(name, gitCrypt) && !exists(filepath.Join(s.common, gitCrypt, "keys")) {
			return fleet.WithHint(fmt.Errorf("%s has files with filter=%s, and no key for it", s.top, name),
				"cd "+fleet.ShellWord(s.top)+"; git-crypt unlock")
		}
		required := strings.ToLower(s.value(filter + "required"))
		if command == "" || slices.Contains([]string{"", "false", "no", "off", "0"}, required) {
			continue
		}
		// Only the shell can say what more than a name or a path stands for. Git runs it in the work tree.
		if m := regexp.MustCompile(`^\s*(["']?)([\w.+/-]+)(["']?)(\s|$)`).FindStringSubmatch(command); m != nil && m[1] == m[3] {
			word := m[2]
			if strings.Contains(word, "/") && !filepath.IsAbs(word) {
				word = filepath.Join(s.top, word)
			}
			if _, err := exec.LookPath(word); err != nil {
				return fleet.WithHint(fmt.Errorf("%s has files with filter=%s, which runs %s: %w", s.top, name, word, err), "install "+word)
			}
		}
	}
	return nil
}
