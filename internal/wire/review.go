package wire

import (
	"encoding/json"
	"time"

	"stint/internal/fleet"
	"stint/internal/inspect"
	"stint/internal/plain"
	"stint/internal/review"
	"stint/internal/view"
)

// Review is stint/review@1.
type Review struct {
	Schema string       `json:"schema"`
	At     string       `json:"at"`
	Target string       `json:"target"` // the branch that the work is to get into
	Tip    string       `json:"tip"`
	Items  []ReviewItem `json:"items"` // in the order in which they are best looked at

	Tasks     []fleet.TaskID         `json:"tasks"`     // in review without an item: their work is in the workspace
	Leftovers map[fleet.RunID]string `json:"leftovers"` // of sessions without an item, and where
}

// ReviewItem is the work of one session that is on another branch than the target.
type ReviewItem struct {
	Run       fleet.RunID     `json:"run"`
	Category  *fleet.Category `json:"category"` // null: the record has no such run
	Task      *fleet.TaskID   `json:"task"`
	Agent     *string         `json:"agent"`
	Grade     *float64        `json:"grade"`
	Branch    string          `json:"branch"`
	Dir       *string         `json:"dir"`      // in which it is checked out
	State     review.State    `json:"state"`    // waiting, checked out, published, reverted, merged, merged with changes, rejected or superseded
	Landing   review.Landing  `json:"landing"`  // of the commits in the target: waiting, merged, copied, covered or reverted
	Decision  *ReviewDecision `json:"decision"` // of the work as it is; null: none
	Check     *ReviewCheck    `json:"check"`    // of the work as it is; null: it was not tried
	By        *string         `json:"by"`       // the target's commit that merged or reverted it
	Since     string          `json:"since"`    // when its last commit was made
	Commits   []string        `json:"commits"`
	Landed    int             `json:"landed"` // further commits, which the target has as others
	Files     []string        `json:"files"`
	Tests     int             `json:"tests"` // of the files
	Lines     int             `json:"lines"` // inserted and deleted
	Conflicts []string        `json:"conflicts"`
	Shares    int             `json:"shares"`    // other items that change one of its files
	Collides  []fleet.RunID   `json:"collides"`  // those that conflict with it, as far as that was tried
	Unblocks  int             `json:"unblocks"`  // tasks that wait for its own
	USD       *float64        `json:"usd"`       // that the session cost; null: not known
	Leftovers *string         `json:"leftovers"` // of the session, that are not in the item, and where; null: none
	Why       string          `json:"why"`
}

// ReviewDetail is stint/review-item@1: the work of one session.
type ReviewDetail struct {
	Schema string     `json:"schema"`
	At     string     `json:"at"`
	Target string     `json:"target"` // the branch that the work is to get into
	Tip    string     `json:"tip"`
	Item   ReviewItem `json:"item"`

	Run json.RawMessage `json:"run" view:"stint/run-detail@1 or null"` // null: the record has no such run

	Questions []string `json:"questions"` // lines that the agent printed below "Open questions"
}

// NewReviewDetail is the work of one session, whose run is on record unless it is nil, as JSON.
func NewReviewDetail(t review.Target, i review.Item, d *inspect.RunDetail, at time.Time) ReviewDetail {
	w := ReviewDetail{Schema: "stint/review-item@1", At: plain.Stamp(at), Target: t.Name, Tip: t.Tip, Item: newReviewItem(i), Questions: []string{}}
	if d != nil {
		w.Run = view.RunDetail().JSON(*d)
	}
	return w
}

// ReviewDiff is stint/review-diff@1: what a session changed since its branch left the target.
type ReviewDiff struct {
	Schema string      `json:"schema"`
	Run    fleet.RunID `json:"run"`
	Branch string      `json:"branch"`
	Target string      `json:"target"`
	Tip    string      `json:"tip"`       // of the branch
	Landed *string     `json:"landed_as"` // the target's commit; null: the work is not there
	Diff   string      `json:"diff"`      // as git prints it, with all control characters
	Cut    bool        `json:"cut"`       // the diff goes on
}

// NewReviewDiff is the change of one session as JSON.
func NewReviewDiff(t review.Target, i review.Item, diff string, cut bool) ReviewDiff {
	return ReviewDiff{"stint/review-diff@1", i.Run, i.Name, t.Name, i.Tip, some(i.LandedAs()), diff, cut}
}

// ReviewDecision is what a person or a landing decided of an item.
type ReviewDecision struct {
	Decision fleet.ReviewDecision `json:"decision"` // published, rejected, superseded or landed
	Reason   string               `json:"reason"`
	URL      *string              `json:"url"`
	By       string               `json:"by"` // a user's name
	At       string               `json:"at"`
}

// ReviewCheck is how the check of an item on the target went.
type ReviewCheck struct {
	OK     bool   `json:"ok"`
	Reason string `json:"reason"`
	At     string `json:"at"`
}

// NewReview is a list of work as JSON.
func NewReview(t review.Target, items []review.Item, tasks []fleet.Task, left map[fleet.RunID]string, at time.Time) Review {
	return Review{
		Schema: "stint/review@1", At: plain.Stamp(at), Target: t.Name, Tip: t.Tip, Items: each(items, newReviewItem),
		Tasks: each(tasks, func(t fleet.Task) fleet.TaskID { return t.ID }), Leftovers: left,
	}
}

func newReviewItem(i review.Item) ReviewItem {
	w := ReviewItem{
		Run: i.Run, Category: some(i.Session.Category), Task: some(i.Session.Task), Agent: some(i.Session.Agent), Grade: i.Session.Verdict.Grade,
		Branch: i.Name, Dir: some(i.Dir), State: i.State, Landing: i.Landing, By: some(i.By), Since: plain.Stamp(i.Since),
		Commits: listed(i.Commits), Landed: i.Others, Files: listed(i.Files), Tests: i.Tests, Lines: i.Lines,
		Conflicts: listed(i.Conflicts), Shares: i.Shares, Why: i.Why,
		Collides: listed(i.Collides), Unblocks: i.Unblocks, USD: i.Session.Usage.USD, Leftovers: some(i.Leftovers),
	}
	if d, ok := i.Decided(); ok {
		w.Decision = &ReviewDecision{Decision: d.Decision, Reason: d.Reason, URL: some(d.URL), By: d.By, At: plain.Stamp(d.DecidedAt)}
	}
	if green, ok := i.Checked(); ok {
		w.Check = &ReviewCheck{OK: green, Reason: i.Decision.Check.Reason, At: plain.Stamp(i.Decision.Check.At)}
	}
	return w
}
