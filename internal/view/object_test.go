package view_test

import (
	"encoding/json"
	"testing"
	"time"

	"stint/internal/explain/inspect"
	"stint/internal/explain/report"
	"stint/internal/explain/why"
	"stint/internal/fleet"
	"stint/internal/review"
	"stint/internal/survey"
	"stint/internal/view"
)

// TestObjects compares the objects with what they are to be.
func TestObjects(t *testing.T) {
	t.Parallel()
	object(t, "runs", view.Runs().JSON)
	object(t, "run-detail", view.RunDetail().JSON)
	object(t, "fires", view.Fires().JSON)
	object(t, "claims", func(list []fleet.Claim) json.RawMessage { return view.Claims().JSON(view.Held(list)) })
	object(t, "claim", func(c fleet.Claim) json.RawMessage {
		return view.Claim().JSON(view.ClaimState{Claim: c, Status: view.ClaimGranted})
	})
	object(t, "hosts", func(list []survey.HostState) json.RawMessage { return view.Hosts(time.Unix(0, 0)).JSON(list) })
	object(t, "report", view.Report("demo").JSON)
	object(t, "audit", view.Audit().JSON)
	object(t, "spending", func(s report.Spending) json.RawMessage { return view.Spending("demo", s.By).JSON(s) })
	object(t, "status", view.Status("demo").JSON)
	object(t, "budget", view.Budget().JSON)
	object(t, "budget-reset", view.Reset(true).JSON)
	object(t, "lessons", view.Lessons().JSON)
	object(t, "task", func(task fleet.Task) json.RawMessage {
		return view.Task().JSON(view.TaskEntry{Task: task, Blocked: "blocked", StateFrom: "from"})
	})
	object(t, "ranking", view.Ranking(nil, nil).JSON)
	object(t, "replay", view.Replay().JSON)
	object(t, "landed", view.LandedList().JSON)
	target := filled[review.Target]()
	object(t, "review", func(list []review.Item) json.RawMessage {
		return view.Review(target, []fleet.Task{{ID: "beside"}}, map[fleet.RunID]string{"run": "where"}, time.Unix(0, 0)).JSON(list)
	})
	object(t, "review-item", view.ReviewDetail(target, new(filled[inspect.RunDetail]()), []string{"question"}, time.Unix(0, 0)).JSON)
	object(t, "review-diff", view.ReviewDiff(target, "diff", true).JSON)
	object(t, "reviewed", view.Reviewed("rejected", "reason", "dir", "url").JSON)
	object(t, "landings", view.Landings(target).JSON)
	object(t, "why", view.Why(why.Kinds()).JSON)
	object(t, "pause", view.Pause(true, true, true, 3).JSON)
	object(t, "away", view.Away(true, true).JSON)
}
