package web_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stint/internal/agent/rundir"
	"stint/internal/agent/session"
	"stint/internal/claim"
	"stint/internal/config"
	"stint/internal/engine"
	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/sqlite"
	"stint/internal/survey"
	"stint/internal/task"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storekit"
	"stint/internal/view"
	"stint/internal/web"
	"stint/internal/workspace"
)

// Words that would do something were they ever more than text. The ids of tasks hold no
// control characters: those get into logs, and into reasons by way of agents.
const (
	hostile     = `</script><img src=x onerror="alert(1)">'` + "\u202egnp\u2066"
	hostileTask = `<script>alert(1)<img src=x onerror="alert(1)">` + "\u202egnp"
	hostileText = hostile + "\x1b[31mred\x1b[0m\x07\x00"
)

const usualToken = "fedcba9876543210"

// request asks for a page, with the usual token.
func request(ctx context.Context, path string) *http.Request {
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
	r.Header.Set("Authorization", "Bearer "+usualToken)
	return r
}

// bench is a fleet with a real store, and the pages that show it.
type bench struct {
	testing.TB
	config *config.Config
	*engine.Engine
	db      *sqlite.DB // nil: nothing has run yet
	server  *httptest.Server
	bearer  string                // what requests bring that say nothing of it
	decided string                // what was asked for last about work in review
	stop    context.CancelFunc    // ends the streams
	fault   atomic.Pointer[error] // of whatever is looked at
	ahead   atomic.Int64          // nanoseconds by which the pages' clock is ahead of the real one
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := emptyBench(t, web.Options{})
	b.open()
	return b
}

// emptyBench is a fleet of which nothing has run yet.
func emptyBench(t *testing.T, o web.Options) *bench {
	t.Helper()
	dir := t.TempDir()
	text := fmt.Sprintf("fleet = \"bob\"\nstate = %q\n[agent.fake]\ncommand = [\"true\"]\n[category.code]\n[category.docs]\n[category.triage]\nlanes = 2\n", filepath.Join(dir, "state"))
	c := must.Get(config.Parse(filepath.Join(dir, "stint.toml"), []byte(text), config.Options{}))(t)
	must.Do(t, os.Mkdir(c.Tasks.Dir, 0o755))
	b := &bench{TB: t, config: c}
	b.Engine = b.engine(nil)
	o.With, o.Fleet, o.Version, o.Now = b.with, c.Fleet, "v1", b.pageClock
	o.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	o.Open = rundir.Open
	o.Tasks = func(context.Context, *inspect.Explainer) ([]view.TaskEntry, error) {
		return []view.TaskEntry{{Task: fleet.Task{ID: hostileTask, Title: hostileText}}}, nil
	}
	o.Work = b.work
	o.Land = func(run fleet.RunID, tip string) error { b.decided = fmt.Sprint("land ", run, " ", tip); return nil }
	o.Reject = func(run fleet.RunID, tip, reason string) error {
		b.decided = fmt.Sprint("reject ", run, " ", tip, " ", reason)
		return nil
	}
	if o.Token == "" {
		o.Token = usualToken
		b.bearer = "Bearer " + o.Token
	}
	b.server = httptest.NewUnstartedServer(web.New(o))
	ctx, cancel := context.WithCancel(context.Background())
	b.stop = cancel
	b.server.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	b.server.Start()
	t.Cleanup(func() {
		cancel()
		b.server.Close()
	})
	return b
}

func clock() time.Time { return time.Now() } //nolint:forbidigo // streams have deadlines of the real clock

// pageClock is the time as the pages know it.
func (b *bench) pageClock() time.Time { return clock().Add(time.Duration(b.ahead.Load())) }

// engine is the fleet's with a store that may be nil.
func (b *bench) engine(s store.Store) *engine.Engine {
	var chance atomic.Uint64
	folders := rundir.Folders{State: b.config.State, Keep: config.KeepFolders, Now: clock}
	sources := task.Sources{Folder: task.Folder{Dir: b.config.Tasks.Dir, DefaultCategory: b.config.Tasks.DefaultCategory}}
	return &engine.Engine{
		Reader: &survey.Reader{
			Config: b.config, Store: s, Sessions: sessions{}, Agents: session.Runner{}, Ends: folders, Tasks: sources,
			Work: workspace.Places{
				Clone: workspace.Clone{Dir: workspace.Folder(b.config.Workspace), Fleet: b.config.Fleet, Root: filepath.Join(b.config.State, "worktrees"), Environment: os.Environ()},
				Log:   slog.New(slog.DiscardHandler),
			},
			Lessons: task.LessonFolder{Dir: b.config.Lessons.Dir}.List, Log: slog.New(slog.DiscardHandler),
			Now: clock, Random: func() uint64 { return chance.Add(1) }, Getenv: os.Getenv,
		},
		Lanes: claim.Locks(b.config.State), Stopper: sessions{}, Runner: session.Runner{}, Repo: noRepo{}, Folders: folders, Sources: sources,
	}
}

func (b *bench) storeOptions() sqlite.Options {
	return sqlite.Options{
		Dir: b.config.State, Fleet: b.config.Fleet, Workspace: b.config.Workspace, Now: b.pageClock, Settings: b.config.Selector.Settings(),
	}
}

// open makes the store.
func (b *bench) open() {
	b.Helper()
	db, err := sqlite.Open(b.Context(), b.storeOptions())
	if err != nil {
		b.Fatal(err)
	}
	b.db, b.Store = db, db
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
}

// with opens the store anew, as the command line does.
func (b *bench) with(ctx context.Context, fn func(*inspect.Explainer) error) error {
	if fault := b.fault.Load(); fault != nil {
		return *fault
	}
	db, err := sqlite.OpenRead(ctx, b.storeOptions())
	if errors.Is(err, fleet.ErrNotFound) {
		return fn(&inspect.Explainer{Reader: b.engine(nil).Reader})
	}
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return fn(&inspect.Explainer{Reader: b.engine(db).Reader})
}

// work is the first item of review, with a hostile diff.
func (b *bench) work(ctx context.Context, e *inspect.Explainer, _ fleet.RunID) (w web.Work, err error) {
	target, items, err := e.Review(ctx)
	if err == nil && len(items) == 0 {
		err = fleet.ErrNotFound
	}
	if err != nil {
		return w, err
	}
	return web.Work{Target: target, Item: items[0], Diff: "+" + hostileText + "\n-gone\n", Cut: true}, nil
}

// sessions all live.
type sessions struct{}

func (sessions) Liveness(context.Context, fleet.Run) fleet.Liveness { return fleet.Lives }
func (sessions) Suspended(fleet.Run) bool                           { return false }
func (sessions) Supervised(fleet.Run) bool                          { return true }
func (sessions) End(context.Context, fleet.Run) error               { return nil }
func (sessions) Stop(context.Context, fleet.Run) error              { return nil }

// noRepo is a workspace in which there is nothing to tidy up. Nobody works in it.
type noRepo struct{ engine.Repo }

func (noRepo) Own(context.Context, fleet.RunID, string) (string, error) { return "", nil }

func (noRepo) Rescue(context.Context, func(fleet.RunID) bool) error { return nil }

func (noRepo) Tidy(context.Context, func(fleet.RunID) bool) error { return nil }

// starter starts units, or says so.
type starter struct{}

func (starter) Start(_ context.Context, specs []fleet.UnitSpec) []error {
	return make([]error, len(specs))
}

func (b *bench) check(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) addTask(id fleet.TaskID, c fleet.Category) {
	b.Helper()
	text := fmt.Sprintf("---\ncategory: %s\n---\nwork\n", c)
	b.check(os.WriteFile(filepath.Join(b.config.Tasks.Dir, string(id)+".md"), []byte(text), 0o600))
}

// fire fires once and returns the run it planned for a category.
func (b *bench) fire(c fleet.Category) (fleet.FireID, fleet.RunID) {
	b.Helper()
	r, err := b.Fanout(b.Context(), engine.FanoutOptions{Workers: 3, Units: starter{}, Binary: "/bin/stint"})
	b.check(err)
	for _, choice := range r.Choices {
		if choice.Category == c {
			return r.ID, choice.Run
		}
	}
	b.Fatalf("fire %d did not start %s: %+v", r.ID, c, r.Choices)
	return 0, ""
}

// begin has a run take lane and claim, and its agent print something.
func (b *bench) begin(id fleet.RunID, c fleet.Category, on fleet.TaskID, printed string) {
	b.Helper()
	begun, err := b.db.Begin(b.Context(), store.Begin{
		Run: id, PID: os.Getpid(), Category: c, Lane: 1, TTL: time.Hour, Agents: []fleet.Terms{{Agent: "fake"}},
		Offers: []store.Offer{{Task: on, Key: on.Key()}},
	})
	b.check(err)
	if begun.Claim.Key == "" {
		b.Fatalf("claim of %q: got %+v", on, begun)
	}
	b.print(id, printed)
}

// print adds to a run's log.
func (b *bench) print(id fleet.RunID, text string) {
	b.Helper()
	files := fleet.FilesOf(b.config.State, id)
	b.check(os.MkdirAll(files.Dir, 0o700))
	f, err := os.OpenFile(files.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	b.check(err)
	_, err = f.WriteString(text)
	b.check(errors.Join(err, f.Close()))
}

// end completes a run with a grade.
func (b *bench) end(id fleet.RunID, reason string) {
	b.Helper()
	r, err := b.db.Run(b.Context(), id)
	b.check(err)
	grade, tokens := 0.75, int64(1234)
	r.Verdict = fleet.Verdict{Outcome: fleet.Productive, Grade: &grade, Reason: reason, Parts: map[string]float64{"grade_work": 0.7, "grade_size": 0.08, "grade_retries": -0.03, "commits": 1, "files": 12}}
	r.Usage.Tokens = &tokens
	b.check(b.db.Complete(b.Context(), r))
	b.check(storekit.LeaveLane(b.Context(), b.db, id))
}

// worked is a fleet in which one run has ended and another is under way, all of it with
// hostile names.
func worked(t *testing.T) (b *bench, fire fleet.FireID, ended, open fleet.RunID) {
	t.Helper()
	b = newBench(t)
	b.addTask(hostileTask, "code")
	b.addTask("b", "docs")
	fire, ended = b.fire("code")
	r, err := b.db.LastRuns(t.Context(), store.RunQuery{Category: "docs", Limit: 1})
	b.check(err)
	open = r[0].ID
	b.check(storekit.Deny(t.Context(), b.db, fleet.DeniedClaim{Run: ended, Category: "code", Key: hostile, Holder: hostile, At: clock()}))
	b.begin(ended, "code", hostileTask, "begin\n"+hostileText+"\rover\n")
	b.end(ended, hostile)
	b.begin(open, "docs", "b", "at work\n")
	_, _, err = b.db.Take(t.Context(), store.TakeRequest{Key: "extra " + hostile, Holder: hostile, TTL: time.Hour, Note: hostile})
	b.check(err)
	b.check(b.db.Pause(t.Context(), fleet.Pause{Category: "triage", Since: clock(), Reason: hostile}))
	b.branch(ended)
	return b, fire, ended, open
}

// branch gives a run work that waits for review.
func (b *bench) branch(run fleet.RunID) {
	b.Helper()
	b.check(os.WriteFile(filepath.Join(b.config.Workspace, "<b>&\u202e"), []byte("new\n"), 0o600))
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch", "<b>main"},
		{"commit", "--quiet", "--allow-empty", "--message", "begin"},
		{"switch", "--quiet", "--create", "stint/bob/" + string(run)},
		{"add", "<b>&\u202e"},
		{"commit", "--quiet", "--message", hostile},
		{"switch", "--quiet", "<b>main"},
	} {
		git := exec.CommandContext(b.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org", "-C", b.config.Workspace}, args...)...) //nolint:gosec // words of this test
		git.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
		if out, err := git.CombinedOutput(); err != nil {
			b.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

// get asks for a page. Headers are names and values in turn.
func (b *bench) get(path string, headers ...string) (*http.Response, string) {
	b.Helper()
	return b.ask(http.MethodGet, path, headers...)
}

func (b *bench) ask(method, path string, headers ...string) (*http.Response, string) {
	b.Helper()
	return b.send(method, path, "", headers...)
}

// send sends a form.
func (b *bench) send(method, path, form string, headers ...string) (*http.Response, string) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, b.server.URL+path, strings.NewReader(form))
	b.check(err)
	r.Header.Set("Authorization", b.bearer)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	answer, err := client.Do(r)
	b.check(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	b.check(err)
	return answer, string(text)
}

func contains(t *testing.T, where, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%s: want %q in\n%s", where, want, text)
		}
	}
}
