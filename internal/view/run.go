package view

import (
	"cmp"
	"net/url"
	"time"

	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	"stint/internal/screen"
)

// OfRun links to a run's page.
func OfRun(id fleet.RunID) (r Ref) {
	if id != "" {
		r = Ref{string(id), "/runs/" + string(id)}
	}
	return r
}

// OfTask links to a task's runs.
func OfTask(id fleet.TaskID) (r Ref) {
	if id != "" {
		r = Ref{string(id), "/runs?" + url.Values{"task": {string(id)}}.Encode()}
	}
	return r
}

// OfCategory links to a category's runs.
func OfCategory(c fleet.Category) Ref {
	return Ref{string(c), "/runs?" + url.Values{"category": {string(c)}}.Encode()}
}

// Run shows a run.
func Run() View[fleet.RunStatus] {
	type run = fleet.RunStatus
	return View[run]{
		Schema[run]("stint/run@1"),
		Link("run", "Run", "", func(r run) Ref { return OfRun(r.ID) }),
		Int("fire", "", "0: by hand", func(r run) fleet.FireID { return r.Fire }),
		Age("created_at", "", func(r run) time.Time { return r.CreatedAt }).OrNull(),
		Word("category", "Category", "", func(r run) fleet.Category { return r.Category }),
		TextLink("task", "Task", "", func(r run) Ref { return OfTask(r.Task) }),
		Word("agent", "Agent", "", func(r run) string { return r.Agent }).Wide(),
		Word("machine", "Host", "the name of the one that it is on, or was; empty: the fleet has one, or nobody asked",
			func(r run) string { return r.Machine }).Rare(),
		Took("Took", func(r run) Stretch { return Stretch{r.StartedAt, r.EndedAt} }),
		Sign("Outcome", run.Sign),
		Enum("outcome", "", "", fleet.Outcomes(), func(r run) fleet.Outcome { return r.Verdict.Outcome }),
		Grade("grade", "", "when it ended", func(r run) *float64 { return r.Verdict.Grade }),
		Grade("final_grade", "Grade", "after what became of its work", func(r run) *float64 { return r.Final() }),
		USD("", "Cost", "", func(r run) Money { return screen.CostOf(r.Usage) }).OrNull().Rare().Wide(),
		Text("reason", "Reason", "", func(r run) string { return r.Verdict.Reason }),
		Int("rank", "", "in its fire, from 1; 0: by hand", func(r run) int { return r.Rank }),
		Int("chain_depth", "", "sessions before it of which each was good enough for one more", func(r run) int { return r.ChainDepth }),
		Word("source", "",
			"of its place in the ranking: selected.category, diversity_alternatives, alternatives, all_scores, allow-list, hand or respawn",
			func(r run) fleet.Source { return r.Source }),
		Int("lane", "", "", func(r run) int { return r.Lane }),
		Int("epoch", "", "", func(r run) fleet.Epoch { return r.Epoch }),
		Text("box", "", "the profile of the agent's box, and the layers that held it; empty: no agent began",
			func(r run) string { return r.Box }),
		Text("unit", "", "", func(r run) string { return r.Unit }),
		At("not_before", "", "null: it need not wait", func(r run) time.Time { return r.NotBefore }).OrNull(),
		At("started_at", "", "", func(r run) time.Time { return r.StartedAt }).OrNull(),
		At("ended_at", "", "", func(r run) time.Time { return r.EndedAt }).OrNull(),
		Each("fates", "what became of its work, oldest finding first", View[fleet.ReviewOutcome]{
			At("at", "", "", func(f fleet.ReviewOutcome) time.Time { return f.At }).OrNull(),
			Word("kind", "", "merged, changed, unreviewed, rejected, reverted or touched", func(f fleet.ReviewOutcome) fleet.FateKind { return f.Kind }),
			Text("witness", "", "a commit, or who says so", func(f fleet.ReviewOutcome) string { return f.Witness }),
			Text("reason", "", "", func(f fleet.ReviewOutcome) string { return f.Reason }),
			Grade("grade", "", "of the run from then on", func(f fleet.ReviewOutcome) *float64 { return f.Grade }),
		}, func(r run) []fleet.ReviewOutcome { return r.Fates }),
		ByName("parts", "number", "", func(r run) map[string]float64 { return r.Verdict.Parts }),
		Enum("task_state", "", "", fleet.TaskStates(), func(r run) fleet.TaskState { return r.Verdict.TaskState }),
		Data("exit_status", "integer or null", "", func(r run) *int { return r.Verdict.ExitStatus }),
		Texts("commits", "", "its own that stood when it ended, oldest first", func(r run) []string { return r.Commits }),
		Data("tokens", "integer or null", "null: not known", func(r run) *int64 { return r.Usage.Tokens }),
		Data("usd", "number or null", "", func(r run) *float64 { return r.Usage.USD }),
		Word("cost", "", "where usd comes from: reported, computed or assumed; empty: it is not known",
			func(r run) fleet.Cost { return r.Usage.Cost }),
		Texts("models", "", "the billed ones that the agent names", func(r run) []string { return r.Usage.Models }),
		At("quota_until", "", "the end of a usage limit that the agent met", func(r run) time.Time { return r.QuotaUntil }).OrNull(),
		Text("branch", "", "its own one; empty: it worked in the workspace", func(r run) string { return r.Branch }),
		Text("conversation", "", "its id, by the agent's program; empty: not known", func(r run) string { return r.Conversation.ID }),
		Word("resumes", "", "the run with whose conversation it goes on; empty: none", func(r run) fleet.RunID { return r.Conversation.Resumes }),
		Text("resumes_reason", "", "why, or why not; empty: there was none to go on with", func(r run) string { return r.Conversation.Why }),
		Text("followed", "", "whether a session follows it, and why", func(r run) string { return r.Following() }),
		At("heard", "", "of an open one on another machine: when that was heard of", func(r run) time.Time { return r.Heard }).OrNull(),
	}
}

// Runs shows runs, newest first.
func Runs() View[[]fleet.RunStatus] { return List("stint/runs@1", "runs", "newest first", Run()) }

// OpenRun shows a run that has not ended.
func OpenRun() View[fleet.RunStatus] {
	type run = fleet.RunStatus
	return With(Run(), func(r run) run { return r },
		Word("state", "", "planned, waiting, running, suspended, crashed or ended", func(r run) fleet.RunState { return r.State }),
		Int("timeout_seconds", "", "of the category of one that has not ended", func(r run) int64 { return int64(r.Timeout.Seconds()) }),
		Data("tokens", "integer or null", "printed by its agent so far", func(r run) *int64 { return r.Tokens }))
}

// RunDetail shows all that is known of a run.
func RunDetail() View[inspect.RunDetail] {
	type run = inspect.RunDetail
	return With(OpenRun(), func(r run) fleet.RunStatus { return r.RunStatus }, Schema[run]("stint/run-detail@1"),
		Data("tokens", "integer or null", "of a run under way: printed by its agent so far", func(r run) *int64 {
			return cmp.Or(r.Tokens, r.Usage.Tokens)
		}),
		Word("host", "", "the identity of the machine that it is at work on", func(r run) string { return r.Host }),
		Int("pid", "", "of stint run; 0 before it began", func(r run) int { return r.PID }),
		Word("key", "", "what it claimed; empty: nothing", func(r run) fleet.Key { return r.Key }),
		Sub("choice", "what its fire decided of its category; null: no fire planned it", Choice(), func(r run) *fleet.Choice { return r.Choice }),
		Each("denials", "oldest first", Denial(), func(r run) []fleet.DeniedClaim { return r.Denials }),
		Each("lessons", "", View[fleet.LessonUse]{
			Word("lesson", "", "", func(u fleet.LessonUse) fleet.LessonID { return u.Lesson }),
			Bool("given", "false: chance withheld it", func(u fleet.LessonUse) bool { return u.Injected }),
		}, func(r run) []fleet.LessonUse { return r.Lessons }),
		Text("dir", "", "the run's own work tree; null: it has none, or it was removed", func(r run) string { return r.Dir }).OrNull(),
		Text("resume", "", "the command that opens its conversation by hand; null: none", func(r run) string { return r.Resume }).OrNull(),
		Text("leftovers", "", "work that its branch does not have, and where; null: none", func(r run) string { return r.Leftovers }).OrNull(),
		Part("files", "", View[run]{
			Text("dir", "", "", func(r run) string { return r.Files.Dir }),
			Text("prompt", "", "", func(r run) string { return r.Files.Prompt }),
			Text("log", "", "", func(r run) string { return r.Files.Log }),
			Text("result", "", "", func(r run) string { return r.Files.Result }),
			Bool("swept", "they were removed, as those of old runs are", func(r run) bool { return r.Swept != "" }),
			Texts("own", "", "in which the agent itself keeps the session", func(r run) []string { return r.Own }),
		}, func(r run) run { return r }))
}

// Denial shows a claim that a run was denied.
func Denial() View[fleet.DeniedClaim] {
	type denial = fleet.DeniedClaim
	return View[denial]{
		Age("at", "", func(d denial) time.Time { return d.At }),
		Link("", "Run", "", func(d denial) Ref { return OfRun(d.Run) }),
		Word("category", "Category", "in which the run wanted it", func(d denial) fleet.Category { return d.Category }),
		Text("key", "Wanted", "", func(d denial) fleet.Key { return d.Key }),
		TextLink("holder", "Held by", "who had it", func(d denial) Ref { return OfHolder(d.Holder) }),
	}
}
