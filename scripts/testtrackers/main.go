// Command testtrackers has stint read issues by the real gh, configured as a help topic
// shows it, from a stub of GitHub's API on loopback: 150 issues that are open, and 3 that
// are closed. It fails where stint does not list each open issue once, or lists a closed
// one as work.
package main

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	issues = 153 // more than the 30 that gh lists unless told otherwise, and than the 100 of one page
	open   = 150
)

func isClosed(number int) bool { return number%51 == 0 }

func main() {
	record := flag.String("record", "", "write the first two issues that gh prints to this `file`")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: testtrackers [-record FILE] STINT TOPIC")
		os.Exit(2)
	}
	if err := try(flag.Arg(0), flag.Arg(1), *record); err != nil {
		fmt.Fprintf(os.Stderr, "testtrackers: %v\n", err)
		os.Exit(1)
	}
}

func try(stint, topic, record string) error {
	stint, err := filepath.Abs(stint)
	if err != nil {
		return err
	}
	source, err := sourceOf(topic)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "testtrackers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is in the folder for such things
	api := httptest.NewTLSServer(http.HandlerFunc(answer))
	defer api.Close()
	certificate := filepath.Join(dir, "certificate.pem")
	text := fmt.Sprintf(`fleet = "trackers"
state = %q
[agent.none]
command = ["false"]
[category.code]
[tasks]
pass_environment = ["PATH", "HOME", "GH_REPO", "GH_ENTERPRISE_TOKEN", "SSL_CERT_FILE"]
%s`, filepath.Join(dir, "state"), source)
	if err := errors.Join(
		os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw}), 0o600),
		os.WriteFile(filepath.Join(dir, "stint.toml"), []byte(text), 0o600),
	); err != nil {
		return err
	}
	host := strings.TrimPrefix(api.URL, "https://")
	run := func(argv ...string) ([]byte, error) {
		cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // it ends by itself
		cmd.Dir, cmd.Stderr = dir, os.Stderr
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GH_REPO=" + host + "/example/shop", "GH_ENTERPRISE_TOKEN=none", "SSL_CERT_FILE=" + certificate,
		}
		return cmd.Output()
	}
	if record != "" {
		output, err := run("gh", "issue", "list", "--state", "all", "--limit", "2", "--json", "number,title,body,labels,state,createdAt,updatedAt,assignees,url")
		if err != nil {
			return fmt.Errorf("gh: %w", err)
		}
		return os.WriteFile(record, []byte(strings.ReplaceAll(string(output), host, "github.com")), 0o600)
	}
	output, err := run(stint, "task", "list", "--all", "--json")
	if err != nil {
		return fmt.Errorf("stint task list: %w", err)
	}
	return check(output)
}

// sourceOf is the example of the topic that reads GitHub's issues.
func sourceOf(topic string) (string, error) {
	text, err := os.ReadFile(topic)
	if err != nil {
		return "", err
	}
	_, rest, found := strings.Cut(string(text), "    [tasks.source.github]\n")
	example, _, _ := strings.Cut(rest, "\n\n")
	if !found {
		return "", fmt.Errorf("%s has no example of [tasks.source.github]", topic)
	}
	return "[tasks.source.github]\n" + example + "\n", nil
}

func check(output []byte) error {
	var list struct {
		Tasks []struct {
			ID       string
			State    string
			Workable bool
			Tags     []string
		}
	}
	if err := json.Unmarshal(output, &list); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, t := range list.Tasks {
		if !t.Workable || t.State != "todo" || seen[t.ID] || !slices.Equal(t.Tags, []string{"bug"}) {
			return fmt.Errorf("%+v: want each open issue once, as work", t)
		}
		seen[t.ID] = true
	}
	for n := 1; n <= issues; n++ {
		if !isClosed(n) && !seen[fmt.Sprintf("github-%d", n)] {
			return fmt.Errorf("issue %d is not listed", n)
		}
	}
	fmt.Printf("gh: %d open issues listed, %d closed ones left out\n", len(list.Tasks), issues-open)
	if len(list.Tasks) != open {
		return fmt.Errorf("%d tasks, want %d", len(list.Tasks), open)
	}
	return nil
}

type object = map[string]any

// answer is the part of GitHub's GraphQL API that "gh issue list" asks.
func answer(w http.ResponseWriter, r *http.Request) {
	var question struct {
		Query     string
		Variables struct {
			Limit     int
			EndCursor string
			States    []string
		}
	}
	if r.URL.Path != "/api/graphql" || json.NewDecoder(r.Body).Decode(&question) != nil {
		http.NotFound(w, r)
		return
	}
	data := object{}
	if strings.Contains(question.Query, "query IssueList(") {
		v := question.Variables
		from, _ := strconv.Atoi(v.EndCursor) // empty: the first page
		list := issuesIn(v.States)
		to := min(from+v.Limit, len(list))
		data["repository"] = object{"hasIssuesEnabled": true, "issues": object{
			"totalCount": len(list), "nodes": list[from:to],
			"pageInfo": object{"hasNextPage": to < len(list), "endCursor": strconv.Itoa(to)},
		}}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object{"data": data}) // gh tells what it did not get
}

// issuesIn are the issues in those states, the newest first.
func issuesIn(states []string) (list []object) {
	for n := issues; n > 0; n-- {
		state := "OPEN"
		if isClosed(n) {
			state = "CLOSED"
		}
		if slices.Contains(states, state) {
			list = append(list, object{
				"number": n, "title": fmt.Sprintf("Issue %d", n), "body": "It is <broken>.\r\n", "state": state,
				"createdAt": "2026-09-30T12:01:02Z", "updatedAt": "2026-10-01T00:00:00Z",
				"url":       fmt.Sprintf("https://github.com/example/shop/issues/%d", n),
				"labels":    object{"totalCount": 1, "nodes": []object{{"id": "LA_1", "name": "bug", "description": "", "color": "d73a4a"}}},
				"assignees": object{"totalCount": 1, "nodes": []object{{"id": "U_1", "login": "ann", "name": "Ann Example"}}},
			})
		}
	}
	return list
}
