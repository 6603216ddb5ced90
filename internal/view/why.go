package view

import (
	"time"

	"stint/internal/explain/why"
	"stint/internal/fleet"
)

// Why shows an answer of "stint why". Also lists other kinds of things with that name.
func Why(also []why.Kind) View[why.Answer] {
	type answer = why.Answer
	return View[answer]{
		Schema[answer]("stint/why@1"),
		Enum("kind", "", "", why.Kinds(), func(a answer) why.Kind { return a.Kind }),
		Word("subject", "", "", func(a answer) string { return a.Subject }),
		Word("verdict", "", "", func(a answer) string { return a.Verdict }),
		Texts("also", "", "other kinds of things that have the name", func(answer) []why.Kind { return also }),
		Texts("sentences", "", "the whole answer, as it is read", answer.Sentences),
		Each("obstacles", "what is in the way", View[why.Obstacle]{
			Word("kind", "", `not-asked-for, unknown-category, pool, host, not-allowed, paused, review, untrusted, agent, clone, agent-busy, budget,
				lane-busy, cooldown, source, no-task, backoff, machine, no-slot, beyond-workers, taken-since, claimed, rests, overlap, waiting, wait,
				requires, state, unreadable or waits-for-person`,
				func(o why.Obstacle) fleet.Hindrance { return o.Kind }),
			Text("reason", "", "", func(o why.Obstacle) string { return o.Reason }),
			At("until", "", "null: until something changes", func(o why.Obstacle) time.Time { return o.Until }).OrNull(),
			Text("change", "", "", func(o why.Obstacle) string { return o.Change }),
			Text("command", "", "what to type for the change; empty: there is no one command", func(o why.Obstacle) string { return o.Command }),
		}, func(a answer) []why.Obstacle { return a.Obstacles }),
		Each("parts", "sentences about one thing", View[why.Part]{
			Text("title", "", "", func(p why.Part) string { return p.Title }),
			Texts("sentences", "", "", func(p why.Part) []string { return p.Sentences }),
		}, func(a answer) []why.Part { return a.Parts }),
	}
}
