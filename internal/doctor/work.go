package doctor

import (
	"fmt"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

func examineAgents(agents []Agent) (list []Finding) {
	for _, a := range agents {
		list = append(list, ExamineProgram(a), examineLogin(a))
	}
	return list
}

// ExamineProgram says whether an agent's sessions can start.
func ExamineProgram(a Agent) Finding {
	const check = "agent"
	bad := Finding{Check: check, State: Problem, Why: "no session of it can start"}
	whose := ", as this process finds it, for no service manager could be asked"
	if a.Manager {
		whose = ", as the service manager finds it"
	}
	switch {
	case a.Fault != "":
		bad.What, bad.Fix = a.Name+": "+a.Fault, a.Remedy
	case a.Path != "":
		return ok(check, "%s: %s", a.Name, a.Path)
	case a.Added || a.Wanting:
		bad.What = fmt.Sprintf("%s: %s", a.Name, a.Missing)
		if a.Added {
			bad.What = fmt.Sprintf("%s: its sandbox needs %s: %s", a.Name, a.Program, a.Missing)
		}
		bad.What += whose
		bad.Fix = missingFix(a)
	case a.Here != "":
		bad.What = fmt.Sprintf("%s: %s is in your PATH and not in that of the service manager", a.Name, a.Program)
		bad.Fix = fmt.Sprintf("name it by its path in stint.toml, [agent.%s] command: %s", a.Name, a.Here)
	case strings.Contains(a.Program, "/"):
		bad.What = fmt.Sprintf("%s: %s: %s", a.Name, a.Program, a.Missing)
		bad.Fix = fmt.Sprintf("correct stint.toml, [agent.%s] command", a.Name)
	default:
		bad.What = fmt.Sprintf("%s: %s: %s%s", a.Name, a.Program, a.Missing, whose)
		bad.Fix = fmt.Sprintf("install %s, or name it by its path in stint.toml, [agent.%s] command", a.Program, a.Name)
	}
	return bad
}

func missingFix(a Agent) string {
	switch {
	case a.Repair != "":
		return fmt.Sprintf("write in stint.toml, [agent.%s]: environment = { PATH = %q }", a.Name, a.Repair)
	case a.Added:
		return "apt-get install bubblewrap socat"
	}
	return fmt.Sprintf("install the interpreter, or write in stint.toml, [agent.%s] environment, a PATH that it is in", a.Name)
}

// examineCommands reports programs of checks, graders, gates and the like that are not there.
func examineCommands(commands []Command) (list []Finding) {
	const check = "command"
	for _, c := range commands {
		if c.Missing == "" {
			continue
		}
		bad := Finding{
			Check: check, State: Warning, What: fmt.Sprintf("%s: %s: %s", c.Key, c.Program, c.Missing),
			Why: "it cannot be started, and what waits for its answer gets none",
			Fix: fmt.Sprintf("install %s, or name it by its path in stint.toml, %s", c.Program, c.Key),
		}
		switch {
		case c.Wanting:
			bad.Fix = fmt.Sprintf("install the interpreter, or correct stint.toml, %s", c.Key)
		case strings.Contains(c.Program, "/"):
			bad.Fix = "correct stint.toml, " + c.Key
		}
		list = append(list, bad)
	}
	if len(list) == 0 {
		list = append(list, ok(check, "%s looked at", plain.Plural(len(commands), "command")))
	}
	return list
}

func examineLogin(a Agent) Finding {
	const check = "login"
	switch {
	case !a.Known:
		return unknown(check, a.Name+": nothing is known of its login, as it has no preset")
	case a.Login != "":
		return ok(check, "%s: %s", a.Name, a.Login)
	}
	return Finding{
		Check: check, State: Warning,
		What: fmt.Sprintf("%s: none found, not any of %s", a.Name, strings.Join(a.Logins, ", ")),
		Why:  "unless it is logged in by other means, each of its sessions fails at its first question",
		Fix:  a.Command,
	}
}

// examineRests reports the agents that are not used now. That a usage limit was met, or
// that a service has no room, is no fault; that an agent or its login fails is.
func examineRests(r Record) (list []Finding) {
	const check = "agent_rest"
	if r.Unseen != "" {
		return []Finding{unknown(check, r.Unseen)}
	}
	for _, s := range r.Rests {
		what := fmt.Sprintf("%s: %s", s.Agent, s.Why)
		if s.Fix == "" {
			list = append(list, ok(check, "%s", what))
			continue
		}
		list = append(list, Finding{
			Check: check, State: Warning, What: what,
			Why: "no session of it is started while it rests; then one tries it",
			Fix: s.Fix,
		})
	}
	if len(list) == 0 {
		list = append(list, ok(check, "none"))
	}
	return list
}

// examinePrices reports models that sessions used and that have no price.
func examinePrices(r Record) (list []Finding) {
	for _, u := range r.Unpriced {
		list = append(list, Finding{
			Check: "price", State: Warning, What: fmt.Sprintf("%s: %s", u.Agent, u.Why),
			Why: "its budget in USD counts what its sessions cost on average, as far as that is known",
			Fix: fmt.Sprintf("write [price.%q] with input and output into stint.toml: stint help agents", u.Models[0]),
		})
	}
	return list
}

// left is how old a lock of git's is that nobody holds any more: git holds it for
// seconds, hooks of a commit for minutes.
const left = 10 * time.Minute

func examineWorkspace(f Facts) []Finding {
	const check = "workspace"
	w := f.Workspace
	bad := Finding{Check: check, State: Problem, Why: "no session can work there"}
	status := "git -C " + fleet.ShellWord(w.Path) + " status"
	needing := `these categories cannot run, as they say workspace = "clone" or sync = true: ` + listed(w.Needed)
	switch {
	case w.Missing:
		bad.What, bad.Fix = w.Path+" is not there", `correct "workspace" in stint.toml`
	case w.Unseen != "":
		return []Finding{unknown(check, w.Unseen)}
	case !w.Git:
		bad.What, bad.Fix = w.Path+" is in no work tree of git", "git init "+fleet.ShellWord(w.Path)
		if bad.Why = needing; len(w.Needed) == 0 {
			bad.State, bad.Why = Warning, "a session's work is known only from its result file"
		}
	case w.Unready != "":
		bad.What, bad.Fix, bad.Why = w.Unready, w.Remedy, needing
	case w.Lock != "" && w.LockAge > left:
		bad.What, bad.Fix = fmt.Sprintf("%s was left behind %v ago", w.Lock, w.LockAge.Round(time.Minute)), "rm "+fleet.ShellWord(w.Lock)
		bad.Why = "every command of git that changes anything fails while it is there"
	case w.Midway != "":
		bad.What, bad.Fix = fmt.Sprintf("%s is in the middle of a %s", w.Path, w.Midway), status
		bad.Why = "sessions would commit into the middle of it, and syncing fails"
	case w.Changed > 0 && f.Record.Live == 0:
		bad.State, bad.Fix = Warning, status
		bad.What = fmt.Sprintf("%s: %s not committed, and no session is at work", w.Path, plain.Plural(w.Changed, "changed file"))
		bad.Why = "the next session finds them, and may commit them as its own; they can keep a sync from working"
	default:
		bad = ok(check, "%s%s", w.Path, asides(w))
	}
	list := []Finding{bad}
	if w.Left != "" {
		list = append(list, Finding{
			Check: check, State: Warning, What: w.Left, Fix: w.Pull, Why: "others do not see this work, or sessions do not see theirs",
		})
	}
	return list
}

func asides(w Workspace) string {
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

func examineTasks(t Tasks) (list []Finding) {
	const check = "tasks"
	if t.Unseen != "" {
		return []Finding{{
			Check: check, State: Problem, What: t.Unseen, Fix: t.Hint,
			Why: "a fire ranks nothing while the tasks cannot be read",
		}}
	}
	for _, s := range t.Failed {
		list = append(list, Finding{
			Check: check, State: Problem, What: s.String(), Fix: s.Command,
			Why: "none of its tasks is worked on",
		})
	}
	for _, fault := range t.Faults {
		list = append(list, Finding{
			Check: check, State: Warning, What: fault, Why: "it is not as its author means it, or not worked on at all", Fix: "stint task list",
		})
	}
	if len(list) == 0 {
		list = append(list, ok(check, "%s read", plain.Plural(t.Read, "task")))
	}
	return list
}
