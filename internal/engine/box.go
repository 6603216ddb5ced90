package engine

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"stint/internal/box"
	"stint/internal/config"
	"stint/internal/fleet"
)

// Boxes makes boxes on this machine.
type Boxes interface {
	// Prove makes a box and tries its walls from inside, and returns it with the layers that hold
	// here. The error says which wall is missing, or why there can be no such box.
	Prove(ctx context.Context, b fleet.Box, t fleet.BoxTrial) (fleet.Box, error)
	// Needs are the files and folders that a program must be able to read to start.
	Needs(program string, environment []string, dir string) []string
}

// box is the box of a session of the agent. Its layers are known once it was proven.
func (e *Engine) box(ctx context.Context, a assignment, agent config.Agent) (fleet.Box, error) {
	profile := fleet.Box{Profile: agent.Box}
	if profile.Open() {
		return profile, nil
	}
	passed := e.Passed(agent)
	variable := func(name string) string { return fleet.Variable(passed, name) }
	own, common, borrowed, err := e.Repo.GitDirs(ctx, a.dir)
	if err != nil {
		return fleet.Box{}, err
	}
	p := box.Places{
		Home: e.Getenv("HOME"), State: e.Config.State, Config: e.Config.Path, Guarded: e.guarded(),
		Dir: a.dir, GitDir: own, GitCommon: common, Files: fleet.FilesOf(e.Config.State, a.run.ID),
		Path: filepath.SplitList(variable("PATH")), Read: agent.Read, Write: agent.Write, Borrowed: borrowed,
	}
	if home := variable("HOME"); home != "" {
		p.Home = home
	}
	git, err := withhold(&p)
	if err != nil {
		return fleet.Box{}, err
	}
	for _, program := range agent.Programs() {
		p.Programs = append(p.Programs, e.Boxes.Needs(program, passed, a.dir)...)
	}
	if login, known := config.PresetLogin(agent.Preset); known {
		p.Own, p.Settings = login.Own(variable)
	}
	if fault := p.Fault(); fault != "" {
		return fleet.Box{}, fleet.WithHint(fmt.Errorf("read and write of agent %s: %s", a.run.Agent, fault),
			`list what is in it; box = "open" is for an agent that may have all of it`)
	}
	b := box.For(agent.Box, p)
	b.Network, b.Git = agent.Network, git
	if git != "" {
		b.Read = append(b.Read, git)
	}
	return b, strayed(b, p)
}

// strayed refuses a box in which a link, that a session may have made, leads to what no box is to show.
func strayed(b fleet.Box, p box.Places) error {
	dir, err := filepath.EvalSymlinks(p.Dir)
	if err != nil {
		dir = p.Dir // a clone that is not there yet
	}
	for _, path := range p.Kept(b) {
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		target, err := filepath.EvalSymlinks(path)
		if err != nil || p.Astray(target, dir) {
			return fleet.WithHint(fmt.Errorf("%s is a link out of the workspace and of what git keeps", path),
				"a session may have made it: remove it, or put what it leads to in its place")
		}
	}
	return nil
}

// guarded are the files that stint runs, or hands to agents as instructions: those of the
// configuration that lie in the workspace.
func (e *Engine) guarded() (list []string) {
	c := e.Config
	add := func(words ...string) {
		for _, word := range words {
			for is := true; is; _, word, is = strings.Cut(word, "=") { // --rules=FILE names one as well
				path := word
				if !filepath.IsAbs(path) {
					path = filepath.Join(c.Workspace, path)
				}
				if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
					list = append(list, path)
				}
			}
		}
	}
	add(c.Selector.Command...)
	add(c.Notice.Command...)
	add(c.Review.Publish...)
	add(c.Review.Outcome...)
	for _, s := range c.Tasks.Sources {
		add(slices.Concat(s.Command, s.Start, s.Done, s.Release)...)
	}
	for _, category := range c.Categories {
		add(category.WIP.Command...)
		add(category.Prompt)
	}
	return list
}

// walled names the variables that lead out of a box: to the user's bus, to agents that hold
// keys, to containers and to the screen.
func walled() []string {
	return []string{
		"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR",
		"DOCKER_HOST", "CONTAINER_HOST", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "TMPDIR",
	}
}

// boxed is the environment of a process in the box.
func boxed(b fleet.Box, environment []string) []string {
	if b.Open() {
		return environment
	}
	environment = slices.DeleteFunc(environment, func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains(walled(), name)
	})
	if b.Git != "" {
		environment = append(environment, "GIT_CONFIG_GLOBAL="+b.Git)
	}
	if b.Layers.Namespaces == "" && b.Layers.Landlock > 0 {
		return append(environment, "TMPDIR="+b.Tmp)
	}
	return environment
}

// proof is what came of the trial of an agent's box.
type proof struct {
	terms fleet.Terms
	box   fleet.Box
	err   error
}

// startBoxes finds out what the boxes of the agents are that may do the run in a category, beside what is
// written of the run: git takes its time to say where it keeps things. The function that it returns waits
// for the end of it.
func (w *worker) startBoxes(ctx context.Context, c fleet.Category) func() []proof {
	done := make(chan []proof, 1)
	category := w.Config.Categories[c]
	a := assignment{run: w.run, category: category, dir: w.folder(category, w.run.ID)}
	agents := w.agents(c)
	go func() {
		var list []proof
		for _, terms := range agents {
			p := proof{terms: terms}
			a.run.Agent = terms.Agent
			p.box, p.err = w.box(ctx, a, w.Config.Agents[terms.Agent])
			list = append(list, p)
		}
		done <- list
	}()
	return sync.OnceValue(func() []proof { return <-done })
}

// startTrials tries the boxes, once each, beside what is to be known before the claim: a box takes
// as long as that. The function that it returns waits for the end of it.
func (w *worker) startTrials(ctx context.Context, c fleet.Category) func() []proof {
	done := make(chan []proof, 1)
	boxes := w.boxes
	if c != w.own {
		boxes = w.startBoxes(ctx, c)
	}
	trial := w.trial(w.run.ID, w.folder(w.Config.Categories[c], w.run.ID))
	go func() {
		list := slices.Clone(boxes())
		for i, p := range list {
			if p.err == nil && !p.box.Open() {
				list[i].box, list[i].err = w.Boxes.Prove(ctx, p.box, trial)
			}
		}
		done <- list
	}()
	return sync.OnceValue(func() []proof { return <-done })
}

// proven are the agents whose boxes hold. When there is none, the error is that of the first.
func (w *worker) proven(ctx context.Context) (list []fleet.Terms, first error) {
	for _, p := range w.trials() {
		name := p.terms.Agent
		if p.err != nil {
			if first == nil {
				first = p.err
			}
			w.Log.ErrorContext(ctx, "box does not hold", w.attrs(slog.String("reason", "agent "+name+": "+p.err.Error()))...)
			continue
		}
		if missing := box.Missing(p.box); !p.box.Open() && len(missing) > 0 {
			w.Log.WarnContext(ctx, "box not complete", w.attrs(slog.String("reason", "agent "+name+": "+strings.Join(missing, "; ")))...)
		}
		p.terms.Box = p.box.String()
		list = append(list, p.terms)
	}
	if len(list) > 0 {
		return list, nil
	}
	return nil, first
}

// trial is what a box of a run that works in dir is tried with.
func (e *Engine) trial(run fleet.RunID, dir string) fleet.BoxTrial {
	return fleet.BoxTrial{
		Files: fleet.FilesOf(e.Config.State, run), Home: e.Getenv("HOME"), State: e.Config.State, Dir: dir, Sockets: e.sockets(),
	}
}

// layers are those that the trial found for the box of the run's agent.
func (w *worker) layers() fleet.BoxLayers {
	for _, p := range w.trials() {
		if p.err == nil && p.terms.Agent == w.run.Agent {
			return p.box.Layers
		}
	}
	return fleet.BoxLayers{}
}

// sockets are where programs listen that act for the user.
func (e *Engine) sockets() (list []string) {
	if bus, is := strings.CutPrefix(e.Getenv("DBUS_SESSION_BUS_ADDRESS"), "unix:path="); is {
		bus, _, _ = strings.Cut(bus, ",")
		list = append(list, bus)
	}
	if dir := e.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		list = append(list, filepath.Join(dir, "bus"), filepath.Join(dir, "gnupg/S.gpg-agent"), filepath.Join(dir, "podman/podman.sock"))
	}
	if ssh := e.Getenv("SSH_AUTH_SOCK"); ssh != "" {
		list = append(list, ssh)
	}
	return append(list, "/run/docker.sock", "/run/dbus/system_bus_socket")
}
