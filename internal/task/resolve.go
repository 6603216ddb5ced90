package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"stint/internal/command"
	"stint/internal/fleet"
	"stint/internal/plain"
)

const (
	resolvers = 4 // at once: it is somebody else's server that is asked
	// resolveTime is for all URLs together: a fire has five minutes, and a person at a terminal
	// has less. A URL that is not asked in time is open.
	resolveTime = time.Minute
)

// Resolver asks a command whether what a URL stands for is settled: exit status 0
// says so, 1 that it is open.
type Resolver struct {
	Command command.Command // the URL becomes its last argument; without a program every URL is open
}

// settle takes out of the tasks' Requires, in place, the URLs that are settled. It
// asks once for each that an open task requires. A URL without an answer is open, and a
// problem.
func (r Resolver) settle(ctx context.Context, tasks []fleet.Task) []fleet.TaskProblem {
	if len(r.Command.Argv) == 0 {
		return nil
	}
	urls := requiredURLs(tasks)
	settled, errs := r.ask(ctx, urls)
	done := map[string]bool{}
	for i, url := range urls {
		done[url] = settled[i]
	}
	for i, t := range tasks {
		if slices.ContainsFunc(t.Requires, func(need string) bool { return done[need] }) {
			tasks[i].Requires = slices.DeleteFunc(slices.Clone(t.Requires), func(need string) bool { return done[need] })
		}
	}
	return unanswered(urls, errs)
}

// unanswered is a problem for each URL that gave no answer, but one for all that ran
// out of time: a server that hangs is one trouble, however many URLs it has.
func unanswered(urls []string, errs []error) (problems []fleet.TaskProblem) {
	late, first := 0, 0
	for i, err := range errs {
		if err == nil {
			continue
		}
		if errors.Is(err, command.ErrTimeout) {
			if late++; late > 1 {
				continue
			}
			first = len(problems)
		}
		problems = append(problems, fleet.TaskProblem{
			Path: urls[i], Reason: "counts as open: " + plain.Line(err.Error()), Kept: true,
		})
	}
	if late > 1 {
		problems[first].Reason += fmt.Sprintf(" (and so %d URLs in all)", late)
	}
	return problems
}

// ask asks for each URL, a few at a time.
func (r Resolver) ask(ctx context.Context, urls []string) (settled []bool, errs []error) {
	settled, errs = make([]bool, len(urls)), make([]error, len(urls))
	ctx, cancel := context.WithTimeoutCause(ctx, resolveTime, fmt.Errorf("%w after %v for all URLs", command.ErrTimeout, resolveTime))
	defer cancel()
	places := make(chan struct{}, resolvers)
	var all sync.WaitGroup
	for i, url := range urls {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			settled[i], errs[i] = r.settled(ctx, url)
		})
	}
	all.Wait()
	return settled, errs
}

func (r Resolver) settled(ctx context.Context, url string) (bool, error) {
	c := r.Command
	c.Argv = append(slices.Clone(c.Argv), url)
	_, err := c.Output(ctx)
	if exit, ok := errors.AsType[*command.ExitError](err); ok && exit.Status == 1 {
		return false, nil
	}
	return err == nil, err
}

// requiredURLs are the URLs that open tasks require, each once, in their order.
func requiredURLs(tasks []fleet.Task) []string {
	var urls []string
	seen := map[string]bool{}
	for _, t := range tasks {
		if !t.State.Workable() {
			continue
		}
		for _, need := range t.Requires {
			if isURL(need) && !seen[need] {
				seen[need] = true
				urls = append(urls, need)
			}
		}
	}
	return urls
}

// isURL reports whether s begins with a scheme, as an option of the command whose
// argument it becomes does not.
func isURL(s string) bool {
	letter := s != "" && ('a' <= s[0] && s[0] <= 'z' || 'A' <= s[0] && s[0] <= 'Z')
	return letter && strings.Contains(s, "://") && !strings.ContainsFunc(s, unicode.IsControl)
}
