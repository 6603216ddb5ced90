package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/rank"
)

// Category has the facts about one category, and the input of a fire of its pool.
type Category struct {
	Name      fleet.Category
	Now       time.Time
	Path      string // of the configuration
	Pool      string
	Pools     bool              // there are others
	Ordinary  bool              // its pool is the one that a fire starts by default
	Timer     *fleet.Timer      // of its pool; nil: not known
	Slots     int               // of the pool, or of the fleet if that has fewer
	Cooldown  time.Duration     // how long it rests after a session
	InFlight  []fleet.RunStatus // of the category
	Dead      fleet.RunID       // of the category, that died and is still to be closed; empty: none
	Hinders   []rank.Obstacle
	Pauses    []fleet.Pause // in force that concern it
	Gates     []Refusal     // what is behind a gate
	Held      []fleet.Claim // on its tasks and lanes
	States    map[fleet.TaskState]int
	OverLimit []string           // its tasks that have taken too many sessions
	Blocked   []rank.BlockedTask // of its tasks

	Ranking rank.Selection // as a fire of the pool would rank now
	Odds    float64        // of being started by it, in [0,1]

	Fires        []fleet.Fire // of its pool, newest first
	Runs         []fleet.Run  // newest first
	GradeChanges []fleet.GradeChange
	Denials      []fleet.DeniedClaim
}

// Refusal is one of the things that can keep every session of a category from starting.
type Refusal struct {
	Kind   fleet.Hindrance
	Reason string
	Until  time.Time // zero: until something changes

	// The fix for a person, a command or words; both empty: there is none.
	Command, Do string
	Lasting     bool // it does not end before a person has done so
	Unfit       bool // it is no rest: what the category needs is not there
}

// Verdicts on a category.
const (
	Yes   = "yes"   // the next fire starts it
	Maybe = "maybe" // chance decides, or what is in the way ends before that fire
	No    = "no"
)

// Answer says whether the next fire would start the category, what is in its way and what
// would have to change, and how it has done.
func (c Category) Answer() Answer {
	a := Answer{Kind: OfCategory, Subject: string(c.Name), Obstacles: c.Obstacles()}
	a.Verdict, a.Lead = c.verdict(a.Obstacles)
	if !c.Ranking.Alone() {
		a.add("Its rank", c.rank()...)
		a.add("Debt", c.owed()...)
	}
	a.add("Its grades", c.believed()...)
	a.add("Its tasks", c.tasks()...)
	a.add("The last fires", c.fires()...)
	a.add("The last runs", plain.Each(c.Runs, func(r fleet.Run) string { return fate(r, r.Category, nil, c.Now) })...)
	a.add("Denials", denials(c.Denials, c.Now)...)
	return a
}

// score returns its score in the ranking, and its place from 0.
func (c Category) score() (rank.Score, int) {
	for i, s := range c.Ranking.Scores {
		if s.Category == c.Name {
			return s, i
		}
	}
	return rank.Score{}, -1
}

// sure is the probability from which on the answer says "certain": redraws cannot measure
// anything nearer to it.
const sure = 0.995

func (c Category) verdict(obstacles []Obstacle) (string, []string) {
	next := "the next fire"
	if c.Pools {
		next = "the next fire of pool " + c.Pool
	}
	due := c.due(next)
	switch {
	case len(obstacles) > 0 && c.overByThen(obstacles):
		return Maybe, append([]string{sentence("Not now, but perhaps by %s: the obstacles of %s end before it", next, c.Name)}, due...)
	case len(obstacles) == 1:
		return No, append([]string{sentence("No: %s would not start %s. One thing is in its way", next, c.Name)}, due...)
	case len(obstacles) > 1:
		return No, append([]string{sentence("No: %s would not start %s. %d things are in its way", next, c.Name, len(obstacles))}, due...)
	case c.Odds >= sure:
		return Yes, append([]string{sentence("Yes: %s would start %s", next, c.Name)}, due...)
	}
	return Maybe, append([]string{sentence("Perhaps: %s would start %s with a probability of %.2f", next, c.Name, c.Odds)}, due...)
}

// overByThen reports whether all that is in the way ends by itself, at times that are
// certain, before the timer fires.
func (c Category) overByThen(obstacles []Obstacle) bool {
	if c.Timer == nil || !c.Timer.Active {
		return false
	}
	return !slices.ContainsFunc(obstacles, func(o Obstacle) bool {
		certain := o.Kind == fleet.HinderedByRest || o.Kind == fleet.HinderedByPause || o.Kind == fleet.HinderedByAgent
		return !certain || o.Until.IsZero() || o.Until.After(c.Timer.Next)
	})
}

// due says when the next fire comes. Without a timer there may be one by hand, or by other
// means: that is no obstacle.
func (c Category) due(next string) []string {
	switch {
	case c.Timer == nil:
		return nil
	case !c.Timer.Active:
		return []string{sentence("No timer brings that fire: %s is not active. %s fires by hand, and stint init --systemd installs the timer", c.Timer.Unit, c.fire())}
	case c.Timer.Next.IsZero():
		return nil
	}
	return []string{sentence("%s is due at %s", capital(next), moment(c.Timer.Next, c.Now))}
}

func (c Category) rank() (list []string) {
	s, _ := c.score()
	if s.Candidate == nil || !s.In {
		return nil
	}
	ranked := len(c.Ranking.Ranked())
	list = append(list, sentence("%s can start, and a fire starts %d of them", plain.Plural(ranked, "category"), c.Ranking.Picks))
	if s.Leads {
		list = append(list, sentence("It leads, because its task %q is begun", s.Next.ID))
	}
	if s.Full != "" && !s.Picked {
		list = append(list, sentence("The categories before it leave it no agent: %s", s.Full))
	} else if !s.Picked && c.Ranking.Picks > 0 {
		list = append(list, "Each fire draws again, so it will get its turn.")
	}
	return list
}

func (c Category) believed() []string {
	s, _ := c.score()
	if s.Candidate == nil {
		return nil
	}
	var list []string
	if e := s.Explain(c.Ranking.Settings); !s.Alone {
		list = append(list, sentence("The ranking believes in a mean grade of %.3f, with 95 %% certainty between %.2f and %.2f, by %s and the grades of the others",
			e.Mean, e.Low, e.High, s.Behind()))
	}
	if why := rank.Chosen(s.Order); why != "" {
		list = append(list, sentence("%s. Each fire draws again", capital(why)))
	}
	for _, r := range c.GradeChanges {
		list = append(list, sentence("At %s %s", moment(r.At, c.Now), r))
	}
	if more := s.Arm.Alarms - len(c.GradeChanges); more > 0 && len(c.GradeChanges) > 0 {
		list = append(list, sentence("Before that its grades changed %s", plain.Plural(more, "time")))
	}
	return list
}

func (c Category) owed() (list []string) {
	s, _ := c.score()
	if s.Candidate == nil {
		return nil
	}
	e := s.Explain(c.Ranking.Settings)
	list = append(list, sentence("It has had %s, and was entitled to %.1f", plain.Plural(e.Sessions, "session"), e.Entitled))
	if debt := e.Debt(); debt != "" {
		list = append(list, sentence("Counted fire by fire, %s, which %s", debt, moves(e.Div)))
	}
	for _, words := range s.Expenses() {
		list = append(list, capital(sentence("%s", words)))
	}
	return list
}

// moves says what a part of a score does to it.
func moves(part float64) string {
	switch {
	case part >= 0.0005:
		return fmt.Sprintf("raises its score by %.3f", part)
	case part <= -0.0005:
		return fmt.Sprintf("lowers its score by %.3f", -part)
	}
	return "leaves its score as it is"
}

// tasks lists its next tasks, and the blocked ones.
func (c Category) tasks() (list []string) {
	for _, task := range c.OverLimit {
		list = append(list, capital(sentence("%s", task)))
	}
	s, _ := c.score()
	if s.Candidate == nil || s.Tasks == 0 {
		return list // an obstacle says so, or it needs no task
	}
	list = append(list, sentence("%s can be worked on; the next is %q, which is %s", plain.Plural(s.Tasks, "task"), s.Next.ID, s.Next.State))
	if n := len(c.Blocked); n > 0 {
		list = append(list, sentence("%s blocked: %s", areOf(n), listed(blockedWords(c.Blocked))))
	}
	return list
}

func areOf(n int) string {
	if n == 1 {
		return "1 is"
	}
	return fmt.Sprintf("%d are", n)
}

func blockedWords(blocked []rank.BlockedTask) (words []string) {
	for _, b := range blocked {
		reason := b.Reason
		if b.Holder != "" {
			reason = "is claimed by " + string(b.Holder)
		}
		words = append(words, fmt.Sprintf("%q %s", b.ID, reason))
	}
	return words
}

// fires counts why the last fires did not start it.
func (c Category) fires() (list []string) {
	started, asked := 0, 0
	counts := map[string]int{}
	for _, f := range c.Fires {
		for _, choice := range f.Choices {
			if choice.Category != c.Name {
				continue
			}
			asked++
			if choice.Decision == fleet.Spawn {
				started++
			} else {
				counts[brief(choice)]++
			}
		}
	}
	if asked == 0 {
		return nil
	}
	switch {
	case asked > 1:
		list = append(list, sentence("Of the last %s, %d started it", plain.Plural(asked, "fire"), started))
	case started > 0:
		list = append(list, sentence("The only fire started it"))
	default:
		list = append(list, sentence("The only fire did not start it"))
	}
	if len(counts) > 0 {
		list = append(list, sentence("Where it was not started: %s", strings.Join(counted(counts), ", ")))
	}
	return list
}

// counted lists reasons, the most frequent first.
func counted(counts map[string]int) (words []string) {
	var reasons []string
	for reason := range counts {
		reasons = append(reasons, reason)
	}
	slices.SortFunc(reasons, func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	for _, reason := range reasons {
		words = append(words, fmt.Sprintf("%s (%d×)", reason, counts[reason]))
	}
	return words
}

// brief is a choice's reason without what differs from fire to fire.
func brief(c fleet.Choice) string {
	if c.Decision == fleet.StartFailed {
		return "its unit did not start"
	}
	words := map[fleet.Hindrance]string{
		fleet.HinderedByLane:    "lane busy",
		fleet.HinderedByRest:    "cooldown",
		fleet.HinderedByBackoff: "backs off",
		fleet.HinderedByEmpty:   rank.ReasonAllRest,
		fleet.HinderedByOverlap: rank.ReasonAllOverlap,
		fleet.HinderedByPause:   "paused",
		fleet.HinderedByAgent:   "no agent of it could work",
		fleet.HinderedByClone:   "no clone could be made",
		fleet.HinderedBySeats:   "the slots of its agents were in use",
		fleet.HinderedByBudget:  "a budget was used up",
		fleet.HinderedByMachine: "the machine was short",
		fleet.HinderedBySlots:   "no slot free",
		fleet.HinderedByWorkers: "beyond this fire's limit",
		fleet.HinderedByRival:   "another was quicker",
	}
	return cmp.Or(words[c.By], c.Refusal, c.Reason)
}

func denials(list []fleet.DeniedClaim, now time.Time) []string {
	return plain.Each(list, func(d fleet.DeniedClaim) string {
		return sentence("Run %s was denied %q by %s at %s", d.Run, d.Key, d.Holder, moment(d.At, now))
	})
}
