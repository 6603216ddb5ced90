package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"stint/internal/box"
	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/plain"
)

// startTrials makes and tries the boxes of the agents that may do the run in a category, once each, beside what is to be
// known before the claim: that takes as long. The function that it returns waits for the end of it.
func (w *worker) startTrials(ctx context.Context, c fleet.Category) func() []proof {
	done := make(chan []proof, 1)
	a := assignment{run: w.run, category: w.Config.Categories[c]}
	a.dir = w.folder(a.category, w.run.ID)
	trial, agents := w.trial(w.run.ID, a.dir), w.agents(c)
	go func() {
		var list []proof
		for _, terms := range agents {
			p := proof{terms: terms}
			a.run.Agent = terms.Agent
			if p.box, p.err = w.box(ctx, a, w.Config.Agents[terms.Agent]); p.err == nil && !p.box.Open() {
				p.box, p.err = w.Boxes.Prove(ctx, p.box, trial)
			}
			list = append(list, p)
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

// proof has the result of the trial of an agent's box.
type proof struct {
	terms fleet.Terms
	box   fleet.Box
	err   error
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

// trial lists the attempts that test the box of a run in dir.
func (e *Engine) trial(run fleet.RunID, dir string) fleet.BoxTrial {
	return fleet.BoxTrial{
		Files: fleet.FilesOf(e.Config.State, run), Home: e.Getenv("HOME"), State: e.Config.State, Dir: dir, Sockets: e.sockets(),
	}
}

// sockets lists the sockets of programs that act for the user. A connection to stint's own asks for a fire: it is tried last.
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
	list = append(list, "/run/docker.sock", "/run/dbus/system_bus_socket")
	if dir := e.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		own, _ := filepath.Glob(plain.GlobIn(dir, "stint/*"))
		list = append(list, own...)
	}
	return list
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
	p.Own = agent.CLI.Own(variable, a.dir)
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

// withhold finds which settings of the operator's tools have a token in them, so that the box leaves those out. In a shared
// workspace git goes by a copy of its own settings without the lines that have one, which is returned: it names who commits.
//
// If we die in it, the copy goes with the folder of the run.
func withhold(p *box.Places) (git string, err error) {
	for _, path := range box.Settings(p.Home) {
		at, _ := filepath.EvalSymlinks(path) // a link to a folder of settings, as some keep theirs
		_ = filepath.WalkDir(at, func(file string, d fs.DirEntry, err error) error {
			text, lost := os.ReadFile(file)
			if err == nil && lost == nil && !d.IsDir() && withoutTokens(string(text)) != string(text) && !slices.Contains(p.Tokens, path) {
				p.Tokens = append(p.Tokens, path)
			}
			return nil
		})
	}
	settings := box.GitSettings(p.Home)
	if len(p.Borrowed) > 0 || !slices.ContainsFunc(settings, func(path string) bool { return slices.Contains(p.Tokens, path) }) {
		return "", nil // a clone has settings of its own
	}
	p.Tokens = append(p.Tokens, settings...)
	var all strings.Builder
	for _, path := range settings {
		text, _ := os.ReadFile(path) // one of them may be missing
		all.WriteString(withoutTokens(string(text)) + "\n")
	}
	// Nothing that is in the place of the copy is followed or kept.
	if err := errors.Join(os.MkdirAll(p.Files.Dir, 0o700), os.RemoveAll(p.Files.Git)); err != nil {
		return "", err
	}
	file, err := os.OpenFile(p.Files.Git, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(all.String())
	return p.Files.Git, errors.Join(err, file.Close())
}

// withoutTokens is a text of settings without the lines that have a login in an address, a name for a secret before an equals
// sign, or a token by its form. A section that has one in its name gets another name, so that what follows belongs to no other.
func withoutTokens(text string) string {
	token := regexp.MustCompile(`(?i)https?://[^/\s"'@]+@|extraheader|(gh[opsur]_|github_pat_|glpat-|sk-|xox[abp]-|AKIA)[A-Za-z0-9_-]{10,}`)
	name := regexp.MustCompile(`([A-Za-z0-9_.-]+)["']?\s*=`)
	var rest strings.Builder
	for line := range strings.Lines(text) {
		secret := token.MatchString(line)
		for _, m := range name.FindAllStringSubmatch(line, -1) {
			secret = secret || config.SecretName(m[1])
		}
		switch {
		case !secret:
			rest.WriteString(line)
		case strings.HasPrefix(strings.TrimSpace(line), "["):
			rest.WriteString("[withheld]\n")
		}
	}
	return rest.String()
}

// question prepares a check or a grader: in the box of the session, with the files that the command
// names. It may run the session's work, and so it gets no secret. A grader that names a
// preset, such as claude, as a word of its own asks by it, with the login that the session has.
func (e *Engine) question(spec fleet.SessionSpec, argv []string, timeout time.Duration, asks bool) (Question, error) {
	q := Question{Run: spec.Run, Argv: argv, Dir: spec.Dir, Timeout: timeout, Box: spec.Box}
	environment, variable := slices.Clone(spec.Judging), func(name string) string { return fleet.Variable(spec.Environment, name) }
	var read []string
	var own fleet.Own
	for _, word := range argv {
		agent := config.Preset(filepath.Base(word))
		if !asks || len(agent.Command) == 0 {
			continue
		}
		own = own.And(agent.CLI.Own(variable, spec.Dir))
		read = append(read, e.Boxes.Needs(word, spec.Environment, spec.Dir)...)
		environment = append(environment, agent.Passed(variable)...)
	}
	if !q.Box.Open() {
		read = slices.Concat(e.Boxes.Needs(argv[0], environment, spec.Dir), argv[1:], read)
		q.Box = box.Judging(q.Box, spec.Files.Judge, read, own)
	}
	q.Environment = boxed(q.Box, environment)
	return q, strayed(q.Box, box.Places{Dir: spec.Dir})
}
