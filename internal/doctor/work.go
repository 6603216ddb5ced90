package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"stint/internal/agent/command"
	"stint/internal/agent/preset"
	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/workspace"
)

// agents returns the names of this host's agents.
func (d *Doctor) agents() []string { return plain.Kept(d.Config.AgentNames(), d.Config.HasAgent) }

// unit looks a variable up in the environment of units, or if that is unknown in this process's own.
func (d *Doctor) unit(name string) string {
	if d.Environment == nil {
		return d.Getenv(name)
	}
	return fleet.Variable(d.Environment, name)
}

func (d *Doctor) examineAgents(ctx context.Context) (list []Finding) {
	for _, name := range d.agents() {
		agent := d.Config.Agents[name]
		environment := agent.Passed(d.unit)
		f, _ := d.Program(name, agent, d.Config.Workspace)
		if f.State == OK {
			f = examineVersion(ctx, agent, f, environment, d.Config.Workspace)
		}
		list = append(list, f, examineLogin(name, agent.CLI, environment))
		list = append(list, examineFolders(name, agent.CLI, environment)...)
	}
	return list
}

// versionTime is far more than a program needs to print its version.
const versionTime = 20 * time.Second

// examineVersion asks a program for its version, and tells if stint was not tried with it: its output may differ. A
// program that lacks something, such as a newer Node.js, fails here.
func examineVersion(ctx context.Context, agent config.Agent, found Finding, environment []string, dir string) Finding {
	if len(agent.CLI.Version) == 0 {
		return found
	}
	argv := append(slices.Clone(agent.Command[:1]), agent.CLI.Version...)
	said, err := command.Command{Argv: argv, Dir: dir, Env: environment, Timeout: versionTime}.Output(ctx)
	version := regexp.MustCompile(`\d+\.\d+(\.\d+)*`).FindString(string(said))
	switch tried := agent.CLI.Tried; {
	case err != nil:
		found.State, found.Why = Warning, "a program that does not say its version may do no work"
		found.What += fmt.Sprintf("; %v", err)
		found.Fix = fmt.Sprintf("try it: %s", strings.Join(argv, " "))
	case version == "":
	case len(tried) > 0 && !slices.Contains(tried, version):
		found.What += fmt.Sprintf(", version %s, which was not tried; tried: %s", version, strings.Join(tried, ", "))
	default:
		found.What += ", version " + version
	}
	return found
}

// examineFolders names a program's own folders that its sessions cannot write.
func examineFolders(name string, c preset.CLI, environment []string) (list []Finding) {
	const writable = 2 // W_OK
	for _, folder := range c.Folders {
		path := folder.In(func(name string) string { return fleet.Variable(environment, name) })
		there := path
		for _, err := os.Stat(there); errors.Is(err, fs.ErrNotExist) && there != "/"; _, err = os.Stat(there) {
			there = filepath.Dir(there) // the first session makes it
		}
		if err := syscall.Access(there, writable); path != "" && err != nil {
			list = append(list, Finding{
				Check: "agent", State: Problem, What: fmt.Sprintf("%s: %s, its own folder: %s: %v", name, path, there, err),
				Why: "its sessions cannot keep their login there", Fix: "let this user write it",
			})
		}
	}
	return list
}

// Idle tells why each agent that cannot start in the workspace cannot, and the fix. All reports whether no agent can.
func (d *Doctor) Idle() (list []string, all bool) {
	for _, name := range d.agents() {
		if f, _ := d.Program(name, d.Config.Agents[name], d.Config.Workspace); f.State != OK {
			list = append(list, fmt.Sprintf("agent %s; %s", f.What, f.Fix))
		}
	}
	return list, len(list) == len(d.agents())
}

// Program judges whether an agent's sessions can start in a folder, with the environment of units, or else of this
// process. Path is a PATH with which they could, if theirs lacks a program that was found.
func (d *Doctor) Program(name string, agent config.Agent, dir string) (_ Finding, path string) {
	const check = "agent"
	environment, asked := agent.Passed(d.unit), d.Environment != nil
	bad := Finding{Check: check, State: Problem, Why: "no session of it can start"}
	if err := agent.Fault(false); err != nil {
		bad.What, bad.Fix = name+": "+err.Error(), fleet.Hint(err)
		return bad, ""
	}
	program, found, err := firstFault(agent.Programs(), environment, dir)
	if err == nil {
		return ok(check, "%s: %s", name, found), ""
	}
	whose := ", as this process finds it, for no service manager could be asked"
	if asked {
		whose = ", as the service manager finds it"
	}
	added, here := program != agent.Command[0], ""
	if asked {
		here, _ = command.Runnable(program, agent.Passed(d.Getenv), dir)
	}
	switch {
	case added || errors.As(err, new(*command.InterpreterError)):
		path = d.repairedPath(agent, environment, dir)
		bad.What = fmt.Sprintf("%s: %v%s", name, err, whose)
		if added {
			bad.What = fmt.Sprintf("%s: its sandbox needs %s: %v%s", name, program, err, whose)
		}
		switch {
		case path != "":
			bad.Fix = fmt.Sprintf("write in stint.toml, [agent.%s]: environment = { PATH = %q }", name, path)
		case added:
			bad.Fix = "apt-get install bubblewrap socat"
		default:
			bad.Fix = fmt.Sprintf("install the interpreter, or write in stint.toml, [agent.%s] environment, a PATH that it is in", name)
		}
	case here != "":
		bad.What = fmt.Sprintf("%s: %s is in your PATH and not in that of the service manager", name, program)
		bad.Fix = fmt.Sprintf("name it by its path in stint.toml, [agent.%s] command: %s", name, here)
	case strings.Contains(program, "/"):
		bad.What = fmt.Sprintf("%s: %s: %v", name, program, err)
		bad.Fix = fmt.Sprintf("correct stint.toml, [agent.%s] command", name)
	default:
		bad.What = fmt.Sprintf("%s: %s: %v%s", name, program, err, whose)
		bad.Fix = fmt.Sprintf("install %s, or name it by its path in stint.toml, [agent.%s] command", program, name)
	}
	return bad, path
}

// firstFault returns the first program that cannot be started; if all can, the path of the first.
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

// repairedPath returns a PATH with which all of an agent's programs start: the environment's, after the folders in which
// this process finds the missing ones. It is empty if this process does not find them either.
func (d *Doctor) repairedPath(agent config.Agent, environment []string, dir string) string {
	const most = 8 // programs and interpreters; each round finds one
	path, here := fleet.Variable(environment, "PATH"), []string{"PATH=" + d.Getenv("PATH")}
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

// examineLogin looks for an agent's login. It only asks whether a file is there.
func examineLogin(name string, c preset.CLI, environment []string) Finding {
	const check = "login"
	variable := func(name string) string { return fleet.Variable(environment, name) }
	var looked []string
	for _, variable := range c.Login.Variables {
		if fleet.Variable(environment, variable) != "" {
			return ok(check, "%s: $%s", name, variable)
		}
		looked = append(looked, "$"+variable)
	}
	for _, folder := range c.Folders {
		if folder.Login == "" {
			continue
		}
		path := filepath.Join(folder.In(variable), folder.Login)
		if _, err := os.Stat(path); err == nil {
			return ok(check, "%s: %s", name, path)
		}
		looked = append(looked, path)
	}
	if len(looked) == 0 {
		return unknown(check, name+": its preset does not tell where its login is")
	}
	return Finding{
		Check: check, State: Warning,
		What: fmt.Sprintf("%s: none found, not any of %s", name, strings.Join(looked, ", ")),
		Why:  "unless it is logged in by other means, each of its sessions fails at its first question",
		Fix:  c.Login.Command,
	}
}

// examineCommands looks for the programs of all other commands, each as it is started: by a fire, by a session, or from
// a person's shell.
func (d *Doctor) examineCommands() (list []Finding) {
	const check = "command"
	c, looked := d.Config, 0
	find := func(key string, argv, environment []string) {
		if len(argv) == 0 {
			return
		}
		looked++
		_, err := command.Runnable(argv[0], environment, c.Workspace)
		if err == nil {
			return
		}
		bad := Finding{
			Check: check, State: Warning, What: fmt.Sprintf("%s: %s: %v", key, argv[0], err),
			Why: "it cannot be started, and what waits for its answer gets none",
			Fix: fmt.Sprintf("install %s, or name it by its path in stint.toml, %s", argv[0], key),
		}
		switch {
		case errors.As(err, new(*command.InterpreterError)):
			bad.Fix = "install the interpreter, or correct stint.toml, " + key
		case strings.Contains(argv[0], "/"):
			bad.Fix = "correct stint.toml, " + key
		}
		list = append(list, bad)
	}
	passed := config.Agent{PassEnvironment: c.Command.PassEnvironment}
	own := passed.Passed(d.unit)
	for _, name := range c.CategoryNames() {
		key, category := "category."+string(name), c.Categories[name]
		if len(category.Agents) > 0 {
			judging := c.Agents[category.Agents[0]].Judged().Passed(d.unit)
			find(key+".check", category.Check, judging)
			find(key+".grader", category.Grader, judging)
		}
		find(key+".wip.command", category.WIP.Command, own)
	}
	find("review.check", c.Review.Check, c.Agents[c.AgentNames()[0]].Judged().Passed(d.Getenv))
	find("review.publish", c.Review.Publish, passed.Passed(d.Getenv))
	find("review.outcome", c.Review.Outcome, own)
	find("review.feedback", c.Review.Feedback, own)
	find("notice.command", c.Notice.Command, own)
	find("selector.command", c.Selector.Command, own)
	if len(list) == 0 {
		return []Finding{ok(check, "%s looked at", plain.Plural(looked, "command"))}
	}
	return list
}

// left is the age from which a lock of git counts as left behind: git holds it for seconds, hooks of a commit for
// minutes.
const left = 10 * time.Minute

// askGit bounds one look at a large repository on a slow disk.
const askGit = 30 * time.Second

func (d *Doctor) examineWorkspace(ctx context.Context) []Finding {
	const check = "workspace"
	path, clone := d.Config.Workspace, d.Clone
	clone.Timeout = askGit
	needing := plain.Kept(d.Config.CategoryNames(), func(name fleet.Category) bool {
		return d.Config.Categories[name].OwnClone || d.Config.Categories[name].Sync
	})
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return []Finding{{
			Check: check, State: Problem, What: path + " is not there", Why: "no session can work there", Fix: `correct "workspace" in stint.toml`,
		}}
	}
	var state workspace.Condition
	if err == nil {
		state, err = clone.Condition(ctx)
	}
	var unready error
	if err == nil && state.Repository && len(needing) > 0 {
		unready = clone.Ready(ctx)
	}
	var at fleet.Tracking
	if err == nil {
		at, err = clone.Tracking(ctx)
	}
	if err != nil {
		return []Finding{unknown(check, err.Error())}
	}
	list := []Finding{judgeWorkspace(path, state, needing, unready, d.live, d.Now())}
	if at.Text != "" {
		list = append(list, Finding{
			Check: check, State: Warning, What: at.Text, Fix: at.Fix, Why: "others do not see this work, or sessions do not see theirs",
		})
	}
	return list
}

// judgeWorkspace judges whether sessions can work in the workspace. The categories needing a repository are given;
// unready tells why no clone of it can be made.
func judgeWorkspace(path string, w workspace.Condition, needing []fleet.Category, unready error, live int, now time.Time) Finding {
	bad := Finding{Check: "workspace", State: Problem}
	status := "git -C " + fleet.ShellWord(path) + " status"
	needs := `these categories cannot run, as they say workspace = "clone" or sync = true: ` + listed(needing)
	switch age := now.Sub(w.LockedAt); {
	case !w.Repository:
		bad.What, bad.Fix = path+" is in no work tree of git", "git init "+fleet.ShellWord(path)
		if bad.Why = needs; len(needing) == 0 {
			bad.State, bad.Why = Warning, "a session's work is known only from its result file"
		}
	case unready != nil:
		bad.What, bad.Fix, bad.Why = unready.Error(), fleet.Hint(unready), needs
	case w.Lock != "" && age > left:
		bad.What, bad.Fix = fmt.Sprintf("%s was left behind %v ago", w.Lock, age.Round(time.Minute)), "rm "+fleet.ShellWord(w.Lock)
		bad.Why = "every command of git that changes anything fails while it is there"
	case w.Midway != "":
		bad.What, bad.Fix = fmt.Sprintf("%s is in the middle of a %s", path, w.Midway), status
		bad.Why = "sessions would commit into the middle of it, and syncing fails"
	case w.Changed > 0 && live == 0:
		bad.State, bad.Fix = Warning, status
		bad.What = fmt.Sprintf("%s: %s not committed, and no session is at work", path, plain.Plural(w.Changed, "changed file"))
		bad.Why = "the next session finds them, and may commit them as its own; they can keep a sync from working"
	default:
		return ok(bad.Check, "%s%s", path, asides(w))
	}
	return bad
}

func asides(w workspace.Condition) string {
	var list []string
	if w.Changed > 0 {
		list = append(list, plain.Plural(w.Changed, "changed file")+" while sessions work")
	}
	if w.Untracked > 0 {
		list = append(list, plain.Plural(w.Untracked, "untracked file"))
	}
	if len(list) == 0 {
		return ", clean"
	}
	return ", " + strings.Join(list, ", ")
}

func (d *Doctor) examineTasks(ctx context.Context) []Finding {
	tasks, problems, err := d.Tasks.List(ctx)
	if err != nil && !d.Config.WantsTasks() && errors.Is(err, fleet.ErrNotFound) {
		err = nil
	}
	for _, t := range tasks {
		if why := d.Config.Unplaced(t); why != "" {
			problems = append(problems, fleet.TaskProblem{Path: cmp.Or(t.Path, string(t.ID)), Reason: why})
		}
	}
	return judgeTasks(len(tasks), problems, err, d.Config)
}

// judgeTasks judges the result of reading the tasks of a configuration.
func judgeTasks(read int, problems []fleet.TaskProblem, err error, c *config.Config) (list []Finding) {
	const check = "tasks"
	if err != nil {
		return []Finding{{
			Check: check, State: Problem, What: err.Error(), Fix: fleet.Hint(err),
			Why: "a fire ranks nothing while the tasks cannot be read",
		}}
	}
	var odd []Finding
	for _, p := range problems {
		if p.Source == "" {
			odd = append(odd, Finding{
				Check: check, State: Warning, What: p.String(), Why: "it is not as its author means it, or not worked on at all", Fix: "stint task list",
			})
			continue
		}
		command := strings.Join(plain.Each(c.Tasks.Sources[p.Source].Command, fleet.ShellWord), " ")
		list = append(list, Finding{
			Check: check, State: Problem, What: fleet.SourceFault{Source: p.Source, Reason: p.Reason}.String(),
			Why: "none of its tasks is worked on", Fix: "cd " + fleet.ShellWord(c.Workspace) + " && " + command,
		})
	}
	if list = append(list, odd...); len(list) == 0 {
		return []Finding{ok(check, "%s read", plain.Plural(read, "task"))}
	}
	return list
}
