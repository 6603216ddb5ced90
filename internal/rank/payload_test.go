package rank

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGoldenPayloads keeps what other programs read: every field, its place and
// its spelling.
func TestGoldenPayloads(t *testing.T) {
	t.Parallel()
	code := graded(0.75, 1, 0.5)
	all := []Facts{
		facts("code"), facts("docs"), facts("novelty", selfDirected), facts("triage", inFlight("0r1")),
		facts("cleanup", forbidden), facts("research"), facts("ops"),
	}
	all[0].Arm, all[0].LOO = armOf(code, deficit(1.25)), 0.05
	all[1].Share = 3
	all[2].Arm = armOf(graded(0, 1, 0, 0), surplus(2))
	for i := range all {
		all[i].Arm.Round = 7
	}
	todo := testTask("write-docs", inCategory("docs"))
	begun := testTask("fix <it> & 'run'", inState(fleet.StateActive), func(t *fleet.Task) { t.NextAction = "look at the log" })
	claimed := testTask("claimed", inCategory("research"))
	stuck := testTask("stuck", requires("claimed"), inCategory("ops"))
	tests := map[string]Situation{
		"active":     {Facts: all, Queue: queue([]fleet.Task{begun, todo, claimed, stuck}, heldBy("bob@host", "claimed")...)},
		"ready":      {Facts: all[:2], Queue: queue([]fleet.Task{todo})},
		"categories": {Facts: all[2:3]},
		"nothing":    {Facts: all[3:5], Queue: queue([]fleet.Task{stuck})},
		"empty":      {},
	}
	for name, in := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in.At = midday().Add(time.Millisecond)
			got := must.Get(json.MarshalIndent(rounded(in.rank(1<<64-1).Payload()), "", "  "))(t)
			golden(t, name+".json", append(got, '\n'))
		})
	}
}

// rounded leaves out the digits that are the processor's.
func rounded(p Payload) Payload {
	digits := func(list ...*float64) {
		for _, v := range list {
			*v = math.Round(*v*1e9) / 1e9
		}
	}
	for i := range p.DiversityAlternatives {
		digits(&p.DiversityAlternatives[i].Score)
	}
	for c, score := range p.AllScores {
		digits(&score)
		p.AllScores[c] = score
	}
	for c, e := range p.Explain {
		digits(&e.Alpha, &e.Beta, &e.Mean, &e.Low, &e.High, &e.TS, &e.Season, &e.Plateau, &e.Div, &e.Score, &e.Due, &e.Deficit, &e.Surplus)
		p.Explain[c] = e
	}
	return p
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		must.Do(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v\ngo test ./internal/rank -update", err)
	}
	must.Equal(t, path, string(got), string(want))
}

// TestPayloadComesBack sends a payload through JSON and reads it as a fire would.
func TestPayloadComesBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := Rank(drawInput(t))
		payload := s.Payload()
		data := must.Get(json.Marshal(payload))(t)
		got := must.Get(ParsePayload(data))(t)
		want := payload.Request()
		if payload.Selected != nil {
			want.Task = payload.Selected.ID
		}
		must.Equal(t, "request", got, want)
		if len(got.Categories) != len(s.Ranked()) {
			t.Errorf("got %d categories, want the %d ranked", len(got.Categories), len(s.Ranked()))
		}
		for i, c := range s.Ranked() {
			if got.Categories[i].Category != string(c.Category) {
				t.Errorf("got %s at %d, want %s", got.Categories[i].Category, i, c.Category)
			}
		}
	})
}

func TestParsePayload(t *testing.T) {
	t.Parallel()
	const own = `"schema":"stint/selection@1",`
	tests := []struct {
		name string
		data string
		want string // foreign or own, then category<source
	}{
		{"selected", `{"selected":{"category":"code"}}`, "read code<selected.category"},
		{"diversity", `{"diversity_alternatives":[{"category":"b","score":1.1},{"category":"a"}]}`, "read b<diversity_alternatives a<diversity_alternatives"},
		{"alternatives", `{"alternatives":[{"id":"t","category":"b"},{"category":"a"}]}`, "read b<alternatives a<alternatives"},
		{"scores, a map", `{"all_scores":{"a":0.2,"b":1.4,"c":0.2}}`, "read b<all_scores a<all_scores c<all_scores"},
		{"scores, a list", `{"all_scores":[{"category":"a","score":0.2},{"category":"b","score":1.4}]}`, "read b<all_scores a<all_scores"},
		{"scores, not positive", `{"all_scores":{"a":0,"b":-1,"c":0.1,"d":null}}`, "read c<all_scores"},
		{"read scores, not positive", `{` + own + `"all_scores":{"a":0,"b":-1,"c":0.1}}`, "read c<all_scores a<all_scores b<all_scores"},
		{
			"precedence",
			`{"all_scores":{"e":9,"a":1},"alternatives":[{"category":"d"},{"category":"b"}],
			  "diversity_alternatives":[{"category":"c"},{"category":"a"}],"selected":{"category":"b"}}`,
			"read b<selected.category c<diversity_alternatives a<diversity_alternatives d<alternatives e<all_scores",
		},
		{"the same twice", `{"alternatives":[{"category":"a"},{"category":"a"}]}`, "read a<alternatives"},
		{"nulls", `{"schema":null,"selected":null,"diversity_alternatives":null,"alternatives":[null,{"category":null},{}],"all_scores":null}`, "read"},
		{"selected nobody", `{"selected":{"category":null}}`, "read"},
		{"no name", `{"selected":{"category":""},"all_scores":{"":1}}`, "read"},
		{"unknown spelling", `{"selected":{"category":"No Such\nThing"}}`, "read No Such\nThing<selected.category"},
		{"whatever else", `{"tier":"one","seed":{},"selected":{"id":7,"category":"a"},"extra":[1]}`, "read 7 a<selected.category"},
		{"read", `{` + own + `"selected":{"category":"a"}}`, "read a<selected.category"},
		{"a later schema", `{"schema":"stint/selection@2","selected":{"category":"a"}}`, "read a<selected.category"},
		{"nothing", `{}`, "unread"},
		{"space around", "\n\t {} \n", "unread"},
		{"selected twice", `{"selected":{"category":"a"},"selected":{"category":"b"}}`, "read b<selected.category"},
		{"selected, then null", `{"selected":{"category":"a"},"selected":null}`, "read"},
		{"lists twice", `{"alternatives":[{"category":"a"}],"alternatives":[{"category":"b"}]}`, "read b<alternatives"},
		{"scores twice", `{"all_scores":{"a":1},"all_scores":{"b":2}}`, "read b<all_scores"},
		{"a score twice", `{"all_scores":{"a":1,"a":-1}}`, "read"},
		{"a score twice in a list", `{"all_scores":[{"category":"a","score":1},{"category":"b","score":2},{"category":"a","score":3}]}`, "read a<all_scores b<all_scores"},
		{"half a character", `{"selected":{"category":"\ud800"}}`, "read \ufffd<selected.category"},
		{"deep, and ignored", `{"x":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`, "unread"},
		{"a null selection", `{"selected":null}`, "read"},
		{"a field of other case", `{"All_Scores":null}`, "unread"},
		{"a task", `{"selected":{"category":"a","id":"fix"}}`, "read fix a<selected.category"},
		{"a tracker's number", `{"selected":{"category":"a","id":1234567}}`, "read 1234567 a<selected.category"},
		{"a task of an empty category", `{"selected":{"id":"fix","category":""}}`, "read"},
		{"a task of no category", `{"selected":{"id":"fix"}}`, "read"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := must.Get(ParsePayload([]byte(tt.data)))(t)
			got := map[bool]string{true: "unread", false: "read"}[r.Unread]
			if r.Task != "" {
				got += " " + string(r.Task)
			}
			for _, n := range r.Categories {
				got += fmt.Sprintf(" %s<%s", n.Category, n.Source)
			}
			if got != tt.want {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestParsePayloadErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		data string
		want string // between "payload: " and ": wrong usage"
	}{
		{"nothing", "", "line 1, column 1: not JSON: unexpected end of JSON input"},
		{"cut short", "{\n\"selected\": {", "line 2, column 13: not JSON: unexpected end of JSON input"},
		{"no JSON", "{\n  selected}", "line 2, column 3: not JSON: invalid character 's' looking for beginning of object key string"},
		{"more behind it", "{}\n{}", "line 2, column 1: not JSON: invalid character '{' after top-level value"},
		{"not UTF-8", "{\"selected\":{\"category\":\"\xff\"}}", "not valid UTF-8 at line 1, column 26"},
		{"Latin-1", "{\n\"selected\":{\"category\":\"caf\xe9\"}}", "not valid UTF-8 at line 2, column 28"},
		{"UTF-16", "\xff\xfe{\x00}\x00", "not valid UTF-8 at line 1, column 1"},
		{"UTF-16 without a mark", "{\x00}\x00", "line 1, column 2: not JSON: invalid character '\\x00' looking for beginning of object key string"},
		{"a byte order mark", "\xef\xbb\xbf{}", "line 1, column 1: not JSON: invalid character 'ï' looking for beginning of value"},
		{"NaN", "{\"all_scores\":\n{\"a\":NaN}}", "line 2, column 6: not JSON: invalid character 'N' looking for beginning of value"},
		{"infinity", `{"all_scores":{"a":-Infinity}}`, "line 1, column 21: not JSON: invalid character 'I' in numeric literal"},
		{"NaN as text", `{"all_scores":{"a":"NaN"}}`, "field all_scores.a: want a number, got text"},
		{"null", " null\n", "want an object, got null"},
		{"deep scores", `{"all_scores":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`, "field all_scores[0]: want an object, got a list"},
		{"a map for a list of names", `{"alternatives":{"a":1}}`, "field alternatives: want a list, got an object"},
		{"a list for a map in a list", `{"alternatives":[["a"]]}`, "field alternatives[0]: want an object, got a list"},
		{"a name in a list of maps", `{"diversity_alternatives":[{"category":"a"},"b"]}`, "field diversity_alternatives[1]: want an object, got text"},
		{"wrong the second time", `{"selected":{"category":"a"},"selected":7}`, "field selected: want an object, got a number"},
		{"too deep", `{"x":` + strings.Repeat("[", 20000), "line 1, column 10005: not JSON: invalid character '[' exceeded max depth"},
		{"a list", `[]`, "field payload: want an object, got a list"},
		{"selected id", `{"selected":{"category":"a","id":["b"]}}`, "field selected.id: want text, got a list"},
		{"schema", `{"schema":1}`, "field schema: want text, got a number"},
		{"selected", "{\n\"selected\":[]}", "field selected: want an object, got a list"},
		{"selected category", "{\n \"selected\": {\"category\": 5}}", "field selected.category: want text, got a number"},
		{"diversity", `{"diversity_alternatives":{}}`, "field diversity_alternatives: want a list, got an object"},
		{"diversity category", "{\"diversity_alternatives\":[{\"category\":\"a\"},\n{\"category\":[]}]}", "field diversity_alternatives[1].category: want text, got a list"},
		{"alternatives", `{"alternatives":["a"]}`, "field alternatives[0]: want an object, got text"},
		{"scores", `{"all_scores":true}`, "field all_scores: want an object or a list, got a boolean"},
		{"score of a map", `{"all_scores":{"b":"x","a":[]}}`, "field all_scores.a: want a number, got a list"},
		{"score too large", `{"all_scores":{"a":1e999}}`, "line 1, column 25: want a number that fits 64 bits, got number 1e999"},
		{"score of a list", `{"all_scores":[{"category":"a"},{"category":"b","score":{}}]}`, "field all_scores[1].score: want a number, got an object"},
		{"names in a list", `{"all_scores":["a"]}`, "field all_scores[0]: want an object, got text"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := ParsePayload([]byte(tt.data))
			if !errors.Is(err, fleet.ErrUsage) {
				t.Fatalf("got %+v, %v, want wrong usage", r, err)
			}
			if got, want := err.Error(), "payload: "+tt.want+": wrong usage"; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// TestParsePayloadHuge reads as many categories as 10 MB hold. A reader that looks
// through the list for each of them is busy for minutes.
func TestParsePayloadHuge(t *testing.T) {
	t.Parallel()
	const n = 270_000
	var b strings.Builder
	b.WriteString(`{"alternatives":[{"category":"c"}`)
	for i := range n {
		fmt.Fprintf(&b, `,{"category":"c%d"},{"category":"c"}`, i)
	}
	b.WriteString(`]}`)
	if b.Len() < 10<<20 {
		t.Fatalf("got %d bytes to read, want 10 MB", b.Len())
	}
	busy := time.AfterFunc(2*time.Minute, func() { panic("got no answer within two minutes, want one in a second or so") })
	defer busy.Stop()
	r, err := ParsePayload([]byte(b.String()))
	if err != nil || len(r.Categories) != n+1 {
		t.Errorf("got %d categories, %v, want %d", len(r.Categories), err, n+1)
	}
}

// FuzzParsePayload feeds anything at all: it must be read or be refused as wrong
// usage, and name each category once.
func FuzzParsePayload(f *testing.F) {
	paths, err := filepath.Glob("testdata/golden/*.json")
	if err != nil || len(paths) == 0 {
		f.Fatalf("got golden files %v, %v, want some", paths, err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"all_scores":[{"category":"a","score":1}],"alternatives":[null,{"category":"a"}]}`))
	f.Add([]byte(`{"all_scores":{"a":-1e308,"b":null}}`))
	f.Add([]byte(`{"selected":{"category":"\ud800"}}`))
	f.Add([]byte("\xef\xbb\xbf{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParsePayload(data)
		if err != nil {
			if !errors.Is(err, fleet.ErrUsage) {
				t.Fatalf("got %v, want wrong usage", err)
			}
			return
		}
		seen := map[string]bool{"": true}
		for _, n := range r.Categories {
			if seen[n.Category] || n.Source == "" {
				t.Errorf("got %+v, want each category once and with its source", r.Categories)
			}
			seen[n.Category] = true
		}
	})
}
