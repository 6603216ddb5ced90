// Command testtrackers has stint work on issues as a help topic configures it. The real gh
// asks a stub of GitHub's API on loopback: of 150 open issues and 3 closed ones each open one
// is listed once, and each of a few is closed there once by sessions side by side. The same
// sessions close the items of Beads, by a program that stands in for bd.
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
	"strings"
)

const (
	issues = 153 // more than the 30 that gh lists by default, and than the 100 of one page
	open   = 150
)

func main() {
	record := flag.String("record", "", "write the first two issues that gh prints to this `file`")
	flag.Parse()
	if flag.NArg() != 3 {
		fmt.Fprintln(os.Stderr, "usage: testtrackers [-record FILE] STINT TOPIC BD")
		os.Exit(2)
	}
	if err := try(flag.Arg(0), flag.Arg(1), flag.Arg(2), *record); err != nil {
		fmt.Fprintf(os.Stderr, "testtrackers: %v\n", err)
		os.Exit(1)
	}
}

func try(stint, topic, bd, record string) error {
	stint, err := filepath.Abs(stint)
	if err != nil {
		return err
	}
	if bd, err = filepath.Abs(bd); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "testtrackers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is in the folder for such things
	text, err := os.ReadFile(topic)
	if err != nil {
		return err
	}
	source, err := sourceOf(string(text), "github")
	if err != nil {
		return err
	}
	if record != "" {
		return recordIssues(filepath.Join(dir, "record"), record)
	}
	if err := tryListing(filepath.Join(dir, "listing"), stint, source); err != nil {
		return err
	}
	if err := tryGitHub(filepath.Join(dir, "github"), stint, source); err != nil {
		return fmt.Errorf("sessions with gh: %w", err)
	}
	if source, err = sourceOf(string(text), "beads"); err != nil {
		return err
	}
	if err := tryBeads(filepath.Join(dir, "beads"), stint, bd, source); err != nil {
		return fmt.Errorf("sessions with the stand-in for bd: %w", err)
	}
	return nil
}

// sourceOf is the configuration of a source as the topic shows it.
func sourceOf(topic, name string) (string, error) {
	header := "    [tasks.source." + name + "]\n"
	_, source, found := strings.Cut(topic, header)
	if !found {
		return "", fmt.Errorf("the topic shows no example of [tasks.source.%s]", name)
	}
	source, _, _ = strings.Cut(source, "\n\n")
	return header + source + "\n", nil
}

// workspace is a folder with a fleet of one source.
type workspace struct {
	dir         string
	environment []string
}

// newWorkspace writes it. Its agent says that it is done; the other says nothing.
func newWorkspace(dir, source string, environment ...string) (workspace, error) {
	var names []string
	for _, pair := range environment {
		name, _, _ := strings.Cut(pair, "=")
		names = append(names, fmt.Sprintf("%q", name))
	}
	text := fmt.Sprintf(`fleet = "trackers"
state = %q
[agent.closes]
command = ["sh", "-c", 'echo "{\"outcome\":\"productive\",\"task_state\":\"done\"}" >$STINT_RESULT']
[agent.silent]
command = ["true"]
[category.code]
agents = ["closes", "silent"]
lanes = %d
cooldown = "0s"
[commands]
pass_environment = ["HOME", "PATH", %s]
%s`, filepath.Join(dir, "state"), workers, strings.Join(names, ", "), source)
	w := workspace{dir: dir, environment: append([]string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}, environment...)}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return w, err
	}
	if err := os.WriteFile(filepath.Join(dir, "stint.toml"), []byte(text), 0o600); err != nil {
		return w, err
	}
	_, err := w.run("git", "init", "--quiet")
	return w, err
}

func (w workspace) run(argv ...string) ([]byte, error) {
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // it ends by itself
	cmd.Dir, cmd.Env = w.dir, w.environment
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return out, fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, exit.Stderr)
	}
	return out, err
}

// serve starts a stub of GitHub's API, and says how gh finds it.
func (g *github) serve(dir string) (api *httptest.Server, environment []string, err error) {
	api = httptest.NewTLSServer(http.HandlerFunc(g.answer))
	certificate := dir + ".pem"
	environment = []string{
		"GH_REPO=" + strings.TrimPrefix(api.URL, "https://") + "/example/shop", "GH_ENTERPRISE_TOKEN=none", "SSL_CERT_FILE=" + certificate,
	}
	if err := os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw}), 0o600); err != nil {
		api.Close()
		return nil, nil, err
	}
	return api, environment, nil
}

func recordIssues(dir, file string) error {
	g := &github{issues: issues}
	api, environment, err := g.serve(dir)
	if err != nil {
		return err
	}
	defer api.Close()
	w, err := newWorkspace(dir, "", environment...)
	if err != nil {
		return err
	}
	out, err := w.run("gh", "issue", "list", "--state", "all", "--limit", "2", "--json", "number,title,body,labels,state,createdAt,updatedAt,assignees,url")
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(strings.ReplaceAll(string(out), strings.TrimPrefix(api.URL, "https://"), "github.com")), 0o600)
}

func tryListing(dir, stint, source string) error {
	g := &github{issues: issues}
	api, environment, err := g.serve(dir)
	if err != nil {
		return err
	}
	defer api.Close()
	w, err := newWorkspace(dir, source, environment...)
	if err != nil {
		return err
	}
	output, err := w.run(stint, "task", "list", "--all", "--json")
	if err != nil {
		return err
	}
	return check(output)
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
