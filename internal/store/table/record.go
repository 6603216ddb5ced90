package table

import (
	"stint/internal/fleet"
	"stint/internal/store/book"
)

// Fires is every fire that ever was.
func Fires() Table[book.Fire] {
	return Table[book.Fire]{"fires", 1, func(f *book.Fire) []Column {
		return []Column{
			{"id", &f.ID},
			{"host", &f.Host},
			{"at", When(&f.At)},
			{"seed", Decimal{&f.Seed}},
			{"pool", &f.Pool},
			{"workers", &f.Workers},
			{"due", JSON{&f.Due, "{}"}},
			{"inputs", Raw{&f.Inputs}},
			{"selection", Raw{&f.Selection}},
			{"own", Flag{&f.Own}},
			{"allowed", JSON{&f.Allowed, "[]"}},
			{"fallback", &f.Fallback},
			{"rounds", JSON{&f.Rounds, "{}"}},
			{"attempt", Word{&f.Attempt}},
		}
	}}
}

// Choices is the decisions of fires.
func Choices() Table[book.Choice] {
	return Table[book.Choice]{"choices", 2, func(c *book.Choice) []Column {
		return []Column{
			{"fire", &c.Fire},
			{"place", &c.Place},
			{"category", &c.Category},
			{"decision", &c.Decision},
			{"reason", &c.Reason},
			{"refusal", &c.Refusal},
			{"hindrance", &c.By},
			{"source", &c.Source},
			{"rank", &c.Rank},
			{"score", &c.Score},
			{"odds", &c.Odds},
			{"agent", &c.Agent},
			{"task", &c.Task},
			{"unit", &c.Unit},
			{"run", &c.Run},
		}
	}}
}

// Uses is the lessons that matched runs.
func Uses() Table[book.LessonUse] {
	return Table[book.LessonUse]{"run_lessons", 2, func(u *book.LessonUse) []Column {
		return []Column{
			{"run", &u.Run},
			{"lesson", &u.Lesson},
			{"version", &u.Version},
			{"injected", Flag{&u.Injected}},
		}
	}}
}

// Changes is where grades were found to have changed. Fire and category are those of the run.
func Changes() Table[fleet.GradeChange] {
	return Table[fleet.GradeChange]{"grade_changes", 1, func(c *fleet.GradeChange) []Column {
		return []Column{
			{"run", &c.Run},
			{"at", When(&c.At)},
			{"was", &c.Was},
			{"became", &c.Became},
		}
	}}
}

// Spent is the use of each day, by scope.
func Spent() Table[book.Spent] {
	return Table[book.Spent]{"spent", 2, func(s *book.Spent) []Column {
		return []Column{
			{"day", &s.Day},
			{"scope", &s.Scope},
			{"runs", &s.Runs},
			{"tokens", &s.Tokens},
			{"usd", &s.USD},
			{"guessed", &s.Guessed},
		}
	}}
}

// Reviews is what was decided of the work of runs, and how it was checked.
func Reviews() Table[fleet.Review] {
	return Table[fleet.Review]{"reviews", 1, func(r *fleet.Review) []Column {
		return []Column{
			{"run", &r.Run},
			{"tip", &r.Tip},
			{"decision", &r.Decision},
			{"reason", &r.Reason},
			{"url", &r.URL},
			{"decided_at", When(&r.DecidedAt)},
			{"checked_tip", &r.Check.Tip},
			{"check_ok", Flag{&r.Check.OK}},
			{"check_reason", &r.Check.Reason},
			{"checked_at", When(&r.Check.At)},
		}
	}}
}

// Feedback is what was said of the work of runs.
func Feedback() Table[fleet.Feedback] {
	return Table[fleet.Feedback]{"feedback", 1, func(f *fleet.Feedback) []Column {
		return []Column{
			{"run", &f.Run},
			{"task", &f.Task},
			{"rounds", &f.Rounds},
			{"seen", Words{&f.Seen}},
			{"said", &f.Said},
			{"at", When(&f.At)},
		}
	}}
}

// Places is the places in review.
func Places() Table[book.Place] {
	return Table[book.Place]{"places", 1, func(p *book.Place) []Column {
		return []Column{
			{"run", &p.Run},
			{"taken_at", When(&p.TakenAt)},
			{"looked_at", When(&p.LookedAt)},
			{"given_at", When(&p.GivenAt)},
		}
	}}
}

// Notices is when people last got which news.
func Notices() Table[book.Notice] {
	return Table[book.Notice]{"notices", 2, func(n *book.Notice) []Column {
		return []Column{
			{"event", &n.Event},
			{"subject", &n.Subject},
			{"at", When(&n.At)},
		}
	}}
}

// Holds is every hold of a lane.
func Holds() Table[book.Hold] {
	return Table[book.Hold]{"lane_holds", 4, func(h *book.Hold) []Column {
		return []Column{
			{"run", &h.Run},
			{"category", &h.Category},
			{"lane", &h.Lane},
			{"acquired_at", When(&h.AcquiredAt)},
			{"released_at", When(&h.ReleasedAt)},
			{"host", &h.Host},
		}
	}}
}

// Checkpoints is what arms were.
func Checkpoints() Table[book.Checkpoint] {
	return Table[book.Checkpoint]{"checkpoints", 2, func(c *book.Checkpoint) []Column {
		return []Column{
			{"category", &c.Category},
			{"seq", &c.Seq},
			{"alarm", Flag{&c.Alarm}},
			{"settings", JSON{&c.Settings, ""}},
			{"arm", JSON{&c.Arm, ""}},
			{"graded", &c.Arm.Graded},
			{"sessions", &c.Arm.Sessions},
		}
	}}
}

// Denials is every claim that a run was denied.
func Denials() Table[fleet.DeniedClaim] {
	return Table[fleet.DeniedClaim]{"denials", 5, func(d *fleet.DeniedClaim) []Column {
		return []Column{
			{"run", &d.Run},
			{"category", &d.Category},
			{"key", &d.Key},
			{"holder", &d.Holder},
			{"at", When(&d.At)},
		}
	}}
}

// Resets is what people struck out of accounts.
func Resets() Table[book.Reset] {
	return Table[book.Reset]{"resets", 0, func(r *book.Reset) []Column {
		return []Column{
			{"at", When(&r.At)},
			{"scope", &r.Scope},
			{"runs", &r.Runs},
			{"tokens", &r.Tokens},
			{"usd", &r.USD},
			{"kept_runs", &r.KeptRuns},
			{"kept_tokens", &r.KeptTokens},
			{"kept_usd", &r.KeptUSD},
			{"reason", &r.Reason},
		}
	}}
}

// Away is whether the reviewer is away.
func Away() Table[fleet.Away] {
	return Table[fleet.Away]{"away", 1, func(a *fleet.Away) []Column {
		one := 1
		return []Column{
			{"one", &one},
			{"since", When(&a.Since)},
			{"until", When(&a.Until)},
			{"reason", &a.Reason},
		}
	}}
}
