package grade

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"stint/internal/fleet"
)

// Opinion has a grader's answer, or why there is none.
type Opinion struct {
	Output []byte // what it printed
	Fault  string // why it has no opinion: it failed, or overran its time; empty: it ended well
}

// MaxOpinion is the most bytes that a grader may print.
const MaxOpinion = 64 << 10

// MaxDiff bounds the diff that a grader is shown, in bytes: some 64,000 tokens.
const MaxDiff = 256 << 10

const (
	schemaEvidence = "stint/evidence@1"
	schemaGrade    = "stint/grade@1"
)

// Case has the rest of a grader's input beside the evidence. Paths are absolute. Revisions that nobody knows are nil, and the
// diff has [MaxDiff] bytes at most.
type Case struct {
	Run       fleet.RunID    `json:"run"`
	Category  fleet.Category `json:"category"`
	Task      *fleet.Task    `json:"-"` // nil: a session without one
	Workspace string         `json:"workspace"`
	Revisions []string       `json:"revisions" doc:"that stand at the end, oldest first"`
	Diff      string         `json:"diff" doc:"of these, 256 KiB at most"`
	DiffCut   bool           `json:"diff_cut" doc:"there was more of it"`
	Files     fleet.RunFiles `json:"-"`
}

// EvidenceObject is a grader's input.
type EvidenceObject struct {
	Schema string `json:"schema" doc:"stint/evidence@1"`
	Case
	Task       *taskObject   `json:"task"`
	Outcome    fleet.Outcome `json:"outcome" doc:"as it is without the grader"`
	Grade      *float64      `json:"grade"`
	Reason     string        `json:"reason"`
	End        fleet.End     `json:"end"`
	ExitStatus *int          `json:"exit_status"`
	Commits    int           `json:"commits"`
	Changes    *Changes      `json:"changes"`
	Check      *checkObject  `json:"check"`
	Result     *string       `json:"result" doc:"the file as it is: it need not be JSON"`
	Prompt     string        `json:"prompt"`
	Log        string        `json:"log"`
	Transcript *outputObject `json:"transcript"`
}

// OpinionObject is a grader's output.
type OpinionObject struct {
	Schema  string             `json:"schema" doc:"stint/grade@1; it may be left out"`
	Outcome fleet.Outcome      `json:"outcome" doc:"productive, noop, nothing or failed"`
	Grade   *float64           `json:"grade" doc:"0 to 1"`
	Reason  string             `json:"reason"`
	Parts   map[string]float64 `json:"parts" doc:"what the grade is made of"`
}

type taskObject struct {
	ID               fleet.TaskID `json:"id"`
	Title            string       `json:"title"`
	SuccessCriterion string       `json:"success_criterion,omitempty"`
	Path             string       `json:"path,omitempty"`
}

type checkObject struct {
	Passed bool   `json:"passed"`
	Detail string `json:"detail" doc:"how it failed"`
}

type outputObject struct {
	*Transcript
	Tokens  *int64   `json:"tokens"`
	CostUSD *float64 `json:"cost_usd"`
}

// Encode returns a grader's standard input: one object of JSON. A fact that is not
// known is null, or absent.
func (c Case) Encode(e Evidence) ([]byte, error) {
	e.Opinion = nil
	v := Judge(e)
	o := EvidenceObject{
		Schema: schemaEvidence, Case: c, Outcome: v.Outcome, Grade: v.Grade, Reason: v.Reason, End: e.Exit.End, ExitStatus: v.ExitStatus,
		Commits: e.Commits, Changes: e.Changes, Prompt: c.Files.Prompt, Log: c.Files.Log,
	}
	if t := c.Task; t != nil {
		o.Task = &taskObject{ID: t.ID, Title: t.Title, SuccessCriterion: t.SuccessCriterion, Path: t.Path}
	}
	if t := e.Transcript; t != nil {
		o.Transcript = &outputObject{Transcript: t, Tokens: t.Usage.Tokens, CostUSD: t.Usage.USD}
	}
	if c := e.Check; c != nil && c.Fault == "" {
		o.Check = &checkObject{Passed: c.Failure == "", Detail: c.Failure}
	}
	if e.Exit.Result != nil {
		o.Result = new(string(e.Exit.Result))
	}
	data, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encode evidence: %w", err)
	}
	return data, nil
}

// Grading has a grader's view of a session: an outcome, and with
// productive and failed a grade.
type Grading struct {
	Outcome fleet.Outcome
	Grade   *float64
	Reason  string
	Parts   map[string]float64 // what the grade was made of, in the grader's own words
}

const (
	maxParts     = 30 // more explain nothing
	maxPartBytes = 60
)

// ParseGrading reads what a grader printed, and is strict throughout: a program that
// prints anything else than it should is not one to learn from. A grade alone is one of
// work done.
func ParseGrading(output []byte) (Grading, error) {
	if len(output) > MaxOpinion {
		return Grading{}, fmt.Errorf("%d bytes, want at most %d", len(output), MaxOpinion)
	}
	var raw OpinionObject
	if err := unmarshalStrictly(output, &raw); err != nil {
		return Grading{}, err
	}
	if raw.Schema != "" && raw.Schema != schemaGrade {
		return Grading{}, fmt.Errorf("schema %q: want %q, or none", raw.Schema, schemaGrade)
	}
	g := Grading{Outcome: raw.Outcome, Grade: raw.Grade, Parts: raw.Parts}
	// A usage limit stops all sessions of an agent: that takes a better witness.
	known := []fleet.Outcome{fleet.Productive, fleet.Noop, fleet.Nothing, fleet.Failed}
	if err := checkClaim(g.Outcome, g.Grade, known); err != nil {
		return Grading{}, err
	}
	if err := checkParts(g.Parts); err != nil {
		return Grading{}, err
	}
	if err := g.settle(); err != nil {
		return Grading{}, err
	}
	var err error
	g.Reason, err = parseReason(raw.Reason)
	return g, err
}

// unmarshalStrictly reads one object that has no other fields, with nothing behind it.
func unmarshalStrictly(data []byte, to any) error {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return errors.New("want an object of JSON")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(to); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("want one object of JSON and nothing behind it")
	}
	return nil
}

// settle makes outcome and grade say the same, or reports that they do not.
func (g *Grading) settle() error {
	switch {
	case g.Outcome == "" && g.Grade == nil:
		return errors.New("neither a grade nor an outcome")
	case g.Outcome == "":
		g.Outcome = fleet.Productive
	case g.Outcome == fleet.Productive && g.Grade == nil:
		return errors.New("outcome productive without a grade")
	case g.Outcome != fleet.Productive && g.Grade != nil && (g.Outcome != fleet.Failed || *g.Grade != 0):
		return fmt.Errorf("outcome %s with grade %v", g.Outcome, *g.Grade)
	}
	g.Grade = claimed(g.Outcome, g.Grade)
	return nil
}

func checkParts(parts map[string]float64) error {
	if len(parts) > maxParts {
		return fmt.Errorf("%d parts, want at most %d", len(parts), maxParts)
	}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		if name == "" || len(name) > maxPartBytes {
			return fmt.Errorf("a part's name of %d bytes, want 1 to %d", len(name), maxPartBytes)
		}
		if _, err := fleet.ParseText("part", name); err != nil {
			return err
		}
	}
	return nil
}

// byOpinion lets the grader have the last word. If its opinion cannot be used, the verdict stays, and a warning
// says why.
func byOpinion(v fleet.Verdict, said statement, o Opinion, warnings []string) (judged fleet.Verdict, more []string) {
	g, err := o.parse()
	if err != nil {
		return faulty(v, "grader", brief(err), warnings)
	}
	before := v.Outcome
	v.Outcome, v.Grade, v.Parts, v.Reason = g.Outcome, g.Grade, g.parts(v.Parts), "the grader says so"
	if g.Reason != "" {
		v.Reason = g.Reason
	}
	if r := said.result.Outcome; r != "" && r != g.Outcome {
		v.Reason = annotate(v.Reason, "the agent says "+string(r))
	}
	if said.err != nil {
		v.Reason = annotate(v.Reason, "result file: "+brief(said.err))
	}
	if v.Outcome != before && (v.Outcome == fleet.Noop || v.Outcome == fleet.Failed) && v.TaskState.Settled() {
		// A task that was not done is not settled.
		v.Reason = annotate(v.Reason, "the task is not taken for "+string(v.TaskState))
		v.TaskState = ""
	}
	return v, warnings
}

// faulty is the verdict where a witness could not speak: as it is, and loudly so.
func faulty(v fleet.Verdict, witness, fault string, warnings []string) (noted fleet.Verdict, more []string) {
	note := witness + ": " + line(fault)
	v.Reason = annotate(v.Reason, note)
	return v, append(warnings, note)
}

func (o Opinion) parse() (Grading, error) {
	if o.Fault != "" {
		return Grading{}, errors.New(strings.TrimSpace(o.Fault))
	}
	return ParseGrading(o.Output)
}

// parts are the counts of the evidence, and the grader's own parts under names that
// are no others'.
func (g Grading) parts(counts map[string]float64) map[string]float64 {
	parts := withoutTerms(counts)
	for name, value := range g.Parts {
		parts["grader_"+name] = value
	}
	return parts
}
