package why

import (
	"fmt"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/rank"
)

// Fire has the facts about one fire.
type Fire struct {
	Fire           fleet.Fire
	Now            time.Time
	Selection      *rank.Selection // ranked again; nil: it cannot be
	Unread         string          // why not
	UsedOwnRanking bool            // stint's own ranking was
	Detail         rank.Detail     // of what is said of it
	Differences    int             // between the record and what comes out now
	Runs           []fleet.Run     // that are its own, oldest first
	Denials        map[fleet.RunID][]fleet.DeniedClaim
}

// Answer says who ranked, and of every category why it was started or skipped, and what
// became of it.
func (f Fire) Answer() Answer {
	started := f.Fire.Started()
	failed := f.categories(fleet.StartFailed)
	a := Answer{Kind: OfFire, Subject: fmt.Sprint(f.Fire.ID), Verdict: "nothing"}
	switch {
	case len(started) > 0 && len(failed) > 0:
		a.Verdict = "partly"
	case len(started) > 0:
		a.Verdict = "started"
	case len(failed) > 0:
		a.Verdict = "failed"
	}
	a.Lead = append(a.Lead, sentence("Fire %d of pool %s, at %s, started %s", f.Fire.ID, f.Fire.Pool, moment(f.Fire.At, f.Now), orNothing(started)))
	if len(failed) > 0 {
		a.Lead = append(a.Lead, sentence("The workers of %s did not start", listed(failed)))
	}
	a.add("How it chose", f.ranked()...)
	a.add("Category by category", f.choices()...)
	a.add("Sessions that followed", f.chains()...)
	return a
}

func orNothing(words []string) string {
	if len(words) == 0 {
		return "nothing"
	}
	return listed(words)
}

func (f Fire) categories(d fleet.Decision) (list []string) {
	for _, c := range f.Fire.Choices {
		if c.Decision == d {
			list = append(list, string(c.Category))
		}
	}
	return list
}

// ranked says who ranked, within which limits, and whether it comes out again.
func (f Fire) ranked() (list []string) {
	switch {
	case f.Fire.Fallback != "":
		list = append(list, sentence("The external selector was asked and not followed, so stint's own ranking was: %s", f.Fire.Fallback))
	case f.Selection == nil:
	case f.UsedOwnRanking:
		list = append(list, "Its ranking was stint's own.")
	default:
		list = append(list, "It followed another selector's ranking: of that, only the order is known.")
	}
	if f.Selection == nil {
		return append(list, sentence("It cannot be ranked again: %s", f.Unread))
	}
	if f.UsedOwnRanking && f.Selection.Alone() {
		return []string{limitOf(*f.Selection)}
	}
	if f.UsedOwnRanking {
		list = append(list, f.led())
	}
	list = append(list, limitOf(*f.Selection))
	if f.Selection.Extra || !f.Selection.Moves() && len(f.categories(fleet.Skip)) == len(f.Fire.Choices) {
		list = append(list, "It did not count as a fire of its pool's schedule: no belief faded, and no back-off came closer to its end.")
	}
	if f.Differences > 0 {
		return append(list, sentence("Ranked again from the record, it comes out differently: stint replay %d shows how", f.Fire.ID))
	}
	return append(list, "Ranked again from the record, it comes out the same, bit for bit.")
}

// led says what kind of work it led with.
func (f Fire) led() string {
	if len(f.Selection.Ranked()) == 0 {
		return "No category could be started."
	}
	switch f.Selection.Tier {
	case rank.TierActive:
		return "Its first choice was a task that a session had begun."
	case rank.TierReady:
		return "Its first choice was a task that no session had begun."
	case rank.TierCategories:
	}
	return "Its first choice was a category without a task."
}

func limitOf(s rank.Selection) string {
	if s.Closed != "" {
		return sentence("It was to start nothing at all: %s", s.Closed)
	}
	return sentence("It was to start %d at most, and %s", s.Workers, free(s.Free))
}

func free(slots int) string {
	switch slots {
	case 0:
		return "no slot was free"
	case 1:
		return "1 slot was free"
	}
	return fmt.Sprintf("%d slots were free", slots)
}

// choices is one sentence or more about every category, in order of decision.
func (f Fire) choices() (list []string) {
	said := f.Sentences()
	for _, c := range f.Fire.Choices {
		list = append(list, f.choice(c, said[c.Category]))
	}
	return list
}

// Sentences explains the fire's own ranking, by category. There are none if the ranking
// was not followed.
func (f Fire) Sentences() map[fleet.Category]string {
	said := map[fleet.Category]string{}
	if f.Selection == nil || !f.UsedOwnRanking {
		return said
	}
	list := f.Selection.Sentences(f.Detail)
	list = list[len(list)-len(f.Selection.Scores):] // without the sentences on the whole fire
	for i, c := range f.Selection.Scores {
		said[c.Category] = list[i]
	}
	return said
}

func (f Fire) choice(c fleet.Choice, ranked string) string {
	switch c.Decision {
	case fleet.Skip:
		switch {
		case c.Rank == 0, ranked == "":
			return sentence("%s was skipped: %s", c.Category, c.Reason)
		default:
			return sentence("%s It was skipped: %s", ranked, c.Refusal)
		}
	case fleet.StartFailed:
		return strings.TrimSpace(fmt.Sprintf("%s %s", ranked, sentence("%s was to be started, and its unit did not start: %s", c.Category, c.Reason)))
	case fleet.Spawn:
	}
	text := ranked
	if text == "" {
		text = sentence("%s was started: %s", c.Category, c.Reason)
	}
	return text + " " + f.became(c)
}

// became says what came of a run that was started.
func (f Fire) became(c fleet.Choice) string {
	for _, r := range f.Runs {
		if r.ID == c.Run {
			return fate(r, c.Category, f.Denials[r.ID], f.Now)
		}
	}
	return sentence("Nothing is on record of its run %s", orDash(string(c.Run)))
}

// fate tells how one run of a fire went on: its denials, its categories and its end.
func fate(r fleet.Run, planned fleet.Category, denials []fleet.DeniedClaim, now time.Time) string {
	text := fmt.Sprintf("Run %s", r.ID)
	for _, d := range denials {
		text += fmt.Sprintf(" was denied %q by %s,", d.Key, d.Holder)
	}
	if r.Category != planned {
		text += fmt.Sprintf(" went on to %s,", r.Category)
	}
	if r.Task != "" {
		text += fmt.Sprintf(" took %q", r.Task)
	}
	text = strings.TrimSuffix(text, ",")
	switch {
	case r.EndedAt.IsZero() && r.StartedAt.IsZero():
		return sentence("%s has not begun", joined(text))
	case r.EndedAt.IsZero():
		return sentence("%s is under way since %s", joined(text), moment(r.StartedAt, now))
	case r.Final() != nil:
		return sentence("%s ended %s with grade %.3f%s", joined(text), r.Verdict.Outcome, *r.Final(), tail(r.Verdict.Reason))
	}
	return sentence("%s ended %s%s", joined(text), r.Verdict.Outcome, tail(r.Verdict.Reason))
}

// joined readies a sentence about a run for its last verb.
func joined(text string) string {
	if strings.Count(text, " ") > 1 {
		return text + " and"
	}
	return text
}

// chains are the runs that a good session of the fire brought on.
func (f Fire) chains() (list []string) {
	for _, r := range f.Runs {
		if r.Source == fleet.FromRespawn {
			list = append(list, fate(r, r.Category, f.Denials[r.ID], f.Now))
		}
	}
	return list
}

// Nothing says why a fire started nothing: each reason with what it kept back. It is empty
// where the fire started something.
func Nothing(f fleet.Fire) string {
	if len(f.Started()) > 0 {
		return ""
	}
	var reasons []string
	kept := map[string][]string{}
	for _, c := range f.Choices {
		reason := brief(c)
		if len(kept[reason]) == 0 {
			reasons = append(reasons, reason)
		}
		kept[reason] = append(kept[reason], string(c.Category))
	}
	for i, reason := range reasons {
		reasons[i] = fmt.Sprintf("%s (%s)", reason, listed(kept[reason]))
	}
	return strings.Join(reasons, "; ")
}
