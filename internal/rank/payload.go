package rank

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Schema names the payload's format and version.
const Schema = "stint/selection@1"

// Payload is a selection as it travels. Field order is the printed order.
type Payload struct {
	Schema                string             `json:"schema" doc:"stint/selection@1"`
	Tier                  Tier               `json:"tier" doc:"1: a begun task to resume; 2: a task to begin; 3: none"`
	Seed                  string             `json:"seed" doc:"decimal: JSON numbers lose the upper bits"`
	At                    time.Time          `json:"at"`
	Selected              *Selected          `json:"selected" doc:"null: nothing to do"`
	DiversityAlternatives []CategoryScore    `json:"diversity_alternatives" doc:"the next categories, best first"`
	Alternatives          []Alternative      `json:"alternatives" doc:"their next tasks"`
	BlockedTasks          []BlockedTask      `json:"blocked_tasks"`
	AllScores             map[string]float64 `json:"all_scores"`
	Explain               map[string]Explain `json:"explain" doc:"what each score is made of, by category"`
}

// Selected is the category to start first, with the task it would begin with.
type Selected struct {
	ID         fleet.TaskID    `json:"id,omitempty"`
	Category   fleet.Category  `json:"category"`
	State      fleet.TaskState `json:"state,omitempty"`
	Reason     string          `json:"reason"`
	NextAction string          `json:"next_action,omitempty"`
}

// CategoryScore is a category with what it was ranked by.
type CategoryScore struct {
	Category fleet.Category `json:"category"`
	Score    float64        `json:"score"`
}

// Alternative is the next task of a category that was not selected.
type Alternative struct {
	ID       fleet.TaskID   `json:"id"`
	Category fleet.Category `json:"category"`
}

// BlockedTask is an open task that cannot be worked on.
type BlockedTask struct {
	ID        fleet.TaskID   `json:"id"`
	Category  fleet.Category `json:"category"`
	Reason    string         `json:"reason"`
	Holder    fleet.Holder   `json:"holder,omitempty"`
	ExpiresAt *time.Time     `json:"expires_at,omitempty"`
}

// Explain has the terms of a category's score. Scores and their parts are in units
// of grade, debts in sessions.
type Explain struct {
	In       bool    `json:"in"`
	Reason   string  `json:"reason"`
	Alpha    float64 `json:"alpha"`
	Beta     float64 `json:"beta"`
	Mean     float64 `json:"mean"`
	Low      float64 `json:"low" doc:"the 95 % credible interval of the mean, to 6 decimals"`
	High     float64 `json:"high"`
	TS       float64 `json:"ts"`
	LOO      float64 `json:"loo"`
	Season   float64 `json:"season"`
	Plateau  float64 `json:"plateau"`
	Div      float64 `json:"div"`
	Price    float64 `json:"price,omitempty"` // of what its sessions use, where that binds
	Score    float64 `json:"score"`
	Share    float64 `json:"share" doc:"relative to the others'"`
	Due      float64 `json:"due" doc:"sessions of this fire it is entitled to"`
	Deficit  float64 `json:"deficit"`
	Surplus  float64 `json:"surplus"`
	Sessions int     `json:"sessions"`
	Entitled float64 `json:"entitled"`
	Changes  int     `json:"changes" doc:"found in its grades, after each of which it was learnt anew"`
	Tasks    int     `json:"tasks"`
}

// Explain says what the score is made of.
func (c Score) Explain(s Settings) Explain {
	e := Explain{
		In: c.In, Reason: c.Reason(), Alpha: c.Beta.A, Beta: c.Beta.B, Mean: c.Beta.Mean(),
		TS: c.TS, LOO: c.Components.LOO, Season: c.Season, Plateau: c.Plateau, Div: c.Div, Price: c.Price(), Score: c.Value,
		Share: c.Share, Due: c.Due, Sessions: c.Arm.Sessions, Entitled: c.Arm.Entitled, Changes: c.Arm.Alarms, Tasks: c.Tasks,
	}
	low, high := c.Belief.Credible()
	e.Low, e.High = millionths(low), millionths(high)
	e.Deficit, e.Surplus = c.Arm.Settled(s)
	return e
}

// millionths rounds what is shown, and computed with roundings of the processor's own: a
// payload is compared byte for byte when its fire is replayed.
func millionths(x float64) float64 { return math.Round(float64(x*1e6)) / 1e6 }

// Payload writes the selection down.
func (s Selection) Payload() Payload {
	p := Payload{
		Schema: Schema, Tier: s.Tier, Seed: strconv.FormatUint(s.Seed, 10), At: s.At.UTC().Truncate(time.Second),
		DiversityAlternatives: []CategoryScore{}, Alternatives: []Alternative{}, BlockedTasks: []BlockedTask{},
		AllScores: map[string]float64{}, Explain: map[string]Explain{},
	}
	for i, c := range s.Ranked() {
		p.AllScores[string(c.Category)] = c.Value
		if i == 0 {
			p.Selected = selected(c)
			continue
		}
		p.DiversityAlternatives = append(p.DiversityAlternatives, CategoryScore{c.Category, c.Value})
		if c.Next != nil {
			p.Alternatives = append(p.Alternatives, Alternative{c.Next.ID, c.Category})
		}
	}
	for _, c := range s.Scores {
		p.Explain[string(c.Category)] = c.Explain(s.Settings)
	}
	p.BlockedTasks = append(p.BlockedTasks, s.Blocked...)
	return p
}

func selected(c Score) *Selected {
	s := &Selected{Category: c.Category, Reason: c.Reason()}
	if c.Next != nil {
		s.ID, s.State, s.NextAction = c.Next.ID, c.Next.State, c.Next.NextAction
	}
	return s
}

func blockedTask(b Blocked) BlockedTask {
	t := BlockedTask{ID: b.Task.ID, Category: b.Task.Category, Reason: b.Reason}
	if b.Claim != nil {
		t.Holder, t.ExpiresAt = b.Claim.Holder, &b.Claim.ExpiresAt
	}
	return t
}

// Named is a category as a payload spells it, known or not, and the part of the
// payload that named it.
type Named struct {
	Category string
	Source   fleet.Source
}

// Request has a payload's categories in order, each once.
type Request struct {
	Unread     bool // the payload has no field of a ranking: it says nothing, not even that nothing is to start
	Categories []Named
	Task       fleet.TaskID // selected.id, with which a session of the selected category is to begin; empty: none
}

// ParsePayload reads the categories out of a payload, stint's own or another
// selector's. A null counts as absent. Text that is not JSON, or a value of the wrong type, is
// an error that names the place or the field and wraps [fleet.ErrUsage].
func ParsePayload(data []byte) (Request, error) {
	var p reading
	r := p.request(data)
	if p.wrong != nil {
		return Request{}, fmt.Errorf("payload: %w: %w", p.wrong, fleet.ErrUsage)
	}
	return r, nil
}

// reading is a payload that is being read.
type reading struct {
	gathering
	wrong error // the first thing that is
}

func (p *reading) fail(format string, args ...any) {
	if p.wrong == nil {
		p.wrong = fmt.Errorf(format, args...)
	}
}

func (p *reading) request(data []byte) (r Request) {
	fields := p.decode(data)
	foreign := want[string](p, fields["schema"], "schema", "text") != Schema
	selected := want[map[string]any](p, fields["selected"], "selected", "an object")
	if name := p.category(selected, "selected"); name != "" {
		p.add(name, fleet.FromSelected)
		if number, is := selected["id"].(float64); is { // a tracker's
			selected["id"] = strconv.FormatFloat(number, 'f', -1, 64)
		}
		r.Task = fleet.TaskID(want[string](p, selected["id"], "selected.id", "text"))
	}
	for _, source := range []fleet.Source{fleet.FromDiversity, fleet.FromAlternatives} {
		part := string(source)
		for i, item := range want[[]any](p, fields[part], part, "a list") {
			p.add(p.category(item, fmt.Sprintf("%s[%d]", part, i)), source)
		}
	}
	for _, s := range p.scores(fields["all_scores"]) {
		if s.Score > 0 || !foreign {
			p.add(string(s.Category), fleet.FromScores)
		}
	}
	r.Unread = !slices.ContainsFunc([]string{"selected", "diversity_alternatives", "alternatives", "all_scores"}, func(name string) bool {
		_, is := fields[name]
		return is
	})
	r.Categories = p.list
	return r
}

func (p *reading) decode(data []byte) map[string]any {
	if bad := plain.Invalid(data); bad >= 0 {
		p.fail("not valid UTF-8 at %s", position(data, int64(bad)+1))
	}
	var whole any
	err := json.Unmarshal(data, &whole)
	if syntax, is := errors.AsType[*json.SyntaxError](err); is {
		p.fail("%s: not JSON: %w", position(data, syntax.Offset), err)
	} else if number, is := errors.AsType[*json.UnmarshalTypeError](err); is {
		p.fail("%s: want a number that fits 64 bits, got %s", position(data, number.Offset), number.Value)
	} else if whole == nil {
		p.fail("want an object, got null")
	}
	return want[map[string]any](p, whole, "payload", "an object")
}

// want is a value of a type, which is what; zero: it is null, or wrong.
func want[T any](p *reading, v any, place, what string) T {
	t, is := v.(T)
	if !is && v != nil {
		p.fail("field %s: want %s, got %s", place, what, kind(v))
	}
	return t
}

// category is the name in an object.
func (p *reading) category(item any, place string) string {
	return want[string](p, want[map[string]any](p, item, place, "an object")["category"], place+".category", "text")
}

// scores reads a map of scores, or a list of {category, score}, best first.
func (p *reading) scores(v any) (scores []CategoryScore) {
	add := func(name string, score any, place string) {
		scores = append(scores, CategoryScore{fleet.Category(name), want[float64](p, score, place, "a number")})
	}
	if list, is := v.([]any); is {
		for i, item := range list {
			place := fmt.Sprintf("all_scores[%d]", i)
			name := p.category(item, place)
			fields, _ := item.(map[string]any)
			if fields["category"] == nil {
				p.fail("field %s.category: want text, got null", place)
			}
			add(name, fields["score"], place+".score")
		}
	} else {
		all := want[map[string]any](p, v, "all_scores", "an object or a list")
		for _, name := range slices.Sorted(maps.Keys(all)) { // so that of several errors it is always the same
			add(name, all[name], "all_scores."+name)
		}
	}
	slices.SortStableFunc(scores, func(a, b CategoryScore) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Category, b.Category))
	})
	return scores
}

// Known checks that a request that names categories names one that there is.
func (r Request) Known(in Input) error {
	var names []string
	for _, n := range r.Categories {
		if in.Of(fleet.Category(n.Category)) != nil {
			return nil
		}
		names = append(names, strconv.Quote(n.Category))
	}
	if len(names) == 0 {
		return nil
	}
	const most = 5
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(" and %d more", len(names)-most)
		names = names[:most]
	}
	known := plain.Each(in.Candidates, func(c Candidate) string { return string(c.Category) })
	return fleet.WithHint(fmt.Errorf("payload: no category of this fleet is named, but %s%s: %w", strings.Join(names, ", "), more, fleet.ErrUsage),
		"the categories are "+strings.Join(known, ", "))
}

// Request returns the categories of stint's own payload.
func (p Payload) Request() Request {
	var g gathering
	if p.Selected != nil {
		g.add(string(p.Selected.Category), fleet.FromSelected)
	}
	for _, c := range p.DiversityAlternatives {
		g.add(string(c.Category), fleet.FromDiversity)
	}
	return Request{Categories: g.list}
}

// gathering is a list of categories in order, each once. A payload may name very
// many, hence the set.
type gathering struct {
	list []Named
	seen map[string]bool
}

func (g *gathering) add(name string, source fleet.Source) {
	if name == "" || g.seen[name] {
		return
	}
	if g.seen == nil {
		g.seen = map[string]bool{}
	}
	g.seen[name] = true
	g.list = append(g.list, Named{name, source})
}

// kind names a decoded JSON value's type as JSON does.
func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "text"
	case bool:
		return "a boolean"
	case float64:
		return "a number"
	case []any:
		return "a list"
	default:
		return "an object"
	}
}

// position is the place of the byte before an offset, which the decoder has just read.
func position(data []byte, offset int64) string {
	line, column := plain.Position(data, int(min(max(offset-1, 0), int64(len(data)))))
	return fmt.Sprintf("line %d, column %d", line, column)
}
