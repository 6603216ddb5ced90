package rank

import (
	"bytes"
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

// foreignPayload is the part of a payload that a fire reads; other fields are ignored.
type foreignPayload struct {
	Schema                string           `json:"schema"`
	Selected              *foreignChoice   `json:"selected"`
	DiversityAlternatives []*foreignChoice `json:"diversity_alternatives"`
	Alternatives          []*foreignChoice `json:"alternatives"`
	AllScores             any              `json:"all_scores"`
}

// foreignChoice names a category, unless it or its category is null. They are pointers, for where
// a key is given twice, a null has to undo what came before.
type foreignChoice struct {
	Category *string `json:"category"`
	ID       any     `json:"id"` // of the task that is to come first: text, or a tracker's number
}

// ParsePayload reads the categories out of a payload, stint's own or another
// selector's. A null counts as absent. Text that is not JSON, or a value of the wrong type, is
// an error that names the field and the place and wraps [fleet.ErrUsage].
func ParsePayload(data []byte) (Request, error) {
	if bad := plain.Invalid(data); bad >= 0 {
		return Request{}, fmt.Errorf("payload: not valid UTF-8 at %s: %w", position(data, int64(bad)+1), fleet.ErrUsage)
	}
	if string(bytes.TrimSpace(data)) == "null" {
		return Request{}, fmt.Errorf("payload: want an object, got null: %w", fleet.ErrUsage)
	}
	var p foreignPayload
	if err := json.Unmarshal(data, &p); err != nil {
		return Request{}, payloadError(data, err)
	}
	scores, err := parseScores(p.AllScores)
	if err != nil {
		return Request{}, fmt.Errorf("payload: %w: %w", err, fleet.ErrUsage)
	}
	foreign := p.Schema != Schema
	var r Request
	if p.Selected != nil && p.Selected.Category != nil && *p.Selected.Category != "" {
		if r.Task, err = taskOf(p.Selected.ID); err != nil {
			return Request{}, fmt.Errorf("payload: %w: %w", err, fleet.ErrUsage)
		}
	}
	r.Unread = !ranks(data)
	var g gathering
	g.choices(fleet.FromSelected, p.Selected)
	g.choices(fleet.FromDiversity, p.DiversityAlternatives...)
	g.choices(fleet.FromAlternatives, p.Alternatives...)
	for _, s := range scores {
		if s.Score > 0 || !foreign {
			g.add(string(s.Category), fleet.FromScores)
		}
	}
	r.Categories = g.list
	return r, nil
}

// ranks reports whether a payload has any field of a ranking, be it empty or null.
func ranks(data []byte) bool {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(data, &fields) // it was read before
	for name := range fields {
		if slices.Contains([]string{"selected", "diversity_alternatives", "alternatives", "all_scores"}, strings.ToLower(name)) {
			return true
		}
	}
	return false
}

// taskOf reads the id of the selected task; null and "" count as absent.
func taskOf(id any) (fleet.TaskID, error) {
	switch id := id.(type) {
	case nil:
		return "", nil
	case string:
		return fleet.TaskID(id), nil
	case float64:
		return fleet.TaskID(strconv.FormatFloat(id, 'f', -1, 64)), nil
	}
	return "", fmt.Errorf("field selected.id: want text, got %s", kind(id))
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

func (g *gathering) choices(source fleet.Source, list ...*foreignChoice) {
	for _, c := range list {
		if c != nil && c.Category != nil {
			g.add(*c.Category, source)
		}
	}
}

// parseScores reads a map of scores, or a list of {category, score}, best first.
func parseScores(v any) ([]CategoryScore, error) {
	var scores []CategoryScore
	switch v := v.(type) {
	case nil:
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) { // so that of several errors it is always the same
			score, err := number(v[name], "all_scores."+name)
			if err != nil {
				return nil, err
			}
			scores = append(scores, CategoryScore{fleet.Category(name), score})
		}
	case []any:
		for i, item := range v {
			score, err := parseScore(item, fmt.Sprintf("all_scores[%d]", i))
			if err != nil {
				return nil, err
			}
			scores = append(scores, score)
		}
	default:
		return nil, fmt.Errorf("field all_scores: want an object or a list, got %s", kind(v))
	}
	slices.SortStableFunc(scores, func(a, b CategoryScore) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Category, b.Category))
	})
	return scores, nil
}

func parseScore(item any, place string) (CategoryScore, error) {
	fields, ok := item.(map[string]any)
	if !ok {
		return CategoryScore{}, fmt.Errorf("field %s: want an object, got %s", place, kind(item))
	}
	name, ok := fields["category"].(string)
	if !ok {
		return CategoryScore{}, fmt.Errorf("field %s.category: want text, got %s", place, kind(fields["category"]))
	}
	score, err := number(fields["score"], place+".score")
	return CategoryScore{fleet.Category(name), score}, err
}

// number reads a score; null counts as 0.
func number(v any, place string) (float64, error) {
	switch v := v.(type) {
	case nil:
		return 0, nil
	case float64:
		return v, nil
	default:
		return 0, fmt.Errorf("field %s: want a number, got %s", place, kind(v))
	}
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

// payloadError says where in the payload it went wrong.
func payloadError(data []byte, err error) error {
	var (
		syntax *json.SyntaxError
		typed  *json.UnmarshalTypeError
	)
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("payload: %s: not JSON: %w: %w", position(data, syntax.Offset), err, fleet.ErrUsage)
	case errors.As(err, &typed):
		field := typed.Field
		if field == "" {
			field = "payload"
		}
		return fmt.Errorf("payload: %s: field %s: want %s, got %s: %w",
			position(data, typed.Offset), field, typeName(typed), typed.Value, fleet.ErrUsage)
	default:
		return fmt.Errorf("payload: %w: %w", err, fleet.ErrUsage)
	}
}

// typeName says in JSON's words what was expected.
func typeName(e *json.UnmarshalTypeError) string {
	switch e.Type.Kind().String() {
	case "string":
		return "text"
	case "slice":
		return "a list"
	case "float64":
		return "a number that fits 64 bits"
	default:
		return "an object"
	}
}

// position is the place of the byte before an offset, which the decoder has just read.
func position(data []byte, offset int64) string {
	line, column := plain.Position(data, int(min(max(offset-1, 0), int64(len(data)))))
	return fmt.Sprintf("line %d, column %d", line, column)
}
