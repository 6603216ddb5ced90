package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

const (
	workers  = 3
	sessions = 7 // that close an issue
)

// tryGitHub lets sessions close the issues of a repository.
func tryGitHub(dir, stint, source string) error {
	g := &github{issues: sessions, closes: map[int]int{}}
	api, environment, err := g.serve(dir)
	if err != nil {
		return err
	}
	defer api.Close()
	w, err := newWorkspace(dir, source, environment...)
	if err != nil {
		return err
	}
	if err := w.work(stint); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for n := 1; n <= sessions; n++ {
		if g.closes[n] != 1 {
			return fmt.Errorf("issue %d was closed %d times, want 1", n, g.closes[n])
		}
	}
	fmt.Printf("gh: %d issues closed by %d sessions, each once, and none handed out again\n", len(g.closes), sessions)
	return nil
}

// tryBeads lets sessions close the items of Beads.
func tryBeads(dir, stint, bd, source string) error {
	var items []object
	want := map[string]string{}
	for i := range sessions {
		id := fmt.Sprintf("shop-a%d", i)
		want[id] = "in_progress closed "
		items = append(items, object{"id": id, "title": "Issue " + id, "status": "open", "priority": 2, "issue_type": "task"})
	}
	text, err := json.Marshal(items)
	if err != nil {
		return err
	}
	folder, programs := filepath.Join(dir, ".beads"), filepath.Join(dir, "bin")
	if err := errors.Join(os.MkdirAll(folder, 0o700), os.MkdirAll(programs, 0o700)); err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile(filepath.Join(folder, "items.json"), text, 0o600), os.Symlink(bd, filepath.Join(programs, "bd"))); err != nil {
		return err
	}
	w, err := newWorkspace(dir, source)
	if err != nil {
		return err
	}
	w.environment = append(w.environment, "PATH="+programs+string(filepath.ListSeparator)+os.Getenv("PATH"))
	if err := w.work(stint); err != nil {
		return err
	}
	calls, err := os.ReadFile(filepath.Join(folder, "calls"))
	if err != nil {
		return err
	}
	got := map[string]string{}
	for i, line := range strings.Split(strings.TrimSpace(string(calls)), "\n") {
		id, status, _ := strings.Cut(line, " ")
		if i == 0 { // of the session that said nothing
			want[id] = "in_progress open " + want[id]
		}
		got[id] += status + " "
	}
	for id := range want {
		if got[id] != want[id] {
			return fmt.Errorf("item %s was told %s, want %s", id, got[id], want[id])
		}
	}
	fmt.Printf("stand-in for bd: %d items closed by %d sessions, each once, and none handed out again\n", len(got), sessions)
	return nil
}

// work runs one session that says nothing of its task, and then others side by side, until
// each worker finds no more work. Every task has one session that closes it.
func (w workspace) work(stint string) error {
	if _, err := w.run(stint, "run", "--category", "code", "--agent", "silent"); err != nil {
		return err
	}
	faults := make([]error, workers)
	var all sync.WaitGroup
	for i := range workers {
		all.Go(func() { faults[i] = w.exhaust(stint) })
	}
	all.Wait()
	if err := errors.Join(faults...); err != nil {
		return err
	}
	out, err := w.run(stint, "runs", "--json")
	if err != nil {
		return err
	}
	var list struct {
		Runs []struct{ Task, Outcome string }
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return err
	}
	productive := map[string]int{}
	for _, r := range list.Runs {
		switch r.Outcome {
		case "productive":
			productive[r.Task]++
		case "noop", "idle", "denied": // said nothing, found nothing, came second
		default:
			return fmt.Errorf("%+v: want a session that closes its task", r)
		}
	}
	for task, n := range productive {
		if n != 1 {
			return fmt.Errorf("task %s had %d sessions that closed it", task, n)
		}
	}
	if len(productive) != sessions {
		return fmt.Errorf("%d tasks were closed, want %d", len(productive), sessions)
	}
	return nil
}

// exhaust runs sessions until one finds no task.
func (w workspace) exhaust(stint string) error {
	for range 5 * sessions {
		_, err := w.run(stint, "run", "--category", "code", "--agent", "closes")
		exit, failed := errors.AsType[*exec.ExitError](err)
		switch {
		case failed && exit.ExitCode() == 3:
			return nil
		case failed && exit.ExitCode() == 4: // another has claimed it
		case err != nil:
			return err
		}
	}
	return errors.New("there is no end of work")
}
