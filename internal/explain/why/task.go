package why

import (
	"fmt"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/rank"
)

// Task has the facts about one task.
type Task struct {
	ID        fleet.TaskID
	Now       time.Time
	Task      *fleet.Task // nil: it is nowhere any more
	Problem   string      // why it could not be read; empty: it could, or is not there
	Hinders   []rank.Obstacle
	Held      *fleet.Claim     // in its way; nil: none
	Worker    *fleet.RunStatus // that holds it; nil: none that is under way
	Claim     fleet.Claim      // its last; epoch 0: it was never claimed
	Waiting   *fleet.Waiting
	Ahead     []rank.Ahead
	Counts    string // its priority, and as what it counts
	Overlap   fleet.Overlap
	OverLimit string      // that it has taken too many sessions; empty: it has not
	Review    fleet.RunID // whose work at it waits for review; empty: none
	Category  *Category   // nil: the configuration has none of the name
	Runs      []fleet.Run
	Denials   []fleet.DeniedClaim
}

// Verdicts on a task.
const (
	Workable = "workable" // the next session of its category takes it
	Queued   = "queued"   // others come before it
	Working  = "working"  // a run works on it
	Claimed  = "claimed"  // another holds it
	Blocked  = "blocked"
	Settled  = "settled" // done, cancelled or expired
	Gone     = "gone"    // on record, and nowhere else
)

// Answer says whether the task can be worked on, what is in its way and what would have
// to change, where it stands, and what was tried.
func (t Task) Answer() Answer {
	a := Answer{Kind: OfTask, Subject: string(t.ID), Obstacles: t.obstacles()}
	own := len(a.Obstacles)
	if t.Category != nil && t.open() {
		a.Obstacles = append(a.Obstacles, t.ofCategory()...)
	}
	a.Verdict, a.Lead = t.verdict(own, len(a.Obstacles)-own)
	a.add("Where it stands", append(t.remembered(), t.place()...)...)
	a.add("Attempts", t.attempts()...)
	a.add("Its last claim", t.claim()...)
	a.add("Denials", denials(t.Denials, t.Now)...)
	return a
}

// open reports whether there is anything to be done about it.
func (t Task) open() bool {
	return t.Task != nil && !t.Task.State.Settled() && t.Task.State != fleet.StateExpired
}

// over says why no session will take it any more; "": one may.
func (t Task) over() (verdict, lead string) {
	switch {
	case t.Task == nil && t.Problem != "":
		return Blocked, sentence("No: %q cannot be read as a task, so no session takes it", t.ID)
	case t.Task == nil:
		return Gone, sentence("%q is on record, but no longer in a task folder or listing: no session will take it", t.ID)
	case !t.open():
		return Settled, sentence("%q is %s: there is nothing left to do", t.ID, t.Task.State)
	}
	return "", ""
}

func (t Task) verdict(own, others int) (string, []string) {
	over, lead := t.over()
	switch {
	case t.Worker != nil:
		works := []string{sentence("Run %s works on %q, since %s", t.Worker.ID, t.ID, moment(t.Worker.StartedAt, t.Now))}
		if over != "" {
			works = append(works, lead)
		}
		return Working, works
	case over != "":
		return over, []string{lead}
	case t.Held != nil && own == 1:
		return Claimed, t.hindered(own, others)
	case own > 0:
		return Blocked, t.hindered(own, others)
	case others > 0 && len(t.Ahead) == 0:
		return Blocked, []string{sentence("It can be worked on and comes first in %[1]s, but a fire would not start %[1]s", t.Task.Category)}
	case others > 0:
		return Blocked, []string{sentence("It can be worked on and is number %[1]d in %[2]s, but a fire would not start %[2]s", len(t.Ahead)+1, t.Task.Category)}
	case len(t.Ahead) > 0:
		return Queued, t.ready("It can be worked on, and is number %d in %s", len(t.Ahead)+1, t.Task.Category)
	}
	return Workable, t.ready("It can be worked on: the next session of %s takes it", t.Task.Category)
}

// ready adds to a verdict whether the next fire would start the category.
func (t Task) ready(format string, args ...any) []string {
	list := []string{sentence(format, args...)}
	if t.Category == nil {
		return list
	}
	_, category := t.Category.verdict(nil)
	return append(list, category...)
}

func (t Task) hindered(own, others int) []string {
	text := fmt.Sprintf("No session would take %q now: %s in its way", t.ID, things(own))
	if others > 0 {
		text += fmt.Sprintf(", and %s in that of its category", things(others))
	}
	return []string{sentence("%s", text)}
}

func things(n int) string {
	if n == 1 {
		return "one thing is"
	}
	return fmt.Sprintf("%d things are", n)
}

// obstacles are those of the task itself.
func (t Task) obstacles() (list []Obstacle) {
	if t.Problem != "" {
		list = append(list, Obstacle{Kind: fleet.HinderedByProblem, Reason: sentence("It cannot be read: %s", t.Problem), Change: "It takes a file, or a listing, that can be read."})
	}
	if !t.open() {
		return list
	}
	if !t.Task.State.Workable() {
		list = append(list, t.inState())
	}
	if t.Category == nil {
		list = append(list, Obstacle{
			Kind: fleet.HinderedByUnknown, Reason: sentence("Its category is %s, which the configuration does not have", orDash(string(t.Task.Category))),
			Change: sentence("It takes another category in %s, or a [category.%s] in the configuration", orSource(t.Task.Path), t.Task.Category),
		})
	}
	if t.Waiting != nil {
		list = append(list, Obstacle{
			Kind: fleet.HinderedByFailures, Command: "stint task retry " + named(t.ID),
			Reason: sentence("It has waited for a person since %s, because %s", plain.Stamp(t.Waiting.Since), t.Waiting.Why()),
			Change: sentence("It takes a person to fix what is wrong, and a change in %s or a retry", orSource(t.Task.Path)),
		})
	}
	if t.Held != nil {
		list = append(list, t.held())
	}
	for _, h := range t.Hinders {
		list = append(list, t.hinder(h))
	}
	return list
}

// inState describes its state that no session works on. Where work at it waits for review, the decision
// about that work opens or closes it.
func (t Task) inState() Obstacle {
	o := Obstacle{
		Kind: fleet.HinderedByState, Reason: sentence("Its state is %s, which no session works on", t.Task.State),
		Change: t.otherState(), Command: t.forget(),
	}
	if t.Review != "" {
		o.Reason = sentence("Its state is %s: the work of run %s waits for review", t.Task.State, t.Review)
		o.Change = sentence(`It takes a decision about that work: "stint review land %[1]s" closes the task, "stint review reject %[1]s --reason TEXT" opens it again`, t.Review)
		o.Command = "stint review show " + string(t.Review)
	}
	return o
}

// otherState says what would make it workable. The memory stands above a file that
// may say so already.
func (t Task) otherState() string {
	if t.Task.Listed == "" {
		return sentence("It takes state: todo in %s", orSource(t.Task.Path))
	}
	return sentence("It takes a change in %s, or a retry, which forgets what sessions left of it", orSource(t.Task.Path))
}

func (t Task) forget() string {
	if t.Task.Listed == "" {
		return ""
	}
	return "stint task retry " + named(t.ID)
}

func orSource(path string) string {
	if path == "" {
		return "the tracker it comes from"
	}
	return path
}

// held describes the claim in its way.
func (t Task) held() Obstacle {
	h := *t.Held
	o := Obstacle{Kind: fleet.HinderedByClaim, Until: later(h.ExpiresAt, t.Now)}
	o.Reason = sentence("It is claimed by %s at epoch %d, until %s%s", h.Holder, h.Epoch, moment(h.ExpiresAt, t.Now), tail(h.Note))
	if _, session := h.Holder.Run(); session {
		o.Change = "The claim is renewed while its session runs, and ends with it."
		if id, _ := h.Holder.Run(); t.Worker != nil {
			o.Command = command("stint", "stop", string(id))
		}
		return o
	}
	o.Change = "The claim ends when its holder gives it back or does not renew it, or when it is taken away."
	o.Command = "stint claim release --holder " + fleet.ShellWord(string(h.Holder)) + " --abandoned " + named(t.ID)
	return o
}

func (t Task) hinder(h rank.Obstacle) Obstacle {
	o := Obstacle{Kind: h.Kind, Reason: capital(sentence("it %s", h.Reason)), Until: later(h.Until, t.Now)}
	switch {
	case h.Kind == fleet.HinderedByWaiting:
		o.Reason = capital(sentence("it is %s", h.Reason))
		if h.Reason == rank.ReasonOwed {
			o.Change = "The next fire makes it, or \"stint reap\"."
			break
		}
		o.Change = sentence("It takes the end of that, and a %s without waiting_for", orSource(t.Task.Path))
	case h.Kind == fleet.HinderedByDate:
		o.Change = sentence("That ends by itself, or with an earlier date in %s", orSource(t.Task.Path))
	case h.Kind == fleet.HinderedByNeed:
		o.Change = sentence("It takes %q to be done or cancelled, or no longer to be required", h.On)
		if id, err := fleet.ParseTaskID(h.On); err == nil {
			o.Command = "stint why --task " + named(id)
		}
	case h.Kind == fleet.HinderedByOverlap:
		o.Change, o.Command = overlapEnds, "stint review"
	case h.Kind == fleet.HinderedByEmpty:
		o.Change = sentence("That ends by itself, with a change in %s, or by a person", orSource(t.Task.Path))
		o.Command = "stint task retry " + named(t.ID)
	}
	return o
}

// ofCategory are the obstacles of its category, described as such. Its lack of tasks is the
// lack of this one, and a lane in which this task is worked is no obstacle.
func (t Task) ofCategory() (list []Obstacle) {
	for _, o := range t.Category.Obstacles() {
		switch {
		case o.Kind == fleet.HinderedBySource, o.Kind == fleet.HinderedByTasks, o.Kind == fleet.HinderedByClaim, o.Kind == fleet.HinderedByOverlap:
			continue
		case o.Kind == fleet.HinderedByLane && t.Worker != nil:
			continue
		}
		o.Reason = fmt.Sprintf("Its category %s: %s", t.Category.Name, small(o.Reason))
		list = append(list, o)
	}
	return list
}

// maxAhead bounds the tasks before it that are named.
const maxAhead = 5

func (t Task) place() (list []string) {
	if t.Category == nil || !t.open() || t.Worker != nil {
		return nil
	}
	list = append(list, sentence("Its state is %s and its priority %s", t.Task.State, t.Counts))
	if t.OverLimit != "" {
		list = append(list, capital(sentence("%s", t.OverLimit)))
	}
	if o := t.Overlap; o.Why != "" && !o.Waits {
		list = append(list, sentence("Tasks of the same priority come before it, because it would change files that other work changes: %s", o.Why))
	}
	switch n := len(t.Ahead); n {
	case 0:
		list = append(list, sentence("No workable task of %s comes before it", t.Category.Name))
	case 1:
		list = append(list, sentence("1 workable task of %s comes before it", t.Category.Name))
	default:
		list = append(list, sentence("%d workable tasks of %s come before it", n, t.Category.Name))
	}
	for _, a := range t.Ahead[:min(maxAhead, len(t.Ahead))] {
		list = append(list, sentence("%q does: %s", a.ID, a.Because))
	}
	return list
}

// remembered says where the task's state is from when its source says another.
func (t Task) remembered() []string {
	if t.Task == nil || t.Task.Listed == "" {
		return nil
	}
	return []string{capital(sentence("%s", t.Task.Memory.From(*t.Task)))}
}

func (t Task) attempts() (list []string) {
	for _, r := range t.Runs {
		list = append(list, fate(r, r.Category, nil, t.Now))
	}
	if len(list) == 0 && t.Task != nil {
		list = append(list, "No run has worked on it.")
	}
	return list
}

// claim describes its last claim, unless that is in the way.
func (t Task) claim() []string {
	c := t.Claim
	if c.Epoch == 0 || t.Held != nil {
		return nil
	}
	if c.ReleasedAt.IsZero() {
		return []string{sentence("%s held it at epoch %d, until it expired at %s", c.Holder, c.Epoch, moment(c.ExpiresAt, t.Now))}
	}
	return []string{sentence("%s held it at epoch %d, and gave it back as %s at %s%s", c.Holder, c.Epoch, c.Ending, moment(c.ReleasedAt, t.Now), tail(c.Reason))}
}
