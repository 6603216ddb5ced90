package workspace

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// PushTarget brings the target to its remote, and names that; empty: there is nothing new by git's last look. The branch
// there only moves forward: where it has other commits, that is an error.
func (c Clone) PushTarget(ctx context.Context) (remote string, err error) {
	g, _, err := c.git(ctx, string(c.Dir))
	if err != nil {
		return "", err
	}
	v, err := c.see(ctx, g)
	a := v.aim
	switch {
	case err != nil:
		return "", err
	case a.ref == "":
		return "", errors.New("push the target: HEAD is detached")
	case a.theirs != "" && !strings.Contains(a.track, "ahead"):
		return "", nil
	}
	if remote, err = g.remoteOf(ctx, a.name); err != nil {
		return "", err
	}
	to := a.ref
	upstream, err := g.run(ctx, "for-each-ref", "--format=%(upstream:remotename) %(upstream:remoteref)", a.ref)
	if from, branch, _ := strings.Cut(upstream, " "); from == remote {
		to = branch
	}
	if err == nil {
		err = g.insist(ctx, "push", "--quiet", "--receive-pack=git-receive-pack", "--no-recurse-submodules", "--no-follow-tags", "--",
			remote, a.ref+":"+to)
	}
	if err != nil {
		return "", fmt.Errorf("push %s to %s: %w", a.name, remote, err)
	}
	return remote, nil
}
