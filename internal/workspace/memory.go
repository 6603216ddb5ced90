package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"stint/internal/review"
)

// memory keeps what was found of branches: an unchanged branch costs no look.
type memory struct {
	Target   string                   // at which commit of it
	Branches map[string]review.Branch // by [keyOf]
}

// MemoryFile is the name of the cache of findings about branches in the fleet's state folder. It may be removed at any time.
const MemoryFile = "review.cache"

// memory is the path of that file; empty: nothing is remembered.
func (c Clone) memory() string {
	if c.Root == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(c.Root), MemoryFile)
}

// rules are those by which branches were judged. Their number grows with every change of them: what an older stint found is found
// out again.
const rules = "1"

// keyOf stands for a branch, and for what its run made, by which one that was merged is told from one on which nothing happened.
func keyOf(tip string, made []string) string {
	sum := sha256.Sum256([]byte(strings.Join(slices.Concat([]string{rules}, made, []string{tip}), " ")))
	return hex.EncodeToString(sum[:12])
}

// tells fills in what is known of a branch.
func (m memory) tells(b *review.Branch, made []string) bool {
	known, found := m.Branches[keyOf(b.Tip, made)]
	if found {
		known.Run, known.Name, known.Dir, known.Apart, known.Since = b.Run, b.Name, b.Dir, b.Apart, b.Since
		*b = known
	}
	return found
}

// recall returns the findings that still hold for the target. After the target moved, a finding holds if no newer commit there changed
// the branch's files or names its commits. A memory that cannot be read is found out again.
func (c Clone) recall(ctx context.Context, g git, target string) (m memory) {
	text, err := os.ReadFile(c.memory())
	if err != nil || gob.NewDecoder(bytes.NewReader(text)).Decode(&m) != nil {
		return memory{}
	}
	if m.Target == target {
		return m
	}
	if _, onward, err := g.asks(ctx, "merge-base", "--is-ancestor", m.Target, target); err != nil || !onward {
		return memory{}
	}
	since := pending{git: g, target: target}
	if _, err := since.readHistory(ctx, m.Target); err != nil || len(since.history) == maxHistory {
		return memory{}
	}
	named := map[string]bool{}
	for _, c := range since.history {
		for _, id := range slices.Concat(c.Reverts, c.Copies) {
			named[id] = true
		}
	}
	for key, b := range m.Branches {
		touched := slices.ContainsFunc(b.Files, func(file string) bool { _, is := since.touched[file]; return is })
		said := slices.ContainsFunc(append(slices.Clone(b.Commits), b.By, b.Tip), func(id string) bool { return named[id] })
		if len(b.Files) == 0 || touched || said {
			delete(m.Branches, key)
			continue
		}
		b.Left, b.Landed = min(b.Left+len(since.history), review.LongAgo), min(b.Landed+len(since.history), review.LongAgo)
		m.Branches[key] = b
	}
	return m
}

// waiting are the tips of branches with work that the target does not have, as far as that is remembered.
func (c Clone) waiting(ctx context.Context) map[string]bool {
	g, t, err := c.target(ctx)
	if err != nil {
		return nil
	}
	tips := map[string]bool{}
	for _, b := range c.recall(ctx, g, t.Tip).Branches {
		tips[b.Tip] = b.Landing == review.Waiting
	}
	return tips
}

// keep replaces the file. Where that cannot be written, the next look finds out the same again.
//
// If we die in it, the old file is there, and perhaps a temporary one beside it.
func (m memory) keep(path string) {
	var text bytes.Buffer
	if path != "" && gob.NewEncoder(&text).Encode(m) == nil {
		_ = renameio.WriteFile(path, text.Bytes(), 0o600, renameio.WithTempDir(filepath.Dir(path)))
	}
}
