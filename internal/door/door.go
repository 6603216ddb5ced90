// Package door serves an agent's requests to its fleet: to verify, take, renew and release claims
// under its own name, to add and show a task, and to say how its session went. It asks over a
// socket in its run's folder, which the run's supervisor serves while the agent is at work. So a
// git hook works where neither the store nor the configuration can be seen, and nothing else of
// the fleet can be reached.
//
// A request and its answer are one JSON object each, over a connection of their own. [Session.Admit]
// decides which requests a session may make, and is pure. The package also has the server and the client. The command line
// answers a request by the same function whether it comes over a socket or from its own flags.
package door

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"stint/internal/fleet"
)

// version is that of the protocol, in requests and in answers.
const version = 1

// Verb names a request.
type Verb string

const (
	ClaimVerify  Verb = "claim verify"
	ClaimTake    Verb = "claim take"
	ClaimRenew   Verb = "claim renew"
	ClaimRelease Verb = "claim release"
	TaskAdd      Verb = "task add"
	TaskShow     Verb = "task show"
	Result       Verb = "result"
)

// Request is one question. A field that its verb does not need is left out.
type Request struct {
	Version int           `json:"version"`
	Verb    Verb          `json:"verb"`
	Run     fleet.RunID   `json:"run,omitempty"` // who asks; with [ClaimVerify] and no key, the run whose claim is meant
	Key     fleet.Key     `json:"key,omitempty"`
	Holder  fleet.Holder  `json:"holder,omitempty"` // with [ClaimVerify] empty: anybody
	Named   bool          `json:"named,omitempty"`  // the holder was named, so that taking again renews
	Epoch   fleet.Epoch   `json:"epoch,omitempty"`
	TTL     time.Duration `json:"ttl,omitempty"`
	Note    string        `json:"note,omitempty"`
	Ending  fleet.Ending  `json:"ending,omitempty"`
	Reason  string        `json:"reason,omitempty"`
	DryRun  bool          `json:"dry_run,omitempty"`

	Task   fleet.TaskID    `json:"task,omitempty"`
	Draft  *Draft          `json:"draft,omitempty"`
	Result json.RawMessage `json:"result,omitempty"` // what the result file is to say
}

// Draft is a task to add, in the words of the command line.
type Draft struct {
	ID         string   `json:"id,omitempty"`
	Title      string   `json:"title"`
	Body       string   `json:"body,omitempty"`
	Category   string   `json:"category,omitempty"`
	Priority   string   `json:"priority,omitempty"`
	State      string   `json:"state,omitempty"`
	NextAction string   `json:"next_action,omitempty"`
	DoneWhen   string   `json:"done_when,omitempty"`
	Wait       string   `json:"wait,omitempty"`
	Tags       []string `json:"tags,omitempty"`
	Requires   []string `json:"requires,omitempty"`
}

// Answer has the result of a request.
type Answer struct {
	Version int         `json:"version"`
	Grant   fleet.Grant `json:"grant,omitempty"` // of [ClaimTake]
	Claim   fleet.Claim `json:"claim,omitzero"`  // of a verb about claims; [fleet.Denied]: the one in the way
	Task    *Task       `json:"task,omitempty"`
	Path    string      `json:"path,omitempty"` // of the result file
	Note    string      `json:"note,omitempty"` // what the caller may have missed
	Fault   *fault      `json:"fault,omitempty"`
}

// Task is a task as it stands.
type Task struct {
	fleet.Task
	Blocked   string // why an open task is not workable
	StateFrom string // where its state is from, if its source says another
}

// fault is an error on its way to the one who asked.
type fault struct {
	Kind string `json:"kind"` // which of the errors that callers branch on it wraps; empty: none
	Text string `json:"text"`
	Hint string `json:"hint,omitempty"`
}

// kinds are the errors that callers branch on, by the word for each.
func kinds() map[string]error {
	return map[string]error{
		"usage": fleet.ErrUsage, "not found": fleet.ErrNotFound, "nothing": fleet.ErrNothing,
		"held": fleet.ErrHeld, "lost": fleet.ErrLost, "busy": fleet.ErrBusy,
	}
}

func newFault(err error) *fault {
	f := fault{Text: err.Error(), Hint: fleet.Hint(err)}
	for kind, known := range kinds() {
		if errors.Is(err, known) {
			f.Kind = kind
		}
	}
	return &f
}

// faultError is a fault that has arrived.
type faultError struct{ fault }

func (e faultError) Error() string { return e.Text }

func (e faultError) Unwrap() error { return kinds()[e.Kind] }

const (
	// maxKeys bounds how many keys one session may claim beside its own: each is a row of the
	// store for ever.
	maxKeys = 100
	// maxTasks bounds how many tasks one session may add: each is a file, and work for others.
	maxTasks = 100
)

// Session is whose door it is, and what it has asked for so far.
type Session struct {
	Run fleet.RunID
	Key fleet.Key     // of its own claim
	TTL time.Duration // of its own claim

	keys  map[fleet.Key]bool // that it asked for, beside its own
	tasks int
}

// Admit is a request as it may be answered for the session, or why it may not be. It
// refuses once more all that the flags of the command line refuse: another program may have
// written the request.
//
// The session's own claim is the supervisor's to keep: the claim ends with the run. Its agent may
// renew it, for as long as the supervisor does, and cannot give it back: another session could
// then begin at the task while this one is at work.
func (s *Session) Admit(q Request) (Request, error) {
	if q.Version != version {
		return q, fmt.Errorf("version %d: the session's socket is of another version of stint, with %d: %w", q.Version, version, fleet.ErrUsage)
	}
	if q.Run != "" && q.Run != s.Run {
		return q, fmt.Errorf("run %s: this is the socket of run %s: %w", q.Run, s.Run, fleet.ErrUsage)
	}
	q.Run = s.Run
	if err := s.check(q); err != nil {
		return q, fleet.WithHint(fmt.Errorf("%w: %w", err, fleet.ErrUsage), fleet.Hint(err))
	}
	switch q.Verb {
	case ClaimVerify:
		q.Holder = s.Run.Holder()
	case ClaimTake, ClaimRenew:
		if q.Key == s.Key {
			q.TTL = s.TTL
		}
	case TaskAdd:
		if !q.DryRun {
			s.tasks++
		}
	case ClaimRelease, TaskShow, Result:
	}
	if q.Verb == ClaimTake && q.Key != s.Key && !q.DryRun {
		if s.keys == nil {
			s.keys = map[fleet.Key]bool{}
		}
		s.keys[q.Key] = true
	}
	return q, nil
}

// check says what is wrong with a request.
func (s *Session) check(q Request) error {
	switch q.Verb {
	case ClaimVerify:
		if q.Key == "" {
			return nil // its own
		}
		return s.checkKey(q.Key)
	case ClaimTake, ClaimRenew, ClaimRelease:
		return s.checkClaim(q)
	case TaskAdd:
		if q.Draft == nil {
			return errors.New("no task to add")
		}
		if s.tasks >= maxTasks {
			return fmt.Errorf("this session has added %d tasks, and may add no more", s.tasks)
		}
		return nil
	case TaskShow:
		_, err := fleet.ParseTaskID(string(q.Task))
		return err
	case Result:
		return nil // it is read before the file is written
	}
	return fmt.Errorf("%q: a session may not ask for that", q.Verb)
}

// checkKey refuses what is no key. The claim of a session without a task is on its lane.
func (s *Session) checkKey(key fleet.Key) error {
	if key == s.Key {
		return nil
	}
	_, err := fleet.ParseKey(string(key))
	return err
}

func (s *Session) checkClaim(q Request) error {
	if err := s.checkKey(q.Key); err != nil {
		return err
	}
	for _, given := range [][2]string{{"note", q.Note}, {"reason", q.Reason}} {
		if _, err := fleet.ParseText(given[0], given[1]); err != nil {
			return err
		}
	}
	endings := []fleet.Ending{fleet.EndingReleased, fleet.EndingDone, fleet.EndingAbandoned}
	switch {
	case q.Holder != s.Run.Holder():
		return fleet.WithHint(fmt.Errorf("holder %s: a session has claims under its own name alone, %s", q.Holder, s.Run.Holder()), "leave out --holder")
	case q.Verb == ClaimRelease && q.Key == s.Key:
		return fleet.WithHint(fmt.Errorf("%q is the claim of this session, and ends with it", q.Key), "to give the task up, say how it went with stint result, and exit")
	case q.Verb == ClaimRelease && !slices.Contains(endings, q.Ending):
		return fmt.Errorf("ending %q: want one of %s", q.Ending, fleet.Listed(endings))
	case q.Verb != ClaimRelease && q.TTL < time.Millisecond:
		return fmt.Errorf("ttl %s: want a millisecond or more", q.TTL)
	case q.Verb == ClaimTake && q.Key != s.Key && !s.keys[q.Key] && len(s.keys) >= maxKeys:
		return fmt.Errorf("this session has claimed %d keys beside its own, and may claim no other", len(s.keys))
	}
	return nil
}
