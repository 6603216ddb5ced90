package task_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"stint/internal/fleet"
	"stint/internal/task"
	"stint/internal/testkit/must"
)

// beads reads what bd prints.
func beads() task.Listing {
	return task.Listing{
		Name: "beads",
		Fields: map[fleet.TaskField]string{
			"id": "id", "title": "title", "body": "description", "state": "status", "priority": "priority", "tags": "labels",
			"created": "created_at", "modified": "updated_at", "assigned_to": "assignee",
			"success_criterion": "acceptance_criteria", "wait": "defer_until",
		},
		States:     map[string]fleet.TaskState{"open": "todo", "in_progress": "active", "closed": "done"},
		Priorities: map[string]fleet.Priority{"0": "urgent", "1": "high", "2": "medium", "3": "low", "4": "low"},
	}
}

// github reads what gh issue list prints.
func github() task.Listing {
	return task.Listing{
		Name: "gh", Category: "triage",
		Fields: map[fleet.TaskField]string{
			"id": "number", "title": "title", "body": "body", "url": "url", "state": "state", "priority": "labels.name",
			"tags": "labels.name", "created": "createdAt", "assigned_to": "assignees.login",
		},
		States:     map[string]fleet.TaskState{"open": "todo", "closed": "done"},
		Priorities: map[string]fleet.Priority{"P0": "urgent", "p1": "high"},
	}
}

// parse reads what must be tasks without a problem.
func parse(t *testing.T, l task.Listing, data string) []fleet.Task {
	t.Helper()
	tasks, problems := l.Parse([]byte(data))
	if len(problems) > 0 {
		t.Fatalf("problems %v", problems)
	}
	return tasks
}

func TestParseBeads(t *testing.T) {
	t.Parallel()
	want := []fleet.Task{
		{
			ID: "shop-a3f8", Title: "Checkout drops the voucher", Body: "A voucher is gone after the address step.\n\nSeen on staging.",
			State: "todo", Priority: "urgent", Tags: []string{"backend", "docs"},
			Created:          time.Date(2026, 10, 2, 7, 14, 7, 512345678, time.UTC),
			Modified:         time.Date(2026, 10, 3, 16, 0, 0, 0, time.UTC),
			SuccessCriterion: "- the voucher survives a reload\n- a test says so",
		},
		{
			ID: "shop-a3f8.1", Title: "Write down how vouchers work", State: "active", Priority: "low", AssignedTo: "bea",
			Created:  time.Date(2026, 10, 4, 8, 0, 0, 0, time.UTC),
			Modified: time.Date(2026, 10, 4, 8, 0, 0, 0, time.UTC),
			Wait:     time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC),
		},
	}
	list := readFile(t, "testdata/bd_ready.json")
	var lines strings.Builder
	var elements []json.RawMessage
	must.Do(t, json.Unmarshal([]byte(list), &elements))
	for _, element := range elements {
		var line bytes.Buffer
		must.Do(t, json.Compact(&line, element))
		lines.WriteString(line.String() + "\r\n\n")
	}
	for name, data := range map[string]string{
		"list":            list,
		"wrapped":         `{"schema_version": 1, "data": ` + list + `}`,
		"a line each":     lines.String(),
		"byte order mark": "\ufeff" + list,
		"objects":         string(elements[0]) + string(elements[1]),
		"pages":           "[" + string(elements[0]) + "]\n[" + string(elements[1]) + "]",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			must.Equal(t, "tasks", parse(t, beads(), data), want, unseen)
		})
	}
}

// unseen leaves out what follows from the item as a whole.
var unseen = cmpopts.IgnoreFields(fleet.Task{}, "Source", "Item", "Seen")

// TestParseBeadsExport has each type of dependency. Only some block, and only by items that are listed.
func TestParseBeadsExport(t *testing.T) {
	t.Parallel()
	l := beads()
	l.Fields[fleet.FieldRequires] = fleet.BeadsRequires
	var edges []string
	for _, d := range []string{"parent-child:epic", "related:epic", "discovered-from:b", "blocks:b", "blocks:b", "conditional-blocks:c", "waits-for:d", "blocks:closed long ago"} {
		kind, on, _ := strings.Cut(d, ":")
		edges = append(edges, fmt.Sprintf(`{"issue_id":"a","depends_on_id":%q,"type":%q}`, on, kind))
	}
	tasks := parse(t, l, `{"id":"a","dependencies":[`+strings.Join(edges, ",")+`]}`+"\n"+`{"id":"b","dependencies":["x"]} {"id":"c"} {"id":"d"} {"id":"epic"}`)
	must.Equal(t, "a and b require", [][]string{tasks[0].Requires, tasks[1].Requires}, [][]string{{"b", "c", "d"}, nil})
}

func TestParseGitHub(t *testing.T) {
	t.Parallel()
	want := []fleet.Task{
		{
			ID: "gh-412", Title: "Cart: Enter empties it", Category: "triage", State: "todo", Priority: "high",
			Body: "https://github.com/example/shop/issues/412\n\n### Steps\n\n1. Open `/cart`\n2. Press <Enter>",
			Tags: []string{"bug", "docs", "P1"}, AssignedTo: "ann, bea", Created: time.Date(2026, 9, 30, 12, 1, 2, 0, time.UTC),
		},
		{
			ID: "gh-9", Title: "Old news", Category: "triage", State: "done", Priority: "medium",
			Body: "https://github.com/example/shop/issues/9", Created: time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC),
		},
	}
	must.Equal(t, "tasks", parse(t, github(), readFile(t, "testdata/gh_issue_list.json")), want, unseen)
}

func TestParseNothing(t *testing.T) {
	t.Parallel()
	for _, data := range []string{"", " \n", "[]", "null", "[]\n[]", `{"schema_version":1,"data":[]}`, `{"schema_version":1,"data":null}`, `{"schema_version":1}`} {
		if tasks := parse(t, beads(), data); len(tasks) != 0 {
			t.Errorf("%q: got %v, want no task", data, tasks)
		}
	}
}

func TestParseFields(t *testing.T) {
	t.Parallel()
	l := beads()
	l.Fields["requires"] = "dependencies.depends_on.id"
	l.Fields["category"] = "kind"
	for name, test := range map[string]struct {
		data string
		want fleet.Task
	}{
		"only an id":       {`{"id":"a"}`, fleet.Task{ID: "a", Title: "a"}},
		"nulls":            {`{"id":"a","title":null,"description":null,"status":null,"priority":null,"labels":null,"created_at":null}`, fleet.Task{ID: "a", Title: "a"}},
		"a number for id":  {`{"id":12}`, fleet.Task{ID: "beads-12", Title: "beads-12"}},
		"numbers for text": {`{"id":"a","title":1.50,"labels":[1,true,null,1]}`, fleet.Task{ID: "a", Title: "1.50", Tags: []string{"1", "true"}}},
		"text for a number": {
			`{"id":"a","priority":"1"}`, fleet.Task{ID: "a", Title: "a", Priority: "high"},
		},
		"one tag":        {`{"id":"a","labels":"x"}`, fleet.Task{ID: "a", Title: "a", Tags: []string{"x"}}},
		"stint's words":  {`{"id":"a","status":"someday","priority":"urgent","kind":"docs"}`, fleet.Task{ID: "a", Title: "a", State: "someday", Priority: "urgent", Category: "docs"}},
		"letter case":    {`{"id":"a","status":"IN_PROGRESS","priority":"High"}`, fleet.Task{ID: "a", Title: "a", State: "active", Priority: "high"}},
		"lists in paths": {`{"id":"a","dependencies":[{"depends_on":{"id":7}},{"depends_on":[{"id":"b"},{"id":"b"},{}]},{},null]}`, fleet.Task{ID: "a", Title: "a", Requires: []string{"beads-7", "b"}}},
		"terminals":      {"{\"id\":\"a\",\"title\":\"\\u001b[31mred\\r\\nnext\",\"labels\":[\"x\\u0007\\ny\"],\"description\":\"a\\u0000b\\r\\nc\\td\"}", fleet.Task{ID: "a", Title: "�[31mred next", Tags: []string{"x� y"}, Body: "a�b\nc\td"}},
		"twice elsewhere": {
			`{"id":"a","x":1,"x":2}`, fleet.Task{ID: "a", Title: "a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := test.want
			if want.State == "" {
				want.State = fleet.StateBacklog
			}
			if want.Priority == "" {
				want.Priority = fleet.PriorityMedium
			}
			must.Equal(t, "task", parse(t, l, test.data), []fleet.Task{want}, unseen)
		})
	}
}

var numbered = regexp.MustCompile(`beads:[0-9]+:`)

// problemsOf are the problems, a line each, and the ids of the tasks that are left.
func problemsOf(l task.Listing, data string) string {
	tasks, problems := l.Parse([]byte(data))
	var b strings.Builder
	for _, p := range problems {
		b.WriteString(p.String() + "\n")
	}
	for _, t := range tasks {
		b.WriteString(string(t.ID) + "\n")
	}
	return b.String()
}

func TestParseListingProblems(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ data, want string }{
		"not JSON":         {"No ready work\n", "beads: not JSON: invalid character 'N' looking for beginning of value\n"},
		"cut off":          {`[{"id":"a"},{"id`, "beads: not JSON: it ends in the middle\n"},
		"all lines bad":    {"{\n{\n", "beads: not JSON: invalid character '{' looking for beginning of object key string\n"},
		"one line bad":     {"{\"id\":\"a\"}\n{\"id\":\n{\"id\":\"b\"}\n", "beads:2: not JSON: unexpected end of JSON input\na\nb\n"},
		"not objects":      {`[{"id":"a"},1,"x",null,["b"]]`, "beads:2: want an object, not 1\nbeads:3: want an object, not \"x\"\nbeads:4: want an object, not null\nbeads:5: want an object, not [\"b\"]\na\n"},
		"no id":            {`[{"title":"a"},{"id":null},{"id":""}]`, "beads:1: no id in \"id\": name the field under fields, as in id = \"number\"\nbeads:2: no id in \"id\": name the field under fields, as in id = \"number\"\nbeads:3: task id: key: must not be empty\n"},
		"bad id":           {`[{"id":"a/b"},{"id":"a\nb"},{"id":"category:x:1"}]`, "beads:1: task id \"a/b\": a slash is not allowed\nbeads:2: task id: key \"a\\nb\": control characters are not allowed\nbeads:3: task id: key \"category:x:1\": the prefix \"category:\" is reserved for lanes\n"},
		"object for text":  {`{"id":"a","title":{"b":1}}`, "beads:1: title (title): want text, not an object: name one of its fields, as in labels.name\n"},
		"list in list":     {`{"id":"a","labels":[["b"]]}`, "beads:1: labels (tags): a list within a list\n"},
		"unknown state":    {`{"id":"a","status":"weird"}`, "beads:1: status (state): \"weird\" is not known: say under [tasks.source.beads] what it means\n"},
		"unknown priority": {`{"id":"a","priority":9}`, "beads:1: priority (priority): \"9\" is not known: say under [tasks.source.beads] what it means\n"},
		"date":             {`{"id":"a","created_at":"soon"}`, "beads:1: created_at (created): date \"soon\": want 2026-01-02 or 2026-01-02T15:04:05Z\n"},
		"not UTF-8":        {"[{\"id\":\"a\",\"title\":\"caf\xe9\"},{\"id\":\"b\"}]", "beads:1: not valid UTF-8\nb\n"},
		"large":            {`[{"id":"a","description":"` + strings.Repeat("x", 1<<20) + `"},{"id":"b"}]`, "beads:1: larger than 1 MiB\nb\n"},
		"deep":             {strings.Repeat("[", 20000) + strings.Repeat("]", 20000), "beads: not JSON: invalid character '[' exceeded max depth\n"},
		"deep within":      {`{"id":"a","labels":` + strings.Repeat(`[`, 9000) + strings.Repeat("]", 9000) + `}`, "beads:1: labels (tags): a list within a list\n"},
		"long words":       {`{"id":"a","status":"` + strings.Repeat("é", 1000) + `"}`, "beads:1: status (state): \"" + strings.Repeat("é", 282) + "…\n"},
		"too many":         {"[" + strings.Repeat("0,", 1_000_000) + "0]", "beads: more than 1000000 items\n"},
		"many":             {strings.Repeat(`{"id":""}`, 1000), strings.Repeat("beads:N: task id: key: must not be empty\n", 20) + "beads: 980 more items cannot be read\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := problemsOf(beads(), test.data)
			if name == "many" {
				got = numbered.ReplaceAllString(got, "beads:N:")
			}
			must.Equal(t, "problems", got, test.want)
		})
	}
}

// TestParseHoldsForAnything says what users of a list may rely on, whatever was printed.
func TestParseHoldsForAnything(t *testing.T) {
	t.Parallel()
	value := rapid.Deferred(func() *rapid.Generator[string] { return jsonValue(2) })
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.OneOf(value, rapid.Map(rapid.SliceOf(value), func(v []string) string { return strings.Join(v, "\n") }), rapid.String()).Draw(t, "data")
		checkListing(t, []byte(data))
	})
}

// jsonValue is JSON that uses the keys that are looked for, more or less well.
func jsonValue(depth int) *rapid.Generator[string] {
	scalar := rapid.SampledFrom([]string{`null`, `1`, `"a"`, `"open"`, `"\u001b"`, `""`, `true`, `"2026-01-02"`, "\"\xff\"", `]`})
	if depth == 0 {
		return scalar
	}
	inner := jsonValue(depth - 1)
	member := rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{`"id"`, `"id"`, `"title"`, `"status"`, `"labels"`, `"created_at"`}).Draw(t, "key") + ":" + inner.Draw(t, "value")
	})
	return rapid.OneOf(scalar,
		rapid.Map(rapid.SliceOfN(inner, 0, 4), func(v []string) string { return "[" + strings.Join(v, ",") + "]" }),
		rapid.Map(rapid.SliceOfN(member, 0, 4), func(v []string) string { return "{" + strings.Join(v, ",") + "}" }))
}

func FuzzParseListing(f *testing.F) {
	for _, name := range []string{"testdata/bd_ready.json", "testdata/gh_issue_list.json"} {
		data := must.Get(os.ReadFile(name))(f)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkListing(t, data) })
}

func checkListing(t interface{ Fatalf(string, ...any) }, data []byte) {
	tasks, problems := beads().Parse(data)
	for _, task := range tasks {
		if _, err := fleet.ParseTaskID(string(task.ID)); err != nil {
			t.Fatalf("%v", err)
		}
		if state, err := fleet.ParseTaskState(string(task.State)); err != nil || state != task.State {
			t.Fatalf("state %q: %v", task.State, err)
		}
		if _, err := fleet.ParseText("line", strings.Join(append(task.Tags, task.AssignedTo), "")); err != nil && len(data) < 4096 {
			t.Fatalf("%v", err)
		}
	}
	for _, p := range problems {
		if _, err := fleet.ParseText("problem", p.Reason); err != nil {
			t.Fatalf("%v", err)
		}
	}
}
