package wire

import (
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/review"
)

// Review is stint/review@1.
type Review struct {
	Schema string       `json:"schema"`
	At     string       `json:"at"`
	Target string       `json:"target"` // the branch that the work is to get into
	Tip    string       `json:"tip"`
	Items  []ReviewItem `json:"items"` // in the order in which they are best looked at
}

// ReviewItem is the work of one session that is on a branch of its own.
type ReviewItem struct {
	Run       fleet.RunID     `json:"run"`
	Category  *fleet.Category `json:"category"` // null: the record has no such run
	Task      *fleet.TaskID   `json:"task"`
	Agent     *string         `json:"agent"`
	Grade     *float64        `json:"grade"`
	Branch    string          `json:"branch"`
	Dir       *string         `json:"dir"`   // in which it is checked out
	State     string          `json:"state"` // waiting, merged, copied, covered or reverted
	By        *string         `json:"by"`    // the target's commit that merged or reverted it
	Since     string          `json:"since"` // when its last commit was made
	Commits   []string        `json:"commits"`
	Landed    int             `json:"landed"` // further commits, which the target has as others
	Files     []string        `json:"files"`
	Tests     int             `json:"tests"` // of the files
	Lines     int             `json:"lines"` // inserted and deleted
	Conflicts []string        `json:"conflicts"`
	Shares    int             `json:"shares"` // other items that change one of its files
	Why       string          `json:"why"`
}

// NewReview is a list of work as JSON.
func NewReview(t review.Target, items []review.Item, at time.Time) Review {
	return Review{Schema: "stint/review@1", At: plain.Stamp(at), Target: t.Name, Tip: t.Tip, Items: each(items, newReviewItem)}
}

func newReviewItem(i review.Item) ReviewItem {
	return ReviewItem{
		Run: i.Run, Category: some(i.Session.Category), Task: some(i.Session.Task), Agent: some(i.Session.Agent), Grade: i.Session.Verdict.Grade,
		Branch: i.Name, Dir: some(i.Dir), State: string(i.Landing), By: some(i.By), Since: plain.Stamp(i.Since),
		Commits: listed(i.Commits), Landed: i.Landed, Files: listed(i.Files), Tests: i.Tests, Lines: i.Lines,
		Conflicts: listed(i.Conflicts), Shares: i.Shares, Why: i.Why,
	}
}
