// Package examples_test tries the examples as an operator would: as programs.
package examples_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stint/internal/agent/command"
	"stint/internal/agent/grade"
	"stint/internal/fleet"
)

// scene is a session to judge: a workspace with a commit of it, and its files.
type scene struct {
	t        testing.TB
	dir      string
	revision string
	c        grade.Case
	e        grade.Evidence
}

func newScene(t testing.TB) *scene {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Fatal("the example is in Python, and python3 is not installed: run scripts/setup test")
	}
	s := &scene{t: t, dir: t.TempDir()}
	s.git("init", "--quiet")
	s.write("code.txt", "the answer is 42\n")
	s.git("add", "code.txt")
	s.git("commit", "--quiet", "--message", "Answer it")
	s.revision = s.git("rev-parse", "HEAD")
	files := fleet.FilesOf(s.dir, "0run")
	s.write("runs/0run/prompt", "Please answer.\n")
	s.write("runs/0run/log", "thinking\n")
	s.write("tasks/answer.md", "# What is the answer?\n")
	s.c = grade.Case{
		Run: "0run", Category: "code", Workspace: s.dir, Revisions: []string{s.revision}, Diff: s.git("show", s.revision), Files: files,
		Task: &fleet.Task{ID: "answer", Title: "What is the answer?", Path: filepath.Join(s.dir, "tasks/answer.md")},
	}
	s.e = grade.Evidence{Exit: fleet.SessionExit{End: fleet.Exited}, Commits: 1}
	return s
}

func (s *scene) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	syscall.ForkLock.RLock() // a child that still had it open for writing would make it busy
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) git(args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "git", append([]string{"-C", s.dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// judge has the session judged by a shell script that plays the model; what that read
// is in the file "asked".
func (s *scene) judge(model string) (grade.Judgement, error) {
	s.t.Helper()
	input, err := s.c.Encode(s.e)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write("model", "#!/bin/sh\ncat >'"+s.dir+"/asked'\n"+model)
	script, err := filepath.Abs("judge")
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := command.Command{
		Argv: []string{script}, Dir: s.dir, Stdin: input, Limit: grade.MaxOpinion,
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "JUDGE='" + s.dir + "/model' 'two words'"},
	}.Output(context.WithoutCancel(s.t.Context()))
	s.e.Opinion = &grade.Opinion{Output: out}
	if err != nil {
		s.e.Opinion.Fault = err.Error()
	}
	return grade.Assess(s.e), err
}

func (s *scene) asked() string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, "asked"))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

func TestJudge(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	got, err := s.judge(`[ "$1" = "two words" ] && [ -z "$(ls -A)" ] && printf 'Well.\nGRADE: 0.3\n**GRADE:** 0.85\n\nREASON: right,\033[2J and tested\n'`)
	if err != nil {
		t.Fatal(err)
	}
	want := fleet.Verdict{
		Outcome: fleet.Productive, Grade: new(0.85), Reason: "right, [2J and tested",
		Parts: map[string]float64{"commits": 1}, ExitStatus: new(0),
	}
	if diff := cmp.Diff(got, grade.Judgement{Verdict: want}); diff != "" {
		t.Errorf("judgement (-got +want):\n%s", diff)
	}
	for _, part := range []string{"What is the answer?", "Please answer.", "+the answer is 42", "Answer it", "1 commit", "never an instruction"} {
		if !strings.Contains(s.asked(), part) {
			t.Errorf("%q is not in what the model was asked:\n%s", part, s.asked())
		}
	}
}

// TestJudgeShowsTheDiff has one that was cut, and a check that failed.
func TestJudgeShowsTheDiff(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.c.Diff, s.c.DiffCut = "+first\n"+strings.Repeat("+more\n", 1<<15)+"+last\n", true
	s.e.Check = &grade.Check{Failure: "run make test: exit status 2: TestAnswer"}
	if _, err := s.judge("echo GRADE: 0.2"); err != nil {
		t.Fatal(err)
	}
	asked := s.asked()
	for _, part := range []string{"+first\n", "+last\n", "characters left out", "the rest of the diff was left out", "begin: its check\nit fails: run make test: exit status 2: TestAnswer"} {
		if !strings.Contains(asked, part) {
			t.Errorf("%q is not in what the model was asked", part)
		}
	}
	if len(asked) > 70_000 || strings.Contains(asked, "its log") {
		t.Errorf("got a prompt of %d bytes, want the ends of the diff and no log", len(asked))
	}
}

func TestJudgeReadsTheLogWhereThereIsNoDiff(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.c.Revisions, s.c.Diff, s.c.Task = nil, "", nil
	s.write("runs/0run/log", "first words "+strings.Repeat("x\xff", 1<<20)+" last words")
	got, err := s.judge("echo GRADE: 1")
	if err != nil || *got.Verdict.Grade != 1 || got.Verdict.Reason != "judged without a reason" {
		t.Fatalf("got %+v, %v, want grade 1", got, err)
	}
	if asked := s.asked(); !strings.Contains(asked, "first words") || !strings.Contains(asked, "last words") || len(asked) > 50_000 {
		t.Errorf("got a prompt of %d bytes, want the ends of the log", len(asked))
	}
}

func TestJudgeSparesTheModel(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.e.Commits, s.e.Exit.Status = 0, 7 // and so nothing that is left
	got, err := s.judge("echo GRADE: 1")
	if err != nil || got.Verdict.Outcome != fleet.Failed || got.Verdict.Reason != "the agent exited with 7" {
		t.Errorf("got %+v, %v, want failed as it was found", got.Verdict, err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "asked")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the model was asked: %v", err)
	}
}

func TestJudgeFails(t *testing.T) {
	t.Parallel()
	for name, model := range map[string]string{
		"no grade": "echo it is fine", "too high": "echo GRADE: 8", "a fraction": "echo GRADE: 8/10", "below zero": "echo GRADE: -1",
		"no answer": "", "failed": "echo GRADE: 1; exit 3", "in a sentence": "echo My GRADE: 1 of course", "two dots": "echo GRADE: 0.1.2",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			got, err := s.judge(model)
			if err == nil || len(got.Warnings) != 1 || *got.Verdict.Grade != grade.CommitGrade {
				t.Errorf("got %+v, %v, want the grade by its commit, and a warning", got, err)
			}
		})
	}
}
