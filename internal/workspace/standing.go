package workspace

import (
	"bytes"
	"context"
	"strings"
	"time"
)

// commit has the known facts of a commit.
type commit struct {
	id      string
	parents []string
	author  string    // name, address and time: what a rebase and an amendment leave as they are
	dated   time.Time // by the committer: when it was made, or made anew
	subject string
}

// commitFormat is a commit in one line, as [parseCommit] reads it.
const commitFormat = "--format=%H%x00%P%x00%an%x00%ae%x00%at%x00%ct%x00%s"

func parseCommit(line string) (c commit, ok bool) {
	fields := strings.SplitN(strings.TrimSuffix(line, "\n"), "\x00", 7)
	if len(fields) != 7 {
		return commit{}, false
	}
	return commit{
		id: fields[0], parents: strings.Fields(fields[1]), author: strings.Join(fields[2:5], "\x00"),
		dated: date(fields[5]), subject: fields[6],
	}, true
}

// before returns the commit to compare with: the first parent, or root if there is none.
func (c commit) before(root string) string {
	if len(c.parents) == 0 {
		return root
	}
	return c.parents[0]
}

// commits lists commits, with arguments of git rev-list that name them.
func (g git) commits(ctx context.Context, args ...string) ([]commit, error) {
	found := &commitLines{}
	err := g.write(ctx, found, append([]string{"rev-list", "--no-commit-header", commitFormat}, args...)...)
	return found.list, err
}

// commitLines keeps the commits of what is written to it, and no other line.
type commitLines struct {
	list []commit
	rest []byte
}

func (l *commitLines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, after, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		if c, ok := parseCommit(string(line)); ok {
			l.list = append(l.list, c)
		}
		l.rest = after
	}
}

// holders are the arguments for the refs whose commits stand. A stash is none of them: it may hold
// a HEAD from before a reset.
func holders() []string { return []string{"--branches", "--remotes", "--tags", "HEAD"} }

// gone are those of the commits that nothing holds, and others that they are on top of.
func (g git) gone(ctx context.Context, steps []step) ([]string, error) {
	args := []string{"rev-list", "--ignore-missing"}
	for _, s := range steps {
		args = append(args, s.to)
	}
	text, err := g.run(ctx, append(append(args, "--not"), append(holders(), "--")...)...)
	return strings.Fields(text), err
}

// branchWith is a branch that holds a commit: the one that is checked out, if it does.
func (g git) branchWith(ctx context.Context, id string) (string, error) {
	text, err := g.run(ctx, "for-each-ref", "--contains", id, "--format=%(HEAD)%(refname:short)", heads)
	first := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, head := strings.CutPrefix(line, "*"); head {
			return name, err
		}
		if first == "" {
			first = line
		}
	}
	return first, err
}
