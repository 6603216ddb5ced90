package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"stint/internal/testkit/pgtest"
)

// host is one of several: a home folder with a clone of the workspace, a user manager in namespaces
// of its own, and a way to the server.
type host struct {
	name   string
	folder folder // of the demo
	way    *pgtest.Proxy
	runs   *exec.Cmd      // host.sh; nil: it is off
	power  io.WriteCloser // its input
}

func (h *host) dir(names ...string) string {
	return h.folder.in(append([]string{"hosts", h.name}, names...)...)
}

// environment is a login's on this host.
func (h *host) environment() []string {
	own := slices.DeleteFunc(environment(), func(e string) bool { return strings.HasPrefix(e, "XDG_") || strings.HasPrefix(e, "PG") })
	return append(own, "HOME="+h.dir(), "STINT_CONFIG="+h.dir("workspace", "stint.toml"))
}

// make gives the host its folder, with a clone of the workspace.
func (h *host) make(ctx context.Context, server string) error {
	if err := os.MkdirAll(h.dir("server"), 0o700); err != nil {
		return err
	}
	services := fmt.Sprintf("[demo]\nhost=%s\nuser=stint\ndbname=postgres\n", h.dir("server"))
	if err := os.WriteFile(h.dir(".pg_service.conf"), []byte(services), 0o600); err != nil {
		return err
	}
	var err error
	if h.way, err = pgtest.BetweenAt(ctx, h.dir("server"), server); err != nil {
		return err
	}
	_, err = output(ctx, h.folder.gitEnvironment(), "git", "clone", "--quiet", h.folder.workspace(), h.dir("workspace"))
	return err
}

// start switches the host on.
func (h *host) start(ctx context.Context) error {
	withSystemd, err := filepath.Abs("scripts/with-systemd")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), withSystemd, "--host", h.name, h.folder.in("host.sh"))
	cmd.Env, cmd.Dir = h.environment(), h.dir("workspace")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no keyboard's signals
	said, err := os.OpenFile(h.dir("host.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer said.Close()
	cmd.Stdout, cmd.Stderr = said, said
	power, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	h.runs, h.power = cmd, power
	return nil
}

// kill switches the host off as a power cut does. Should the demo itself be killed, its end has the same
// effect.
func (h *host) kill() error {
	if h.runs == nil {
		return nil
	}
	return errors.Join(h.power.Close(), h.wait())
}

// stop has the host fire no more.
func (h *host) stop() error {
	_, err := fmt.Fprintln(h.power, "stop")
	return err
}

// wait waits for the last session of the host.
func (h *host) wait() error {
	if h.runs == nil {
		return nil
	}
	cmd := h.runs
	h.runs = nil
	if err := cmd.Wait(); err != nil {
		said, _ := os.ReadFile(h.dir("host.log"))
		return fmt.Errorf("host %s: %w\n%s", h.name, err, said)
	}
	return nil
}

// hostsDemo is the demo of several hosts.
type hostsDemo struct {
	folder  folder
	cluster *pgtest.Cluster
	hosts   []*host
	here    *host // reads the record; no session runs on it

	productive map[string]int // sessions, by host
}

func showHosts(ctx context.Context, program string, keep bool) (err error) {
	f, err := newFolder("hosts")
	if err != nil {
		complain(err)
		return err
	}
	d := &hostsDemo{folder: f, productive: map[string]int{}}
	defer func() {
		err = errors.Join(err, d.end())
		if keep = keep || err != nil && ctx.Err() == nil; !keep {
			err = errors.Join(err, os.RemoveAll(string(f)))
		}
		complain(err)
		if keep {
			fmt.Printf("\nKept: %s\n", f)
		}
	}()
	if err := d.prepare(ctx, program); err != nil {
		return err
	}
	if err := d.run(ctx); err != nil {
		return err
	}
	return d.verify(ctx)
}

func (d *hostsDemo) end() (err error) {
	for _, h := range d.hosts {
		err = errors.Join(err, h.kill())
	}
	if d.cluster != nil {
		err = errors.Join(err, d.cluster.Remove())
	}
	return err
}

const (
	kinds  = 12
	eachOf = 16 // tasks of a category
	ttl    = "16s"
)

// prepare makes the server, the workspace and the hosts.
func (d *hostsDemo) prepare(ctx context.Context, program string) (err error) {
	fmt.Println("Starting a PostgreSQL server on a socket of its own")
	if d.cluster, err = pgtest.New(); err != nil {
		return err
	}
	if err := d.fill(program); err != nil {
		return err
	}
	fmt.Printf("Making a git repository with %d tasks in %d categories, and a clone of it for each of three hosts\n", kinds*eachOf, kinds)
	if err := d.folder.commit(ctx); err != nil {
		return err
	}
	d.here = &host{name: "here", folder: d.folder}
	if err := d.here.make(ctx, d.cluster.Dir); err != nil {
		return err
	}
	if _, err := d.stint(ctx, "store", "migrate"); err != nil {
		return err
	}
	for _, name := range []string{"alpha", "beta", "gamma"} {
		h := &host{name: name, folder: d.folder}
		if err := h.make(ctx, d.cluster.Dir); err != nil {
			return err
		}
		d.hosts = append(d.hosts, h)
	}
	return nil
}

// fill writes the program, the agent, the configuration and the tasks.
func (d *hostsDemo) fill(program string) error {
	f := d.folder
	binary, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	errs := []error{os.MkdirAll(f.in("workspace", "tasks"), 0o755), os.MkdirAll(f.in("beats"), 0o755), os.WriteFile(f.program(), binary, 0o755)}
	for _, name := range []string{"hostagent", "host.sh"} {
		text, err := f.file(name, "demo")
		errs = append(errs, err, os.WriteFile(f.in(name), text, 0o755))
	}
	config, err := f.file("hosts.toml", "demo")
	errs = append(errs, err)
	for kind := range kinds {
		config = fmt.Appendf(config, "\n[category.kind%02d]\ntimeout = \"30s\"\nttl = \"%s\"\ncooldown = \"0s\"\nmax_chain = 0\n", kind+1, ttl)
		for n := range eachOf {
			task := fmt.Sprintf("---\nstate: todo\ncategory: kind%02d\n---\n# Task %d\n", kind+1, n+1)
			errs = append(errs, os.WriteFile(f.in("workspace", "tasks", fmt.Sprintf("kind%02d-%02d.md", kind+1, n+1)), []byte(task), 0o644))
		}
	}
	return errors.Join(append(errs, os.WriteFile(f.config(), config, 0o644))...)
}

// stint calls the program under show on the host that reads.
func (d *hostsDemo) stint(ctx context.Context, args ...string) ([]byte, error) {
	return output(ctx, d.here.environment(), append([]string{d.folder.program()}, args...)...)
}

// event has the action at a time of the demo.
type event struct {
	after time.Duration
	says  string
	do    func() error
}

// run has the fleet work while things happen to its hosts.
func (d *hostsDemo) run(ctx context.Context) error {
	alpha, beta, gamma := d.hosts[0], d.hosts[1], d.hosts[2]
	plan := []event{
		{0, "alpha, beta and gamma are switched on; each fires every 3 s", func() error { return errors.Join(alpha.start(ctx), beta.start(ctx), gamma.start(ctx)) }},
		{12 * time.Second, "beta is killed, with all that runs on it", func() error { return d.atWork(ctx, beta, beta.kill) }},
		{22 * time.Second, "gamma is cut off from the server", func() error { gamma.way.Cut(); return nil }},
		{44 * time.Second, "gamma reaches the server again", func() error { gamma.way.Heal(); return nil }},
		{66 * time.Second, "beta is switched on again", func() error { return beta.start(ctx) }},
		{80 * time.Second, "no host fires any more; the last sessions end", func() error {
			return errors.Join(alpha.stop(), beta.stop(), gamma.stop())
		}},
	}
	began, printed := time.Now(), map[string]bool{}
	for _, e := range plan {
		for time.Since(began) < e.after {
			if err := d.look(ctx, began, printed); err != nil {
				return err
			}
		}
		fmt.Printf("%3.0f s  %s\n", time.Since(began).Seconds(), e.says)
		if err := e.do(); err != nil {
			return err
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(alpha.wait(), beta.wait(), gamma.wait()) }()
	for {
		select {
		case err := <-ended:
			return err
		default:
			if err := d.look(ctx, began, printed); err != nil {
				return err
			}
		}
	}
}

// atWork does something to a host while a session of it works.
func (d *hostsDemo) atWork(ctx context.Context, h *host, do func() error) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		files, err := os.ReadDir(d.folder.in("beats"))
		if err != nil {
			return err
		}
		for _, f := range files {
			if b := d.beats(f.Name()); b.host == h.name && !b.done {
				return do()
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// look prints the sessions that have ended since the last look.
func (d *hostsDemo) look(ctx context.Context, began time.Time, printed map[string]bool) error {
	s, err := statusOf(ctx, d.stint)
	if err != nil {
		return err
	}
	news := false
	for _, r := range s.Runs {
		if r.EndedAt == nil || r.Task == "" || printed[r.Run] {
			continue
		}
		printed[r.Run] = true
		b := d.beats(r.Run)
		if r.Outcome != "productive" {
			fmt.Printf("%3.0f s  %s on %s ends %s: %s\n", time.Since(began).Seconds(), r.Task, b.host, r.Outcome, r.Reason)
			continue
		}
		news = true
		d.productive[b.host]++
	}
	if news {
		fmt.Printf("%3.0f s  productive: alpha %2d  beta %2d  gamma %2d\n", time.Since(began).Seconds(), d.productive["alpha"], d.productive["beta"], d.productive["gamma"])
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Second):
		return nil
	}
}

// beats are the signs of life of a run's agent.
type beats struct {
	host, task  string
	first, last float64 // seconds since the machine was started
	done        bool
}

func (d *hostsDemo) beats(run string) (b beats) {
	f, err := os.Open(d.folder.in("beats", run))
	if err != nil {
		return beats{host: "?"} // it was killed before it began
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var at float64
		var word, category string
		if n, _ := fmt.Sscan(lines.Text(), &at, &word, &b.host, &category, &b.task); n != 5 {
			continue // a line that a kill cut short
		}
		if b.first == 0 {
			b.first = at
		}
		b.last, b.done = at, word == "done"
	}
	return b
}

// verify prints what came of it, and fails when anything was lost or done twice.
func (d *hostsDemo) verify(ctx context.Context) error {
	s, err := statusOf(ctx, d.stint)
	if err != nil {
		return err
	}
	files, err := os.ReadDir(d.folder.in("beats"))
	if err != nil {
		return err
	}
	ended, of, byTask := map[string]session{}, map[string]int{}, map[string][]beats{}
	for _, r := range s.Runs {
		ended[r.Run] = r
	}
	var lost, twice, over int
	for _, file := range files {
		b := d.beats(file.Name())
		of[b.host]++
		byTask[b.task] = append(byTask[b.task], b)
		if r := ended[file.Name()]; b.done && r.Grade == nil {
			lost++
			fmt.Printf("lost: run %s on %s: %s %s\n", file.Name(), b.host, r.Outcome, r.Reason)
		}
	}
	for _, list := range byTask {
		for i, a := range list {
			for _, b := range list[i+1:] {
				if a.first < b.last && b.first < a.last {
					twice++
				}
				if first := min(a.first, b.first); a.first == first && !a.done || b.first == first && !b.done {
					over++
				}
			}
		}
	}
	out, err := d.stint(ctx, "audit", "--json")
	if err != nil {
		return err
	}
	var audit struct {
		Violations int `json:"same_lock_violations"`
	}
	if err := json.Unmarshal(out, &audit); err != nil {
		return err
	}
	fmt.Printf("\nruns: alpha %d, beta %d, gamma %d\ntasks of killed sessions taken up again: %d\nlanes held twice: %d\ntasks worked on twice at once: %d\ngrades lost: %d\n",
		of["alpha"], of["beta"], of["gamma"], over, audit.Violations, twice, lost)
	for _, name := range []string{"alpha", "beta", "gamma"} {
		if of[name] == 0 {
			return fmt.Errorf("host %s has run nothing: %s", name, strings.TrimSpace(d.log(name)))
		}
	}
	if audit.Violations+twice+lost > 0 {
		return errors.New("something was lost or done twice")
	}
	if over == 0 {
		return errors.New("no task was taken up again, though a host was killed at work")
	}
	return nil
}

func (d *hostsDemo) log(name string) string {
	text, err := os.ReadFile(d.folder.in("hosts", name, "fires.log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-500):])
}
