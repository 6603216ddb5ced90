package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"stint/internal/store/sqlite"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storekit"
)

// shortSoak is the time in which the tests fire. STINT_SOAK asks for another time, such as 10m.
const shortSoak = 12 * time.Second

// soakConfig has agents that time out within seconds.
const soakConfig = `fleet = %[1]q
workspace = "work"
state = %[2]q
[fanout]
workers = 4
slots = 7
[agent.steady]
trust = true
command = [%[3]q, "soak=steady"]
[agent.moody]
trust = true
command = [%[3]q, "soak=moody"]
[agent.doomed]
trust = true
command = [%[3]q, "soak=doomed"]
[category.code]
agents = ["moody", "steady"]
lanes = 2
workspace = "clone"
sync = true
cooldown = "1s"
timeout = "4s"
ttl = "20s"
[category.docs]
agents = ["steady"]
workspace = "clone"
cooldown = "0s"
timeout = "4s"
ttl = "20s"
[category.triage]
agents = ["moody", "steady"]
sync = true
cooldown = "0s"
timeout = "4s"
ttl = "20s"
[category.research]
agents = ["steady"]
self_directed = true
cooldown = "2s"
timeout = "4s"
ttl = "20s"
[category.tests]
agents = ["steady"]
workspace = "clone"
sync = true
cooldown = "0s"
max_chain = 0
timeout = "4s"
ttl = "20s"
budget = { runs = %[4]d }
[category.ops]
agents = ["doomed", "steady"]
cooldown = "1s"
timeout = "4s"
ttl = "20s"
`

// soak is a fleet on the real service manager, with all that can go wrong going wrong.
type soak struct {
	*testing.T
	fleet, dir, state, work string
	length                  time.Duration
	budget                  int // sessions of a category that has one

	mu     sync.Mutex
	counts map[string]int // of what happened, by what it was
}

func soakCategories() []string { return []string{"code", "docs", "triage", "research", "tests", "ops"} }

// TestSoak lets a fleet work for a while, on a real service manager and in a real
// repository, with agents that crash, hang, conflict, meet limits and leave processes
// behind, kills supervisors and agents at random, and then looks at everything that is
// left: in the store, in the manager, in the repository and among the processes.
func TestSoak(t *testing.T) {
	t.Parallel()
	s := newSoak(t)
	s.live()
	s.settle()
	s.check()
	s.tell()
}

func newSoak(t *testing.T) *soak {
	t.Helper()
	needManager(t)
	dir := t.TempDir()
	s := &soak{
		T: t, fleet: fmt.Sprintf("soak_%d", os.Getpid()), dir: dir, state: filepath.Join(dir, "state"), work: filepath.Join(dir, "work"),
		length: shortSoak, counts: map[string]int{},
	}
	storekit.Keep(t, s.state)
	if text := os.Getenv("STINT_SOAK"); text != "" {
		var err error
		if s.length, err = time.ParseDuration(text); err != nil {
			t.Fatalf("STINT_SOAK: %v", err)
		}
	}
	s.budget = max(2, int(s.length/(10*time.Second)))
	agent := must.Get(exec.LookPath("fakeagent"))(t)
	s.write("stint.toml", fmt.Sprintf(soakConfig, s.fleet, s.state, agent, s.budget))
	s.plant()
	t.Cleanup(s.stopAll)
	return s
}

// plant makes the repository: a bare remote, the workspace, and the clone of a person.
func (s *soak) plant() {
	s.Helper()
	s.must("git", "init", "-q", "--bare", "-b", "main", "origin.git")
	for _, clone := range []string{"person", "work"} {
		s.must("git", "clone", "-q", "origin.git", clone)
		for _, pair := range []string{"user.name=tester", "user.email=tester@example.org", "gc.auto=0"} {
			name, value, _ := strings.Cut(pair, "=")
			s.must("git", "-C", clone, "config", name, value)
		}
		if clone == "person" {
			s.write("person/.gitignore", "/tasks/\n/lessons/\n")
			s.write("person/contended", "nobody\n")
			s.must("git", "-C", clone, "add", ".")
			s.must("git", "-C", clone, "commit", "-q", "-m", "start")
			s.must("git", "-C", clone, "push", "-q", "origin", "HEAD:main")
		}
	}
	for _, l := range crashLessons {
		s.write("work/lessons/"+l+".md", "---\n---\n# "+l+"\n")
	}
}

func (s *soak) write(name, text string) {
	s.Helper()
	write(s, filepath.Join(s.dir, name), text, 0o600)
}

// must runs a command that has to succeed, and returns what it says.
func (s *soak) must(name string, args ...string) string {
	s.Helper()
	out, err := s.command(name, args...).CombinedOutput()
	if err != nil {
		s.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (s *soak) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.WithoutCancel(s.Context()), name, args...)
	cmd.Dir = s.dir
	return cmd
}

// stint runs a command of the fleet, which must end with one of these statuses; a
// negative one is that of a process that was killed.
func (s *soak) stint(program string, allowed []int, args ...string) (status int, out string) {
	s.Helper()
	cmd := s.command(program, append(args, "--config", filepath.Join(s.dir, "stint.toml"))...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = append(os.Environ(), crashLater+"=1h") // which only crashstint heeds
	cmd.WaitDelay = time.Second                      // an agent whose supervisor was killed keeps the descriptors
	if err := cmd.Start(); err != nil {
		s.Error(err)
		return -1, ""
	}
	_ = cmd.Wait()
	if status = cmd.ProcessState.ExitCode(); !slices.Contains(allowed, status) {
		s.Errorf("stint %s: status %d, want one of %v\n%s%s", strings.Join(args, " "), status, allowed, &stdout, &stderr)
	}
	return status, stdout.String()
}

func (s *soak) count(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[what]++
}

// live lets the fleet live its time: fires every second, a killer, and people.
func (s *soak) live() {
	s.Helper()
	s.addTasks()
	s.stint("stint", []int{0}, "fanout") // With it, there is a store.
	ctx, cancel := context.WithTimeout(s.Context(), s.length)
	defer cancel()
	var crowd sync.WaitGroup
	for n, part := range []struct {
		every time.Duration
		do    func(*rand.Rand)
	}{
		{time.Second, s.fire},
		{700 * time.Millisecond, s.kill},
		{300 * time.Millisecond, func(*rand.Rand) { s.addTasks() }},
		{1500 * time.Millisecond, s.meddle},
		{800 * time.Millisecond, s.runByHand},
		{5 * time.Second, s.merge},
	} {
		crowd.Go(func() {
			chance := rand.New(rand.NewPCG(7, uint64(n)))
			tick := time.NewTicker(part.every)
			defer tick.Stop()
			for ctx.Err() == nil {
				part.do(chance)
				select {
				case <-tick.C:
				case <-ctx.Done():
				}
			}
		})
	}
	crowd.Wait()
}

// fire fires, and in rare cases dies of it.
func (s *soak) fire(chance *rand.Rand) {
	if chance.IntN(20) > 0 {
		status, _ := s.stint("stint", []int{0, 3, 6}, "fanout")
		s.count(fmt.Sprintf("fires with status %d", status))
		return
	}
	status, _ := s.stint("timeout", []int{-1, 0, 3, 137}, "-s", "KILL", fmt.Sprintf("0.%03d", 5+chance.IntN(120)), "stint", "fanout")
	s.count(fmt.Sprintf("fires to be killed, with status %d", status))
}

// addTasks keeps a few tasks open in every category that has any.
func (s *soak) addTasks() {
	for _, c := range soakCategories() {
		if c == "research" {
			continue
		}
		if len(s.openTasks(c)) < 4 {
			files, _ := filepath.Glob(filepath.Join(s.work, "tasks", c+"-*.md"))
			s.write(fmt.Sprintf("work/tasks/%s-%d.md", c, len(files)+1), "---\nstate: todo\ncategory: "+c+"\n---\n# One more\n")
		}
	}
}

// openTasks are the tasks of a category that nobody has closed.
func (s *soak) openTasks(category string) (open []string) {
	files, _ := filepath.Glob(filepath.Join(s.work, "tasks", category+"-*.md"))
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && bytes.Contains(text, []byte("state: todo")) {
			open = append(open, strings.TrimSuffix(filepath.Base(f), ".md"))
		}
	}
	return open
}

// kill kills the supervisor of a session that is under way, or one of its agent's
// processes.
func (s *soak) kill(chance *rand.Rand) {
	rows := s.rows("select id, pid, unit from runs where ended_at is null and started_at is not null and pid > 0")
	if len(rows) == 0 || chance.IntN(4) == 0 {
		return
	}
	fields := strings.Fields(rows[chance.IntN(len(rows))])
	supervisor, _ := strconv.Atoi(fields[1])
	if chance.IntN(2) == 0 {
		if s.killIf(supervisor, "cmdline", s.dir) {
			s.count("supervisors killed")
		}
		return
	}
	others := slices.DeleteFunc(processesWith("STINT_RUN_ID="+fields[0]+"\x00"), func(pid int) bool { return pid == supervisor })
	if len(others) > 0 && s.killIf(others[chance.IntN(len(others))], "environ", "STINT_RUN_ID="+fields[0]) {
		s.count("agents, or what they started, killed")
	}
}

// killIf kills a process, if a file of it in /proc says what it should: its number may be
// another's by now.
func (s *soak) killIf(pid int, file, word string) bool {
	p, err := os.FindProcess(pid) // a handle on this process, not on its number
	if err != nil {
		return false
	}
	defer func() { _ = p.Release() }()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	return err == nil && bytes.Contains(text, []byte(word)) && p.Kill() == nil
}

// meddle does what people do beside a fleet: it pauses, resumes, and gives up on no task.
func (s *soak) meddle(chance *rand.Rand) {
	category := soakCategories()[chance.IntN(len(soakCategories()))]
	switch chance.IntN(5) {
	case 0:
		s.stint("stint", []int{0}, "pause", category, "--for", "2s")
		s.count("pauses")
	case 1:
		s.stint("stint", []int{0}, "pause", "--for", "1s")
		s.count("pauses")
	case 2:
		s.stint("stint", []int{0}, "resume")
	default:
		for _, task := range s.rows("select task from tasks where failures >= 3 or sessions >= 2") {
			s.stint("stint", []int{0, 1}, "task", "retry", task)
			s.count("waiting tasks tried again")
		}
	}
}

// runByHand is a person who cannot wait for the next fire.
func (s *soak) runByHand(chance *rand.Rand) {
	if chance.IntN(3) > 0 {
		return
	}
	args := []string{"run", "--category", soakCategories()[chance.IntN(len(soakCategories()))]}
	people := 1
	if tasks := s.openTasks("code"); chance.IntN(2) == 0 && len(tasks) > 0 {
		args, people = []string{"run", "--category", "code", "--task", tasks[0]}, 2 // for two lanes
	}
	var crowd sync.WaitGroup
	for range people {
		crowd.Go(func() {
			status, _ := s.stint("stint", []int{-1, 0, 1, 3, 4, 5, 75}, args...)
			s.count(fmt.Sprintf("runs by hand with status %d", status))
		})
	}
	crowd.Wait()
}

// merge is a person who takes what the sessions have committed to the remote, and settles
// their conflicts.
func (s *soak) merge(chance *rand.Rand) {
	s.Helper()
	_ = s.command("git", "-C", "person", "fetch", "-q", "origin").Run()
	s.must("git", "-C", "person", "reset", "-q", "--hard", "origin/main")
	s.write("person/contended", fmt.Sprintln("a person,", chance.Uint64()))
	s.must("git", "-C", "person", "commit", "-q", "-a", "-m", "something else")
	refs := strings.Fields(s.must("git", "-C", "work", "for-each-ref", "--format=%(refname)", "refs/heads/main", "refs/heads/stint/"))
	for _, ref := range refs {
		if chance.IntN(2) == 0 || s.command("git", "-C", "person", "fetch", "-q", "../work", ref).Run() != nil {
			continue // not looked at yet, or closed by its session
		}
		if s.command("git", "-C", "person", "merge", "-q", "-X", "ours", "-m", "merge "+ref, "FETCH_HEAD").Run() != nil {
			_ = s.command("git", "-C", "person", "merge", "--abort").Run()
			continue
		}
		s.count("merges")
	}
	_ = s.command("git", "-C", "person", "push", "-q", "origin", "HEAD:main").Run() // a session may be quicker
}

// settle waits until everything that was started is over, and has the rest swept up.
func (s *soak) settle() {
	s.Helper()
	s.stint("stint", []int{0}, "pause", "--reason", "the soak is over")
	deadline := time.After(90 * time.Second)
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		left := slices.Concat(s.units(), s.processes())
		if len(left) == 0 {
			break
		}
		select {
		case <-tick.C:
		case <-deadline:
			s.Errorf("not over in time:\n%s", strings.Join(left, "\n"))
			return
		}
	}
	// A planned run that died before it began is over once its time is.
	s.stint("stint", []int{0}, "reap")
	s.stint("crashstint", []int{0}, "reap")
	s.stint("stint", []int{3}, "fanout") // It is paused, and tidies up.
}

// units are those of the fleet that the manager still knows, of whatever kind and state.
// Its slice stays for a while.
func (s *soak) units() (found []string) {
	s.Helper()
	out := s.must("systemctl", "--user", "list-units", "--all", "--plain", "--no-legend", "--full", "stint*"+s.fleet+"*")
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "stint-"+s.fleet+".slice ") {
			found = append(found, line)
		}
	}
	return found
}

// processes are those that carry the fleet's name, with their command lines.
func (s *soak) processes() (found []string) {
	for _, pid := range processesWith("STINT_FLEET=" + s.fleet + "\x00") {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		found = append(found, fmt.Sprintf("process %d: %q", pid, text))
	}
	return found
}

// stopAll leaves nothing of the fleet behind, whatever the test found.
func (s *soak) stopAll() {
	for _, unit := range []string{"stint-" + s.fleet + "-*.timer", "stint-" + s.fleet + ".slice"} {
		_ = exec.Command("systemctl", "--user", "stop", unit).Run() // An absent unit cannot be stopped.
	}
	endProcesses("STINT_FLEET=" + s.fleet + "\x00")
}

func (s *soak) rows(query string) []string {
	s.Helper()
	lines, err := queryRows(context.WithoutCancel(s.Context()), filepath.Join(s.state, sqlite.File), "rw", query)
	if err != nil {
		s.Errorf("%v: %s", err, query)
	}
	return lines
}

// tell says what happened.
func (s *soak) tell() {
	s.Helper()
	for _, query := range []string{
		"select 'outcome ' || outcome, count(*) from runs group by outcome order by 1",
		"select 'source ' || source, count(*) from runs group by source order by 1",
		"select 'sessions of ' || category, sum(epoch > 0) from runs group by category order by 1",
		"select 'sessions that followed another', count(*) from runs where chain_depth > 0",
		"select 'claims denied', count(*) from denials",
		"select 'fires', count(*) from fires",
		"select 'tasks that wait for a person', count(*) from tasks where failures >= 3 or sessions >= 2",
	} {
		for _, row := range s.rows(query) {
			s.Log(row)
		}
	}
	acts, reasons := map[string]int{}, map[string]int{}
	for _, run := range s.rows("select id from runs where epoch > 0") {
		acts["act "+soakActOf(s.state, run)]++
	}
	particular := regexp.MustCompile(`[0-9][0-9a-z.:-]{3,}|[0-9]+`) // runs, times, tasks
	for _, reason := range s.rows("select outcome || ': ' || reason from runs where reason <> ''") {
		reasons["reason "+particular.ReplaceAllString(strings.ReplaceAll(reason, s.dir+"/", ""), "…")]++
	}
	for _, counts := range []map[string]int{reasons, acts, s.counts} {
		for _, what := range slices.Sorted(maps.Keys(counts)) {
			s.Log(what, counts[what])
		}
	}
}
