package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// sound is a record with nothing wrong in it.
func sound() record {
	r := record{
		status: status{
			Fires: []fire{
				newFire(4, "tests", "docs", "code"),
				newFire(3, "docs"),
				newFire(2, "flaky"),
				newFire(1, "code", "triage", "flaky"),
			},
			Runs: []session{
				newRun(4, "tests", "productive", 0.6), newRun(4, "docs", "productive", 0.7), newRun(4, "code", "productive", 0.9),
				newRun(3, "docs", "productive", 0.5), newRun(2, "flaky", "failed", 0),
				newRun(1, "code", "productive", 0.9), newRun(1, "triage", "noop", -1), newRun(1, "flaky", "failed", 0),
			},
			Posteriors: []posterior{
				{"code", 2, 0.75}, {"docs", 2, 0.56}, {"tests", 1, 0.55}, {"triage", 0, 0.52}, {"flaky", 2, 0.2},
			},
		},
		audit: audit{Peak: 3, Total: 8},
		Next:  selection{map[string]explained{}},
	}
	for _, f := range r.Fires {
		r.Replays = append(r.Replays, ranking{f.Fire, true, r.selection(f)})
	}
	for _, c := range categories() {
		e := explained{Sessions: r.sessions(c.name, 9)}
		e.Entitled = float64(e.Sessions)
		r.Next.Explain[c.name] = e
	}
	return r
}

// selection is a ranking in which what is started is in, and due to be.
func (r record) selection(f fire) selection {
	s := selection{map[string]explained{}}
	for _, name := range f.started() {
		s.Explain[name] = explained{In: true, Score: 0.5, Due: 1, Sessions: r.sessions(name, f.Fire)}
	}
	return s
}

func instant() time.Time { return time.Date(2026, 6, 26, 0, 25, 19, 0, time.UTC) }

// newFire makes a fire that started categories.
func newFire(number int, started ...string) fire {
	f := fire{Fire: number, At: instant(), Spawned: len(started)}
	for i, name := range started {
		certain := 1.0
		f.Categories = append(f.Categories, choice{name, "spawn", "ranked by its grades", i + 1, 0.5, &certain})
	}
	for _, c := range categories() {
		if !slices.Contains(f.started(), c.name) {
			f.Categories = append(f.Categories, choice{Category: c.name, Decision: "skip", Reason: "lane busy: run 01m7ypsps0adzrxz"})
			f.Skipped++
		}
	}
	return f
}

// newRun makes a run that has ended, with no grade where it is below zero.
func newRun(fire int, category, outcome string, grade float64) session {
	at := instant()
	s := session{
		Run: "01m7ypsps0adzrxz", Fire: fire, Category: category, Task: "describe-flags", Lane: 1,
		StartedAt: &at, EndedAt: &at, Outcome: outcome, Grade: &grade, Reason: strings.Repeat("because ", 9),
	}
	if grade < 0 {
		s.Grade = nil
	}
	return s
}

// spoilReplay changes what the replay of a fire says of a category.
func spoilReplay(fire int, category string, change func(*explained)) func(*record) {
	return func(r *record) {
		list := r.Replays[len(r.Replays)-fire].Selection.Explain
		e := list[category]
		change(&e)
		list[category] = e
	}
}

// spoilAccount changes what the next ranking says of a category.
func spoilAccount(category string, change func(*explained)) func(*record) {
	return func(r *record) {
		e := r.Next.Explain[category]
		change(&e)
		r.Next.Explain[category] = e
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	half := 0.5
	for name, test := range map[string]struct {
		spoil func(r *record)
		want  string // the start of the error; empty: none
	}{
		"sound":              {func(*record) {}, ""},
		"a fire too few":     {func(r *record) { r.Fires = r.Fires[1:] }, "3 fires; want 4"},
		"no fire":            {func(r *record) { r.Fires = nil }, "0 fires; want 4"},
		"unit not started":   {func(r *record) { r.Fires[1].Failed = 1 }, "fire 3: 1 units did not start"},
		"unit without a run": {func(r *record) { r.Fires[1].Spawned++ }, "9 units were spawned, and there are 8 runs"},
		"active task behind": {func(r *record) {
			r.Fires[3] = newFire(1, "triage", "code", "flaky")
		}, `the first fire started ["triage" "code" "flaky"]`},
		"dependency ignored": {func(r *record) {
			r.Fires[3] = newFire(1, "code", "triage", "docs")
		}, `the first fire started ["code" "triage" "docs"]`},
		"ranking unchanged": {func(r *record) {
			r.Fires[0].Categories = r.first().Categories
			r.Replays[0].Selection = r.selection(r.Fires[0])
		}, "the last fire's ranking is the first one's"},
		"score not the replayed":  {func(r *record) { r.Fires[2].Categories[0].Score = 0.501 }, "fire 2 ranked flaky with 0.501; its replay with 0.500"},
		"fire not replayed":       {func(r *record) { r.Replays = r.Replays[1:] }, "3 fires were replayed; want 4"},
		"replay differs":          {func(r *record) { r.Replays[2].Identical = false }, "fire 2 is not what replaying it gives"},
		"replay of another fire":  {func(r *record) { r.Replays[2].Fire = 1 }, "fire 2 is not what replaying it gives"},
		"debit not known":         {spoilReplay(2, "flaky", func(e *explained) { e.Sessions = 0 }), "fire 2 knew of 0 sessions of flaky; there were 1"},
		"debit known too early":   {spoilReplay(3, "docs", func(e *explained) { e.Sessions = 1 }), "fire 3 knew of 1 sessions of docs; there were 0"},
		"odds of nobody":          {func(r *record) { r.Fires[1].Categories[0].Odds = nil }, "fire 3: the odds add up to 0.0000; it picked 1"},
		"entitled to too much":    {spoilReplay(3, "docs", func(e *explained) { e.Due = 1.5 }), "fire 3 entitled to 1.5000 sessions in all; it picked 1"},
		"run without an end":      {func(r *record) { r.Runs[0].EndedAt = nil }, "run 01m7ypsps0adzrxz (tests) has no end"},
		"run without an outcome":  {func(r *record) { r.Runs[0].Outcome = "" }, "run 01m7ypsps0adzrxz (tests) has no end"},
		"unexpected outcome":      {func(r *record) { r.Runs[0].Outcome = "timeout" }, "run 01m7ypsps0adzrxz (tests) ended as timeout"},
		"unexpected grade":        {func(r *record) { r.Runs[0].Grade = &half }, "run 01m7ypsps0adzrxz (tests) has grade 0.50; want 0.60"},
		"commits without a grade": {func(r *record) { r.Runs[1].Grade = nil }, "run 01m7ypsps0adzrxz (docs) has grade -; want any"},
		"noop with a grade":       {func(r *record) { r.Runs[6].Grade = &half }, "run 01m7ypsps0adzrxz (triage) has grade 0.50; want -"},
		"nothing was a noop":      {func(r *record) { r.Runs[6].Outcome = "nothing" }, "run 01m7ypsps0adzrxz (triage) ended as nothing"},
		"no noop": {func(r *record) {
			r.Runs = slices.Delete(r.Runs, 6, 7)
			r.Fires[3].Spawned, r.Total = 2, 7
			r.Fires[3].Categories[1].Odds = nil
			spoilReplay(1, "triage", func(e *explained) { e.Due = 0 })(r)
		}, "no run ended as noop"},
		"lane held twice":        {func(r *record) { r.Violations = 1 }, "lanes held twice: 1"},
		"run without a lane":     {func(r *record) { r.Total-- }, "lanes were taken 7 times by 8 runs"},
		"one after the other":    {func(r *record) { r.Peak = 1 }, "at most 1 lane was held at once"},
		"grade not counted":      {func(r *record) { r.Posteriors[0].Graded = 1 }, "code: 1 grades were counted; its runs have 2"},
		"grade counted twice":    {func(r *record) { r.Posteriors[2].Graded = 2 }, "tests: 2 grades were counted; its runs have 1"},
		"noop counted":           {func(r *record) { r.Posteriors[3].Graded = 1 }, "triage: 1 grades were counted; its runs have 0"},
		"mean on the wrong side": {func(r *record) { r.Posteriors[4].Mean = 0.53 }, "flaky: the mean is 0.5300; want it between 0.0000 and 0.5200"},
		"nothing learnt":         {func(r *record) { r.Posteriors[0].Mean = 0.52 }, "code: the mean is 0.5200; want it between 0.5200 and 0.9000"},
		"session not debited":    {spoilAccount("code", func(e *explained) { e.Sessions-- }), "code: 1 sessions were debited; there were 2"},
		"session debited twice":  {spoilAccount("triage", func(e *explained) { e.Sessions++ }), "triage: 2 sessions were debited; there were 1"},
		"session of nobody":      {func(r *record) { r.Runs[5].Task = "" }, "fire 4 knew of 1 sessions of code; there were 0"},
		"entitlement lost":       {spoilAccount("docs", func(e *explained) { e.Entitled = 1 }), "docs: it was entitled to 1.0000 sessions; the fires give 2.0000"},
		"category forgotten":     {func(r *record) { r.Posteriors = r.Posteriors[1:] }, "4 categories have a mean; want 5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := sound()
			test.spoil(&r)
			err := r.verify()
			switch {
			case err == nil && test.want != "":
				t.Errorf("nothing is wrong; want %q", test.want)
			case err != nil && (test.want == "" || !strings.HasPrefix(err.Error(), test.want)):
				t.Errorf("got error %q, want %q", err, test.want)
			}
		})
	}
}

// A newcomer's terminal has 80 columns.
func TestWidth(t *testing.T) {
	t.Parallel()
	r := sound()
	var out bytes.Buffer
	w := watcher{out: screen{w: &out}, told: map[string]bool{}}
	w.tell(r.status)
	w.out.report(r)
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestWatcherTellsOnce(t *testing.T) {
	t.Parallel()
	s := status{Fires: []fire{newFire(1, "code", "triage", "flaky")}, Runs: []session{newRun(1, "flaky", "failed", 0)}}
	end := s.Runs[0].EndedAt.Add(time.Second)
	s.Runs[0].EndedAt = nil
	var out bytes.Buffer
	w := watcher{out: screen{w: &out}, told: map[string]bool{}}
	told := []bool{w.tell(s), w.tell(s)}
	s.Runs[0].EndedAt, s.Runs[0].Reason = &end, "it fails"
	told = append(told, w.tell(s), w.tell(s))
	if diff := cmp.Diff(told, []bool{true, false, true, false}); diff != "" {
		t.Errorf("what was told (-got +want):\n%s", diff)
	}
	at := func(t time.Time) string { return t.Local().Format(time.TimeOnly) }
	want := at(instant()) + "  fire 1 starts code, triage, flaky\n" +
		"                 leaves out docs, tests: lane busy\n" +
		at(instant()) + "  begins flaky   describe-flags lane 1\n" +
		at(end) + "  ends   flaky   describe-flags failed     0.00  it fails\n"
	if diff := cmp.Diff(out.String(), want); diff != "" {
		t.Errorf("output (-got +want):\n%s", diff)
	}
}
