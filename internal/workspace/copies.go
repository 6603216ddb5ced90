package workspace

import (
	"context"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxBack bounds the search for originals of copies: as many commits, by first parents, before the session began. Of later commits
// and of branches, at most maxEarlier are read: the last ones that change the first file of a commit of the session's, or its
// tests. Of their changes, maxCopied bytes are read.
const maxBack, maxEarlier, maxCopied = 1000, 1000, 2 * maxPatch

// earlier has what commits of others tell about those of a session.
type earlier struct {
	originals map[string]string // by commit of the session: the oldest that changes the same
	generated map[string]bool   // the files that say that a program writes them
}

// upTo are the arguments for a list of commits that may be the originals of others: from these tips back to [maxBack] before a commit.
func upTo(base string, tips ...string) []string {
	if base != "" {
		tips = append(tips, "^"+base+"~"+strconv.Itoa(maxBack)) // which need not be there
	}
	return tips
}

// notAfter keeps commits out of such a list that are younger than all of these: others copied those.
func notAfter(commits map[string]commit, steps []step) string {
	first := time.Time{}
	for _, s := range steps {
		if at := commits[s.to].dated; first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return "--until=" + strconv.FormatInt(first.Unix(), 10)
}

// earlier looks for the originals of commits, whose patches are shown, in a list of commits. A history that is not all here, as that
// of a partial clone, has none: git is not to fetch it now.
func (g git) earlier(ctx context.Context, shown string, made map[string]net, list []string) (e earlier, err error) {
	e.originals, e.generated = map[string]string{}, map[string]bool{}
	e.readGenerated(shown)
	files, tests := []string{}, testNames()
	for _, n := range made {
		for i, file := range slices.Sorted(maps.Keys(n)) {
			if (i == 0 || tests.MatchString(file)) && !strings.Contains(file, "\n") {
				files = append(files, file)
			}
		}
	}
	if len(files) == 0 {
		return e, nil
	}
	args := slices.Concat([]string{
		"-c", "core.quotePath=false", "--literal-pathspecs", "log", "--stdin",
		"--ignore-missing", "--format=%H", "--no-merges", "--full-history", "--full-diff", "--max-count=" + strconv.Itoa(maxEarlier),
	}, patchOptions(), list)
	g.env = append(slices.Clone(g.env), "GIT_NO_LAZY_FETCH=1")
	history, _, err := g.feed(lines(append([]string{"--"}, files...))).head(ctx, maxCopied, args...)
	if err != nil || history == "" {
		return e, ctx.Err()
	}
	e.readGenerated(history)
	ids, err := g.feed(io.MultiReader(strings.NewReader(shown), strings.NewReader(history))).run(ctx, "patch-id", "--stable")
	by, own := map[string]string{}, map[string]string{}
	for line := range strings.Lines(ids) {
		patch, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		if made[id] != nil {
			own[id] = patch
		} else {
			by[patch] = id
		}
	}
	for id, patch := range own {
		e.originals[id] = by[patch]
	}
	return e, err
}

// readGenerated finds the files of which a patch adds the line by which they say that a program writes them.
func (e earlier) readGenerated(patches string) {
	says, file := regexp.MustCompile(`(?i)@generated\b|\bgenerated\b.*\bdo not (edit|modify)`), ""
	for line := range strings.Lines(patches) {
		switch {
		case strings.HasPrefix(line, "diff --git "):
			file = fileOf(strings.TrimSpace(strings.TrimPrefix(line, "diff --git ")))
		case line[0] == '+' && strings.Contains(line, "enerated") && says.MatchString(line):
			e.generated[file] = true
		}
	}
}
