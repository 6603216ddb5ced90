package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// forge answers the part of GitHub's API that the real gh asks about pull requests of one
// repository. Gh speaks plain HTTP with the host github.localhost, and to a socket if it has one.
type forge struct {
	mu       sync.Mutex
	requests []*pullRequest
	fault    string // what becomes of a question; empty: it is answered
}

// pullRequest has the names that gh asks for.
type pullRequest struct {
	ID          string  `json:"id"`
	Number      int     `json:"number"`
	URL         string  `json:"url"`
	State       string  `json:"state"`
	Title       string  `json:"title"`
	Body        string  `json:"body"`
	HeadRefName string  `json:"headRefName"`
	BaseRefName string  `json:"baseRefName"`
	MergedAt    *string `json:"mergedAt"`
	ClosedAt    *string `json:"closedAt"`
	Owner       owner   `json:"headRepositoryOwner"`
	Comments    nodes   `json:"comments"`
	Reviews     nodes   `json:"reviews"`
	Checks      nodes   `json:"statusCheckRollup"`
}

type owner struct {
	Login string `json:"login"`
}

// nodes are a list as GraphQL has it.
type nodes struct {
	Nodes []map[string]any `json:"nodes"`
}

// serving stands for the forge in the values of a script.
type serving struct{}

// scriptForge starts a forge, or has something happen there.
func scriptForge(ts *testscript.TestScript, args []string) {
	if args[0] == "start" {
		startForge(ts)
		return
	}
	f, ok := ts.Value(serving{}).(**forge)
	if !ok || *f == nil {
		ts.Fatalf("no forge was started")
	}
	(*f).happen(ts, args)
}

func startForge(ts *testscript.TestScript) {
	dir, err := os.MkdirTemp("", "forge") // the name of a socket is short
	ts.Check(err)
	socket := filepath.Join(dir, "api")
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", socket)
	ts.Check(err)
	f := &forge{}
	server := httptest.NewUnstartedServer(f)
	server.Listener = listener
	server.Start()
	ts.Defer(func() {
		server.Close()
		_ = os.RemoveAll(dir)
	})
	ts.Check(os.WriteFile(filepath.Join(dir, "config.yml"), []byte("http_unix_socket: "+socket+"\n"), 0o600))
	for name, value := range map[string]string{"GH_HOST": "github.localhost", "GH_TOKEN": "none", "GH_CONFIG_DIR": dir} {
		ts.Setenv(name, value)
	}
	*ts.Value(serving{}).(**forge) = f //nolint:forcetypeassert // the set-up puts it there
}

// happen changes a request, or what becomes of questions, or prints the requests.
func (f *forge) happen(ts *testscript.TestScript, args []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now().UTC().Format(time.RFC3339Nano)
	request := func() *pullRequest {
		n, err := strconv.Atoi(args[1])
		if err != nil || n < 1 || n > len(f.requests) {
			ts.Fatalf("no request %s", args[1])
		}
		return f.requests[n-1]
	}
	switch args[0] {
	case "list":
		for _, r := range f.requests {
			fmt.Fprintf(ts.Stdout(), "%d %s %s %q %q\n", r.Number, r.State, r.HeadRefName, r.Title, r.Body)
		}
	case "fails":
		f.fault = args[1]
	case "works":
		f.fault = ""
	case "merge":
		r := request()
		r.State, r.MergedAt, r.ClosedAt = "MERGED", &now, &now
	case "close":
		r := request()
		r.State, r.ClosedAt = "CLOSED", &now
	case "comment":
		r := request()
		r.Comments.Nodes = append(r.Comments.Nodes, map[string]any{
			"author": owner{args[2]}, "authorAssociation": args[3], "body": args[4], "createdAt": now,
		})
	case "check":
		check := map[string]any{"__typename": "CheckRun", "name": "test", "status": "COMPLETED", "conclusion": args[2]}
		rollup := map[string]any{"statusCheckRollup": map[string]any{"contexts": nodes{[]map[string]any{check}}}}
		request().Checks.Nodes = []map[string]any{{"commit": rollup}}
	default:
		ts.Fatalf("forge: %s?", args[0])
	}
}

// apiQuestion is a question of gh's.
type apiQuestion struct {
	Query     string
	Variables struct {
		HeadRefName string
		States      []string
		Number      int `json:"pr_number"`
		Input       struct{ HeadRefName, BaseRefName, Title, Body string }
	}
}

func (f *forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var asked apiQuestion
	if r.URL.Path != "/graphql" || json.NewDecoder(r.Body).Decode(&asked) != nil {
		http.NotFound(w, r)
		return
	}
	if status, err := strconv.Atoi(f.fault); err == nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"message": %q}`, map[int]string{403: "API rate limit exceeded", 429: "Too many requests"}[status])
		return
	}
	answer, creates := f.answer(asked)
	if creates && f.fault == "cut" { // it has the request, and gh does not get to know it
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = conn.Close()
		}
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // gh reports what it did not get
}

// answer also reports whether the question made a request.
func (f *forge) answer(q apiQuestion) (answer map[string]any, creates bool) {
	data := func(name string, value any) map[string]any {
		return map[string]any{"data": map[string]any{name: value}}
	}
	branch := map[string]any{"name": "main"}
	v := q.Variables
	switch {
	case strings.Contains(q.Query, "query RepositoryInfo("):
		return data("repository", map[string]any{
			"id": "R_1", "name": "shop", "owner": owner{"example"}, "viewerPermission": "ADMIN", "defaultBranchRef": branch,
		}), false
	case strings.Contains(q.Query, "query PullRequestForBranch("):
		var found nodes
		for _, r := range f.requests {
			if r.HeadRefName == v.HeadRefName && (v.States == nil || slices.Contains(v.States, r.State)) {
				found.Nodes = append(found.Nodes, r.fields())
			}
		}
		return data("repository", map[string]any{"pullRequests": found, "defaultBranchRef": branch}), false
	case strings.Contains(q.Query, "query PullRequestByNumber(") && v.Number > 0 && v.Number <= len(f.requests):
		return data("repository", map[string]any{"pullRequest": f.requests[v.Number-1].fields()}), false
	case strings.Contains(q.Query, "mutation PullRequestCreate("):
		r := newPullRequest(len(f.requests)+1, v.Input.HeadRefName, v.Input.BaseRefName)
		r.Title, r.Body = v.Input.Title, v.Input.Body
		f.requests = append(f.requests, r)
		return data("createPullRequest", map[string]any{"pullRequest": r.fields()}), true
	}
	return map[string]any{"errors": []any{map[string]any{"message": "not understood: " + q.Query}}}, false
}

func newPullRequest(number int, head, base string) *pullRequest {
	none := nodes{[]map[string]any{}}
	return &pullRequest{
		ID: fmt.Sprintf("PR_%d", number), Number: number, URL: fmt.Sprintf("https://github.localhost/example/shop/pull/%d", number),
		State: "OPEN", HeadRefName: head, BaseRefName: base, Owner: owner{"example"}, Comments: none, Reviews: none, Checks: none,
	}
}

// fields are the request as JSON has it.
func (r *pullRequest) fields() (all map[string]any) {
	text, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		panic(err) // it has nothing that JSON cannot say
	}
	return all
}
