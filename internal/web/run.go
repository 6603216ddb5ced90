package web

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"

	"stint/internal/agent/preset"
	"stint/internal/agent/transcript"
	"stint/internal/explain/inspect"
	"stint/internal/explain/report"
	"stint/internal/fleet"
	h "stint/internal/markup"
	"stint/internal/plain"
	"stint/internal/screen"
	"stint/internal/view"
)

// runBody is one run.
type runBody struct {
	inspect.RunDetail
	Sign  fleet.Sign
	Terms []fleet.Part // they add up to the grade
	Facts []fleet.Part // other facts of the session
	Log   logView
}

// logView shows the end of a log.
type logView struct {
	Text     string // made safe to show
	From, To int64  // the bytes of the log that are shown
	Missing  string // the reason if nothing is shown
	Cut      bool   // it does not continue what a page has
}

func (b runBody) html(f frame) h.HTML {
	return h.Join(
		h.El("h1", "Run ", b.ID),
		b.lead(),
		b.facts(f.Now),
		h.If(len(b.Terms)+len(b.Facts) > 0, section("section", "parts", "Terms of the grade",
			parts(b.Terms, "parts", "They add up to the grade, unless it is cut off at 0 or 1", "Part", "Grade", signed),
			parts(b.Facts, "facts", "Other facts of the session", "Fact", "Value", func(v float64) string { return fmt.Sprint(v) }))),
		h.If(len(b.Denials) > 0, section("section", "denied", "Denied", h.El("ul#denials", h.Each(b.Denials, func(d fleet.DeniedClaim) h.HTML {
			return h.El("li", view.When(d.At, f.Now), ": ", bdi(d.Key), " in ", d.Category, " was held by ", view.OfHolder(d.Holder).HTML())
		})))),
		h.If(len(b.Lessons) > 0, section("section", "lessons", "Lessons", h.El("ul#lessons", h.Each(b.Lessons, func(l fleet.LessonUse) h.HTML {
			how := "withheld, by chance"
			if l.Injected {
				how = "given"
			}
			return h.El("li", bdi(l.Lesson), ": ", how)
		})))),
		section("section", "log", "Log", b.Log.html(b.ID)),
	)
}

// lead shows the run's state, and the command that a person may run now.
func (b runBody) lead() h.HTML {
	todo := map[fleet.RunState]string{fleet.RunSuspended: fmt.Sprint("kill -CONT ", b.PID), fleet.RunCrashed: "stint reap"}[b.State]
	graded := !b.EndedAt.IsZero() && b.Final() != nil
	return h.El("p.lead#state", view.State(b.Sign), " ", h.If(todo != "", h.Join(code(todo), " ")),
		h.If(graded, h.Join("grade ", grade(b.Final()), " ")), h.If(b.Verdict.Reason != "", bdi(b.Verdict.Reason)))
}

func (b runBody) facts(now time.Time) h.HTML {
	r, tokens := b.Run, cmp.Or(b.Tokens, b.Run.Usage.Tokens)
	codes := func(list []string, before, after any) h.HTML {
		return h.Each(list, func(text string) h.HTML { return h.Join(before, code(text), after) })
	}
	return h.El("dl.facts#run",
		fact("Category", link(ofCategory(r.Category), r.Category), h.If(r.Lane > 0, fmt.Sprintf(", lane %d", r.Lane))),
		fact("Task", view.OfTask(r.Task).HTML(), h.If(r.Verdict.TaskState != "", h.Join(" ", unit("left ", r.Verdict.TaskState)))),
		h.If(b.Machine != "", fact("Machine", bdi(screen.OnOtherHost(b.RunStatus, now)))),
		fact("Agent", bdi(orDash(r.Agent != "", r.Agent))),
		fact("Created", view.When(r.CreatedAt, now)),
		h.If(!r.NotBefore.IsZero(), fact("Not before", view.When(r.NotBefore, now))),
		fact("Began", view.When(r.StartedAt, now)),
		fact("Took", view.Stretch{From: r.StartedAt, To: r.EndedAt}.HTML(now), untilTimeout(b.RunStatus, now)),
		h.If(!r.EndedAt.IsZero(), fact("Ended", view.When(r.EndedAt, now))),
		fact("Tokens", count(tokens)),
		h.If(r.Usage.USD != nil, fact("Cost", screen.CostOf(r.Usage), " ", h.If(r.Usage.Cost.Estimated(), unit(r.Usage.Cost)))),
		b.exitStatus(),
		fact("Started by", b.origin()),
		h.If(r.Key != "", fact("Claim", bdi(r.Key), " ", unit("epoch ", r.Epoch))),
		h.If(!r.QuotaUntil.IsZero(), fact("Usage limit until", screen.Stamp(r.QuotaUntil))),
		b.choice(),
		h.If(r.Unit != "", fullFact("Unit", code(r.Unit))),
		h.If(r.Followed != "", fullFact("Follow-up", bdi(r.Followed))),
		h.If(len(r.Commits) > 0,
			fullFact("Commits", h.Attr("id", "commits"), codes(r.Commits, nil, " "), link(workAddress(r.ID), "changes"))),
		fullFact("Files", code(b.Files.Dir), codes(b.Own, h.El("br"), nil)))
}

func (b runBody) exitStatus() any {
	if b.Verdict.ExitStatus == nil {
		return nil
	}
	return fact("Exit status", *b.Verdict.ExitStatus)
}

// origin names the fire that started the run, or else its source.
func (b runBody) origin() any {
	if b.Fire == 0 {
		return b.Source
	}
	rank, before := h.If(b.Rank > 0, fmt.Sprintf(", rank %d", b.Rank)), h.If(b.ChainDepth > 0, fmt.Sprintf(", %d before it", b.ChainDepth))
	return h.Join(link(fireAddress(b.Fire), "fire ", b.Fire), rank, " ", unit(b.Source, before))
}

// choice gives the fire's reason to start the run.
func (b runBody) choice() any {
	switch {
	case b.Choice == nil:
		return nil
	case b.Choice.Odds == nil:
		return fullFact("Why", bdi(b.Choice.Reason))
	}
	return fullFact("Why", bdi(b.Choice.Reason), " ", unit("at a chance of ", report.Percent(*b.Choice.Odds)))
}

// parts shows named figures of a session as a table.
func parts(list []fleet.Part, id, caption, name, value string, figure func(float64) string) any {
	if len(list) == 0 {
		return nil
	}
	col, row := h.Attr("scope", "col"), h.Attr("scope", "row")
	return h.El("table.small#"+id, h.El("caption", caption), h.El("thead", h.El("tr", h.El("th", col, name), h.El("th.n", col, value))),
		h.El("tbody", h.Each(list, func(p fleet.Part) h.HTML {
			return h.El("tr", h.El("th", row, bdi(p.Name)), h.El("td.n", figure(p.Value)))
		})))
}

func (l logView) html(id fleet.RunID) h.HTML {
	about := h.El("p.empty#no-log", l.Missing)
	if l.Missing == "" {
		part := h.If(l.From > 0, fmt.Sprintf("The last %s bytes of %s. ", plain.Count(l.To-l.From), plain.Count(l.To)))
		about = h.El("p.unit", part, link("/runs/"+string(id)+"/log", "All of it, as it is"))
	}
	// A browser drops the line end that follows the tag.
	return h.Join(about, h.El("pre.log#log", h.Attr("tabindex", "0"), h.Attr("role", "log"), h.Attr("aria-label", "Log"),
		h.Attr("data-to", fmt.Sprint(l.To)), h.Lines("\n"+l.Text)))
}

// logShown bounds the part of a log that a page shows: its last bytes.
const logShown = 64 << 10

func (s *site) run(r *http.Request, e *inspect.Explainer) (content, error) {
	id, err := runOf(r)
	if err != nil {
		return content{}, err
	}
	d, err := e.RunDetail(r.Context(), id)
	if err != nil {
		return content{}, err
	}
	v := content{Title: "Run " + string(d.ID), Object: view.RunDetail().JSON(d)}
	if v.Live = d.EndedAt.IsZero(); v.Live {
		v.Changes = "/runs/" + string(d.ID) + "/changes"
	}
	if wantsJSON(r) {
		return v, nil
	}
	terms, facts := d.Verdict.Terms()
	v.Body = runBody{
		RunDetail: d, Sign: d.RunStatus.Sign(), Terms: terms, Facts: facts, Log: s.logOf(d, v.Live, e.Config.Agents[d.Agent].CLI),
	}
	return v, nil
}

// logOf returns the end of a run's log, or why there is none.
func (s *site) logOf(d inspect.RunDetail, grows bool, f preset.CLI) logView {
	if d.Swept != "" {
		return logView{Missing: d.Swept}
	}
	return s.read(d.Files.Log, -1, grows, f)
}

// runOf checks the id in a request before any path contains it.
func runOf(r *http.Request) (fleet.RunID, error) {
	id, err := fleet.ParseRunID(part(r, "run"))
	if err != nil {
		err = errors.Join(err, fleet.ErrUsage)
	}
	return id, err
}

// asked returns the log of the run in a request, and its format. It answers the request itself if there is no log.
func (s *site) asked(w http.ResponseWriter, r *http.Request) (log string, f preset.CLI, ok bool) {
	id, wrong := runOf(r)
	ctx := r.Context()
	err := s.with(ctx, func(e *inspect.Explainer) error {
		if wrong == nil {
			var run fleet.Run
			run, wrong = e.Run(ctx, id)
			log, f = fleet.FilesOf(e.Config.State, id).Log, e.Config.Agents[run.Agent].CLI
		}
		return nil
	})
	if err = errors.Join(err, wrong); err != nil {
		s.failed(w, r, err, wrong != nil)
	}
	return log, f, err == nil
}

// openLog opens a log. An agent may have put something else in its place: the page must not show another file, nor wait
// for a pipe.
func (s *site) openLog(path string) (*os.File, os.FileInfo, error) {
	f, err := s.o.Open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// maxPart bounds the bytes of a log in one answer to a page that asks again. If the log grew by more, the page is loaded
// anew.
const maxPart = 1 << 20

// read reads a log from an offset, or below 0 its end, which begins with a whole line. While the log grows, only whole
// lines are read.
func (s *site) read(path string, from int64, grows bool, f preset.CLI) (b logView) {
	file, info, err := s.openLog(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return logView{Missing: "there is none"}
	case err != nil:
		return logView{Missing: err.Error()}
	}
	defer file.Close()
	goesOn, size := from >= 0, info.Size()
	if b.From = max(0, size-logShown); goesOn {
		b.From, b.Cut = from, size < from || size-from > maxPart
	}
	if b.Cut {
		return b
	}
	data := make([]byte, size-b.From)
	n, err := file.ReadAt(data, b.From)
	if err != nil && !errors.Is(err, io.EOF) {
		return logView{Missing: err.Error()}
	}
	data = data[:n]
	if first := bytes.IndexByte(data, '\n'); !goesOn && b.From > 0 && first >= 0 {
		data, b.From = data[first+1:], b.From+int64(first)+1
	}
	if last := bytes.LastIndexByte(data, '\n'); grows && (goesOn || last >= 0) {
		data = data[:last+1]
	}
	b.To = b.From + int64(len(data))
	if len(data) > 0 {
		b.Text = strings.Join(screen.PrintedLines(transcript.ReadableText(f, string(data))), "\n") + "\n"
	}
	return b
}

// log serves the whole log as plain text, which no browser interprets.
func (s *site) log(w http.ResponseWriter, r *http.Request) {
	log, _, ok := s.asked(w, r)
	if !ok {
		return
	}
	f, info, err := s.openLog(log)
	if err != nil {
		s.fail(w, r, failure{Status: http.StatusNotFound, Title: "No log", Text: "run " + r.PathValue("run") + " has no log"})
		return
	}
	defer f.Close()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	http.ServeContent(&patient{w, http.NewResponseController(w), s.o.Now}, r, "", info.ModTime(), f)
}

// sendWithin bounds the time in which a client must take a piece of a log.
const sendWithin = 10 * time.Second

// patient gives each piece of a log its own deadline. A log has up to 64 MiB, and a phone may be far away; a client that
// takes nothing loses the connection.
type patient struct {
	http.ResponseWriter
	control *http.ResponseController
	now     func() time.Time
}

func (p *patient) Write(piece []byte) (int, error) {
	// A writer without deadlines needs none.
	_ = p.control.SetWriteDeadline(p.now().Add(sendWithin))
	return p.ResponseWriter.Write(piece)
}
