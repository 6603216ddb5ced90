package fleet

import (
	"fmt"
	"time"
)

// Event is something that an operator wants to know.
type Event string

const (
	// EventFailed is a session that failed or overran.
	EventFailed Event = "failed"
	// EventWaiting is a task that waits for a person because sessions fail at it.
	EventWaiting Event = "waiting_for_person"
	// EventQuota is an agent that met its usage limit.
	EventQuota Event = "quota"
	// EventUnavailable is an agent whose service or login failed.
	EventUnavailable Event = "unavailable"
	// EventBudget is a budget that is used up.
	EventBudget Event = "budget"
	// EventNoopStreak is a category whose sessions keep doing nothing.
	EventNoopStreak Event = "noop_streak"
	// EventWIPFull is a category that is out until a person has looked at its results.
	EventWIPFull Event = "wip_full"
	// EventReviewSilent is work that waits while nobody reviews for twice the usual time.
	EventReviewSilent Event = "review_silent"
	// EventLaneOverdue is a lane that was held over twice its time-out.
	EventLaneOverdue Event = "lane_overdue"
	// EventGradesChanged is a category whose grades changed, so that those before are forgotten.
	EventGradesChanged Event = "grades_changed"
	// EventHeld is a change of what leads to execution, which waits for a person.
	EventHeld Event = "held"
	// EventWentBack is a store that lost what it had acknowledged, or may have.
	EventWentBack Event = "store_went_back"
	// EventTargetStuck is a target of review that does not follow its upstream any more, or that its remote does not take.
	EventTargetStuck Event = "target_stuck"
	// EventSourceFailed is a source of tasks that cannot be read.
	EventSourceFailed Event = "source_failed"
)

// Events are all there are.
func Events() []Event {
	return []Event{
		EventFailed, EventWaiting, EventQuota, EventUnavailable, EventBudget, EventNoopStreak, EventWIPFull, EventReviewSilent, EventLaneOverdue,
		EventGradesChanged, EventSourceFailed, EventTargetStuck, EventHeld, EventWentBack,
	}
}

// Notice is one event to notify people of. Fields that the event is not about are empty.
type Notice struct {
	Event    Event
	Category Category
	Task     TaskID
	Run      RunID
	Agent    string
	Reason   string // a sentence fragment for the operator
	At       time.Time

	// Scope is whose budget it is, with [EventBudget].
	Scope Scope
	// Source is the one that failed, with [EventSourceFailed].
	Source string
	// Login is the machine whose login failed, with [EventUnavailable]; empty: it is no login.
	Login string
}

// Subject is the thing that a notice is about. Two of one event on one subject are one piece of
// news: the run that brought it does not matter, except for a lane that a certain run
// holds, and a grade that it got.
func (n Notice) Subject() string {
	switch n.Event {
	case EventFailed: // not the task: where one fails, all may
		return string(n.Category)
	case EventWaiting:
		return string(n.Task)
	case EventQuota, EventUnavailable:
		if n.Login != "" {
			return n.Agent + "@" + n.Login
		}
		return n.Agent
	case EventBudget:
		return string(n.Scope)
	case EventNoopStreak, EventWIPFull:
		return string(n.Category)
	case EventLaneOverdue, EventGradesChanged:
		return string(n.Run)
	case EventReviewSilent, EventTargetStuck:
		return "review"
	case EventHeld, EventWentBack:
		return n.Reason // which names the change, or when it was
	case EventSourceFailed:
		return n.Source
	}
	return ""
}

const (
	// noopStreak is the number of a category's sessions in a row that did nothing when a person
	// should look: two can be chance.
	noopStreak = 3
	// overdueTimes times its time-out a lane may be held. A session that is
	// stopped at its time-out, grades and closes within a fraction of it.
	overdueTimes = 2
)

// EndNotice is the notice of a run's end, where that is news. Noops counts the sessions in a row, this
// one included, in which its category found nothing to do.
func EndNotice(r Run, noops int) (Notice, bool) {
	n := Notice{
		Category: r.Category, Task: r.Task, Run: r.ID, Agent: r.Agent, Reason: r.Verdict.Reason, At: r.EndedAt,
	}
	switch outcome := r.Verdict.Outcome; {
	case outcome == Failed || outcome == Timeout:
		n.Event = EventFailed
	case outcome == Quota:
		n.Event = EventQuota
	case outcome == Unavailable:
		n.Event, n.Reason = EventUnavailable, r.Agent+": "+r.Verdict.Reason
		if r.Verdict.Fault.OfMachine() {
			n.Login = r.Host
		}
	case r.Verdict.Empty() && noops >= noopStreak:
		n.Event = EventNoopStreak
		n.Reason = fmt.Sprintf("%d sessions in a row found nothing to do; the last: %s", noops, r.Verdict.Reason)
	default:
		return Notice{}, false
	}
	return n, true
}

// LaneNotice is the notice of a lane that is held for too long: a session of its category
// may take the timeout.
func LaneNotice(h LaneHold, timeout time.Duration, now time.Time) (Notice, bool) {
	held := now.Sub(h.AcquiredAt)
	if !h.ReleasedAt.IsZero() || held <= overdueTimes*timeout {
		return Notice{}, false
	}
	return Notice{
		Event: EventLaneOverdue, Category: h.Category, Run: h.Run, At: now,
		Reason: fmt.Sprintf("lane %d has been held for %v, and a session may take %v", h.Lane, held.Round(time.Second), timeout),
	}, true
}
