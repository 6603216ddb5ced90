package view

import (
	"time"

	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/review"
)

// Item shows the work of one session on a branch other than the target.
func Item() View[review.Item] {
	type item = review.Item
	return View[item]{
		Link("run", "Run", "", func(i item) Ref { return OfRun(i.Run) }),
		Age("since", "when its last commit was made", func(i item) time.Time { return i.Since }).OrNull(),
		Word("category", "Category", "null: the record has no such run", func(i item) fleet.Category { return i.Session.Category }).OrNull(),
		TextLink("task", "Task", "", func(i item) Ref { return OfTask(i.Session.Task) }).OrNull(),
		Word("agent", "", "", func(i item) string { return i.Session.Agent }).OrNull(),
		Grade("grade", "", "at the end of the session", func(i item) *float64 { return i.Session.Verdict.Grade }),
		Grade("final_grade", "Grade", "after what became of the work", func(i item) *float64 { return i.Session.Final() }),
		Word("branch", "", "", func(i item) string { return i.Name }),
		Text("dir", "", "in which it is checked out", func(i item) string { return i.Dir }).OrNull(),
		Int("", "Files", "", func(i item) int { return len(i.Files) }).OrNull().Wide(),
		Int("", "Lines", "", func(i item) int { return i.Lines }).OrNull(),
		Int("lines", "", "inserted and deleted", func(i item) int { return i.Lines }),
		Word("state", "State", "waiting, checked out, published, reverted, merged, merged with changes, rejected or superseded",
			func(i item) review.State { return i.State }),
		Text("why", "Why", "it stands where it stands", func(i item) string { return i.Why }),
		Word("landing", "", "of the commits in the target: waiting, merged, copied, covered or reverted",
			func(i item) review.Landing { return i.Landing }),
		Sub("decision", "of the work as it is; null: none", View[fleet.Review]{
			Word("decision", "", "published, rejected, superseded or landed", func(r fleet.Review) fleet.ReviewDecision { return r.Decision }),
			Text("reason", "", "", func(r fleet.Review) string { return r.Reason }),
			Text("url", "", "", func(r fleet.Review) string { return r.URL }).OrNull(),
			Word("by", "", "a user's name", func(r fleet.Review) string { return r.By }),
			At("at", "", "", func(r fleet.Review) time.Time { return r.DecidedAt }),
		}, func(i item) *fleet.Review {
			d, decided := i.Decided()
			return some(decided, d)
		}),
		Sub("check", "of the work as it is; null: none ran, and nothing kept it from landing", View[item]{
			Bool("ok", "", func(i item) bool { green, _ := i.Checked(); return green }),
			Text("reason", "", "", func(i item) string { return i.Decision.Check.Reason }),
			At("at", "", "", func(i item) time.Time { return i.Decision.Check.At }),
		}, func(i item) *item {
			_, checked := i.Checked()
			return some(checked, i)
		}),
		Word("by", "", "the target's commit that merged or reverted it", func(i item) string { return i.By }).OrNull(),
		Texts("commits", "", "", func(i item) []string { return i.Commits }),
		Int("landed", "", "further commits, which the target has as others", func(i item) int { return i.Others }),
		Texts("files", "", "", func(i item) []string { return i.Files }),
		Int("tests", "", "of the files", func(i item) int { return i.Tests }),
		Texts("conflicts", "", "files", func(i item) []string { return i.Conflicts }),
		Int("shares", "", "other items that change one of its files", func(i item) int { return i.Shares }),
		Texts("collides", "", "the items that conflict with it, as far as that was tried", func(i item) []fleet.RunID { return i.Collides }),
		Int("unblocks", "", "tasks that wait for its own", func(i item) int { return i.Unblocks }),
		Data("usd", "number or null", "that the session cost; null: not known", func(i item) *float64 { return i.Session.Usage.USD }),
		Text("leftovers", "", "of the session, that are not in the item, and where; null: none",
			func(i item) string { return i.Leftovers }).OrNull(),
	}
}

// Beside returns rows for the tasks in review whose work is on no branch.
func Beside(tasks []fleet.Task) []review.Item {
	return plain.Each(tasks, func(t fleet.Task) review.Item {
		return review.Item{
			Session: fleet.Run{Category: t.Category, Task: t.ID}, State: review.State(t.State),
			Why: "no branch: stint task done " + fleet.ShellWord(string(t.ID)),
		}
	})
}

// Review shows the work that waits for review, best first. It adds the tasks and leftovers without an item: that work is
// in the workspace.
func Review(target review.Target, tasks []fleet.Task, left map[fleet.RunID]string, at time.Time) View[[]review.Item] {
	type items = []review.Item
	return append(View[items]{Schema[items]("stint/review@1")}, append(targetOf[items](target, at),
		Each("items", "in the order in which they are best looked at", Item(), func(list items) items { return list }),
		Texts("tasks", "", "in review without an item: their work is in the workspace", func(items) []fleet.TaskID {
			return plain.Each(tasks, func(t fleet.Task) fleet.TaskID { return t.ID })
		}),
		ByName("leftovers", "text", "of sessions without an item, and where", func(items) map[fleet.RunID]string { return left }))...)
}

// targetOf shows the branch that work lands on, at a moment.
func targetOf[T any](target review.Target, at time.Time) View[T] {
	return View[T]{
		At("at", "", "", func(T) time.Time { return at }),
		Is[T]("target", "the branch that the work is to get into", target.Name), Is[T]("tip", "", target.Tip),
	}
}

// ReviewDetail shows the work of one session, its run if that is on record, and its open questions.
func ReviewDetail(target review.Target, run *inspect.RunDetail, questions []string, at time.Time) View[review.Item] {
	type item = review.Item
	return append(View[item]{Schema[item]("stint/review-item@1")}, append(targetOf[item](target, at),
		Part("item", "", Item(), func(i item) item { return i }),
		Sub("run", "null: the record has no such run", RunDetail(), func(item) *inspect.RunDetail { return run }),
		Texts("questions", "", `lines that the agent printed below "Open questions"`, func(item) []string { return questions }))...)
}

// ReviewDiff shows a session's changes since its branch left the target, as git prints them, control characters
// included.
func ReviewDiff(target review.Target, diff string, cut bool) View[review.Item] {
	type item = review.Item
	return View[item]{
		Schema[item]("stint/review-diff@1"),
		Word("run", "", "", func(i item) fleet.RunID { return i.Run }),
		Word("branch", "", "", func(i item) string { return i.Name }),
		Is[item]("target", "", target.Name),
		Word("tip", "", "of the branch", func(i item) string { return i.Tip }),
		Word("landed_as", "", "the target's commit; null: the work is not there", item.LandedAs).OrNull(),
		Is[item]("diff", "as git prints it, with all control characters", diff), Is[item]("cut", "the diff goes on", cut),
	}
}

// Reviewed shows a command's result for an item: rejected, checked out or published.
func Reviewed(state, reason, dir, url string) View[review.Item] {
	type item = review.Item
	return View[item]{
		Schema[item]("stint/reviewed@1"),
		Word("run", "", "", func(i item) fleet.RunID { return i.Run }),
		Word("task", "", "", func(i item) fleet.TaskID { return i.Session.Task }).OrNull(),
		Word("branch", "", "", func(i item) string { return i.Name }),
		Is[item]("state", "rejected, checked out or published", state), Is[item]("reason", "", reason),
		Is[item]("dir", "where it is checked out", dir), Is[item]("url", "of the request, for published work", url),
	}
}

// Landings shows the results of a landing.
func Landings(target review.Target) View[[]fleet.Landed] {
	type landed = fleet.Landed
	return View[[]landed]{
		Schema[[]landed]("stint/landings@1"), Is[[]landed]("target", "the branch", target.Name),
		Each("landings", "", View[landed]{
			Word("run", "", "", func(l landed) fleet.RunID { return l.Run }),
			Word("task", "", "", func(l landed) fleet.TaskID { return l.Task }).OrNull(),
			Word("end", "", "landed, set aside or not tried", func(l landed) fleet.LandingEnd { return l.End }),
			Word("commit", "", "that the target has for it; null: none of this landing", func(l landed) string { return l.Commit }).OrNull(),
			Text("reason", "", "", func(l landed) string { return l.Reason }),
			Text("left", "", "the work landed, or was set aside, and its task could not be changed", func(l landed) string { return l.Left }),
		}, func(list []landed) []landed { return list }),
	}
}
