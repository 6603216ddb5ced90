package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"stint/internal/command"
	"stint/internal/config"
	"stint/internal/doctor"
	"stint/internal/fleet"
	"stint/internal/systemd"
)

// unitEnvironment is what the service manager gives to its units, or nil where it cannot
// be asked.
func unitEnvironment(ctx context.Context) (environment []string) {
	_ = systemd.Ask(ctx, func(_ context.Context, m *systemd.Manager) (err error) {
		environment, err = m.Environment()
		return err
	})
	return environment
}

// agentFacts looks for the agents as a unit of the manager would, or, where that cannot
// be asked, as this process does.
func (a *app) agentFacts(c *config.Config, environment []string) (list []doctor.Agent) {
	for _, name := range c.AgentNames() {
		if !c.HasAgent(name) {
			continue
		}
		agent := c.Agents[name]
		f := a.programFacts(agent, environment, c.Workspace)
		f.Name = name
		if err := agent.Fault(false); err != nil {
			f.Fault, f.Remedy = err.Error(), fleet.Hint(err)
		}
		addLogin(&f, agent.Passed(a.getenvOf(environment)))
		list = append(list, f)
	}
	return list
}

// passed is the part that a command gets of an environment.
func passed(names []string, getenv func(string) string) []string {
	return config.Agent{PassEnvironment: names}.Passed(getenv)
}

// getenvOf looks variables up in an environment, or in this process's own for nil.
func (a *app) getenvOf(environment []string) func(string) string {
	if environment == nil {
		return a.Getenv
	}
	return func(name string) string { return fleet.Variable(environment, name) }
}

// programFacts says whether an agent's programs can be started in a folder with what it
// gets of an environment, and what would help.
func (a *app) programFacts(agent config.Agent, environment []string, dir string) doctor.Agent {
	f := doctor.Agent{Preset: agent.Preset, Program: agent.Command[0], Manager: environment != nil}
	passed, here := agent.Passed(a.getenvOf(environment)), agent.Passed(a.Getenv)
	program, path, err := firstFault(agent.Programs(), passed, dir)
	if err == nil {
		f.Path = path
		return f
	}
	f.Program, f.Missing = program, err.Error()
	f.Added = program != agent.Command[0]
	f.Wanting = errors.As(err, new(*command.InterpreterError))
	if f.Wanting || f.Added {
		f.Repair = a.repairedPath(agent, passed, dir)
	} else if f.Manager {
		f.Here, _ = command.Runnable(program, here, dir)
	}
	return f
}

// commandFacts looks for the programs of the commands beside the agents', each as it is started: by
// a fire with what it is handed on, by a session with what its agent has, or from a person's shell.
func (a *app) commandFacts(c *config.Config, environment []string) (list []doctor.Command) {
	unit := a.getenvOf(environment)
	find := func(key string, argv, environment []string) {
		if len(argv) == 0 {
			return
		}
		_, err := command.Runnable(argv[0], environment, c.Workspace)
		list = append(list, doctor.Command{Key: key, Program: argv[0], Missing: reason(err), Wanting: errors.As(err, new(*command.InterpreterError))})
	}
	own := passed(c.Command.PassEnvironment, unit)
	for _, name := range c.CategoryNames() {
		key, category := "category."+string(name), c.Categories[name]
		if len(category.Agents) > 0 {
			judging := c.Agents[category.Agents[0]].Judged().Passed(unit)
			find(key+".check", category.Check, judging)
			find(key+".grader", category.Grader, judging)
		}
		find(key+".wip.command", category.WIP.Command, own)
	}
	find("review.check", c.Review.Check, c.Agents[c.AgentNames()[0]].Judged().Passed(a.Getenv))
	find("review.publish", c.Review.Publish, passed(c.Command.PassEnvironment, a.Getenv))
	find("review.outcome", c.Review.Outcome, own)
	find("review.feedback", c.Review.Feedback, own)
	find("notice.command", c.Notice.Command, own)
	find("selector.command", c.Selector.Command, own)
	return list
}

// firstFault is the first of the programs that cannot be started; else where the first
// of them is.
func firstFault(programs, environment []string, dir string) (program, path string, err error) {
	for i, program := range programs {
		found, err := command.Runnable(program, environment, dir)
		if err != nil {
			return program, "", err
		}
		if i == 0 {
			path = found
		}
	}
	return "", path, nil
}

// repairedPath is a PATH with which all of an agent's programs can be started: that of
// the environment, after the folders in which this process finds what is missing there.
// It is empty where this process does not find it either.
func (a *app) repairedPath(agent config.Agent, environment []string, dir string) string {
	const most = 8 // programs and interpreters; each round finds one
	path, here := fleet.Variable(environment, "PATH"), []string{"PATH=" + a.Getenv("PATH")}
	for range most {
		name, _, err := firstFault(agent.Programs(), environment, dir)
		if err == nil {
			return path
		}
		if wanting, ok := errors.AsType[*command.InterpreterError](err); ok {
			name = wanting.Interpreter
		}
		found, err := command.LookPath(name, here)
		if err != nil || !filepath.IsAbs(found) || strings.ContainsRune(name, '/') {
			return ""
		}
		path = filepath.Dir(found) + string(filepath.ListSeparator) + path
		environment = append(slices.Clone(environment), "PATH="+path)
	}
	return ""
}

// idleAgents says of each agent that cannot start why, and what to do.
func idleAgents(agents []doctor.Agent) (list []string) {
	for _, agent := range agents {
		if f := doctor.ExamineProgram(agent); f.State != doctor.OK {
			list = append(list, fmt.Sprintf("agent %s; %s", f.What, f.Fix))
		}
	}
	return list
}
