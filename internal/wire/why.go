package wire

import "stint/internal/why"

// Why is stint/why@1.
type Why struct {
	Schema    string        `json:"schema"`
	Kind      why.Kind      `json:"kind"`
	Subject   string        `json:"subject"`
	Verdict   string        `json:"verdict"`
	Also      []why.Kind    `json:"also"`      // other kinds of things that have the name
	Sentences []string      `json:"sentences"` // the whole answer, as it is read
	Obstacles []WhyObstacle `json:"obstacles"`
	Parts     []WhyPart     `json:"parts"`
}

// WhyObstacle is one thing in the way.
type WhyObstacle struct {
	Kind    string  `json:"kind"`
	Reason  string  `json:"reason"`
	Until   *string `json:"until"` // null: until something changes
	Change  string  `json:"change"`
	Command string  `json:"command"` // what to type for the change; empty: there is no one command
}

// WhyPart is sentences about one thing.
type WhyPart struct {
	Title     string   `json:"title"`
	Sentences []string `json:"sentences"`
}

// NewWhy is an answer of why, as JSON.
func NewWhy(a why.Answer, also []why.Kind) Why {
	return Why{
		Schema: "stint/why@1", Kind: a.Kind, Subject: a.Subject, Verdict: a.Verdict, Also: listed(also),
		Sentences: listed(a.Sentences()),
		Obstacles: each(a.Obstacles, func(b why.Obstacle) WhyObstacle {
			return WhyObstacle{string(b.Kind), b.Reason, Time(b.Until), b.Change, b.Command}
		}),
		Parts: each(a.Parts, func(p why.Part) WhyPart { return WhyPart(p) }),
	}
}
