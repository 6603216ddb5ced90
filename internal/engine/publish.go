package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/review"
)

// Publisher opens requests for branches at a forge.
type Publisher interface {
	// Publish runs a command that reads the summary, and returns what it prints.
	Publish(ctx context.Context, argv []string, summary []byte) (printed []byte, err error)
}

// Publish pushes the work of a run, and has a request opened for it, once. Work that was published
// as it is stays as it is.
//
// What was decided before stays until all of it is done. If we die before that, another call pushes
// again, which changes nothing, and runs the command again: that prints the address of the request
// that there is.
func (e *Engine) Publish(ctx context.Context, target review.Target, i review.Item) (r fleet.Review, remote string, err error) {
	if i.AtWork != "" {
		return r, "", fmt.Errorf("run %s goes on with the work of run %s: %w", i.AtWork, i.Run, fleet.ErrHeld)
	}
	end, err := e.Trunk.Landings("publishes " + string(i.Run))
	if err != nil {
		return r, "", err
	}
	defer func() { err = errors.Join(err, end()) }()
	all, err := e.Store.Reviews(ctx, i.Run)
	if err != nil {
		return r, "", err
	}
	r = all[i.Run]
	if r.Decision == fleet.DecisionPublished && r.Tip == i.Tip {
		return r, "", nil
	}
	if r.Decision != fleet.DecisionPublished {
		r = fleet.Review{}
	}
	// Until it is pushed, the tip is the one that was published before.
	r = fleet.Review{Run: i.Run, Tip: r.Tip, Decision: fleet.DecisionPublished, URL: r.URL, By: cmp.Or(r.By, e.Operator)}
	if remote, err = e.Trunk.Push(ctx, landing(target, i), r.Tip); err != nil {
		return r, "", err
	}
	if e.Publisher != nil && r.URL == "" { // else the request follows the branch
		argv, summary, err := e.request(ctx, target, i)
		if err != nil {
			return r, remote, err
		}
		printed, err := e.Publisher.Publish(ctx, argv, summary)
		if err != nil {
			return r, remote, fleet.WithHint(fmt.Errorf("branch %s was pushed to %s, but no request opened: %w", i.Name, remote, err),
				"stint review publish "+string(i.Run)+" tries again")
		}
		r.URL = lastURL(string(printed))
	}
	r.Tip = i.Tip
	return r, remote, e.Store.SaveReview(ctx, r)
}

// pushTime is what a push of the target may take: a few commits over a slow line.
const pushTime = 2 * time.Minute

// pushTarget pushes the target, if the operator wants that. A refusal is a notice, and what is in the target stays there.
//
// If we die before it, or in it, the next landing or session pushes all of it.
func (e *Engine) pushTarget(ctx context.Context) {
	if !e.Config.Review.Push {
		return
	}
	ctx = context.WithoutCancel(ctx)
	pushing, cancel := context.WithTimeout(ctx, pushTime)
	defer cancel()
	remote, err := e.Trunk.PushTarget(pushing)
	switch {
	case err != nil:
		e.Log.WarnContext(ctx, "target not pushed", slog.Any("err", err))
		e.notify(ctx, fleet.Notice{Event: fleet.EventTargetStuck, Reason: err.Error(), At: e.Now()})
	case remote != "":
		e.Log.InfoContext(ctx, "target pushed", slog.String("reason", "to "+remote))
	}
}

// request is the command that opens a request, and what it gets to read. The words of the session
// are an argument at most, and no option: each stands in an argument of the configuration.
func (e *Engine) request(ctx context.Context, target review.Target, i review.Item) (argv []string, summary []byte, err error) {
	title, s := "", i.Session
	if s.Task != "" {
		t, err := e.Sources.Get(ctx, s.Task)
		if err != nil && !errors.Is(err, fleet.ErrNotFound) {
			return nil, nil, err
		}
		title = t.Title
	}
	if title = strings.TrimLeft(title, "- "); title == "" { // an argument of its own must be no option
		title = i.Name
	}
	fill := strings.NewReplacer("{branch}", i.Name, "{target}", target.Name, "{title}", plain.Line(title), "{task}", string(s.Task), "{run}", string(i.Run))
	for n, word := range e.Config.Review.Publish {
		if n > 0 {
			word = fill.Replace(word)
		}
		argv = append(argv, word)
	}
	var b strings.Builder
	if s.Verdict.Reason != "" {
		fmt.Fprintf(&b, "%s\n\n", plain.Text(s.Verdict.Reason))
	}
	fmt.Fprintf(&b, "Run %s", i.Run)
	for _, part := range [][2]string{{"task", string(s.Task)}, {"category", string(s.Category)}, {"agent", s.Agent}} {
		if part[1] != "" {
			fmt.Fprintf(&b, ", %s %s", part[0], part[1])
		}
	}
	b.WriteString(".\n")
	return argv, []byte(b.String()), nil
}

// lastURL is the last line that is an address; empty: there is none.
func lastURL(printed string) (last string) {
	for line := range strings.Lines(printed) {
		line = strings.TrimSpace(line)
		address := strings.HasPrefix(line, "https://") || strings.HasPrefix(line, "http://")
		if address && len(strings.Fields(line)) == 1 && plain.Line(line) == line {
			last = line
		}
	}
	return last
}
