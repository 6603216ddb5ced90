package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"stint/internal/fleet"
)

// absent stands for what one side does not have.
const absent = "nothing"

func (r *Result) differ(field, recorded, replayed string) {
	r.Differences = append(r.Differences, Difference{field, recorded, replayed})
}

// compare compares two plain values of one type.
func (r *Result) compare(field string, recorded, replayed any) {
	if recorded != replayed {
		r.differ(field, fmt.Sprint(recorded), fmt.Sprint(replayed))
	}
}

// comparePayload compares two payloads byte for byte, and names the fields where they
// differ.
func (r *Result) comparePayload(recorded, replayed []byte) {
	if bytes.Equal(recorded, replayed) {
		return
	}
	before := len(r.Differences)
	a, errA := decode(recorded)
	b, errB := decode(replayed)
	if errA == nil && errB == nil {
		r.compareJSON("selection", a, b)
	}
	if len(r.Differences) == before { // the same fields, or no JSON: then it is how they are written
		at := 0
		for at < min(len(recorded), len(replayed)) && recorded[at] == replayed[at] {
			at++
		}
		r.differ(fmt.Sprintf("selection, from byte %d", at), excerpt(recorded[at:]), excerpt(replayed[at:]))
	}
}

// decode keeps numbers as they are written: their last digit may be what differs.
func decode(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// compareJSON names the fields in which two decoded values differ, in a fixed order.
func (r *Result) compareJSON(field string, recorded, replayed any) {
	switch a := recorded.(type) {
	case map[string]any:
		b, ok := replayed.(map[string]any)
		if !ok {
			break
		}
		names := maps.Clone(a)
		maps.Copy(names, b)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			x, inA := a[name]
			y, inB := b[name]
			r.compareParts(field+"."+name, x, y, inA, inB)
		}
		return
	case []any:
		b, ok := replayed.([]any)
		if !ok {
			break
		}
		for i := range max(len(a), len(b)) {
			var x, y any
			if i < len(a) {
				x = a[i]
			}
			if i < len(b) {
				y = b[i]
			}
			r.compareParts(fmt.Sprintf("%s[%d]", field, i), x, y, i < len(a), i < len(b))
		}
		return
	}
	if x, y := written(recorded), written(replayed); x != y {
		r.differ(field, x, y)
	}
}

func (r *Result) compareParts(field string, recorded, replayed any, inRecord, inReplay bool) {
	switch {
	case !inReplay:
		r.differ(field, written(recorded), absent)
	case !inRecord:
		r.differ(field, absent, written(replayed))
	default:
		r.compareJSON(field, recorded, replayed)
	}
}

// written is a decoded value as JSON.
func written(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return excerpt(text)
}

// excerpt bounds what is shown of a text.
func excerpt(text []byte) string {
	const most = 80
	if len(text) > most {
		return string(bytes.ToValidUTF8(text[:most], nil)) + "…"
	}
	return string(text)
}

// compareChoices compares the decisions. It leaves out what a failed start, or one who was quicker,
// has overwritten, and what only a real fire has: units and runs.
func (r *Result) compareChoices() {
	recorded := r.Fire.Choices
	for i := range max(len(recorded), len(r.Choices)) {
		field := fmt.Sprintf("choices[%d]", i)
		switch {
		case i >= len(recorded):
			r.differ(field, absent, decided(r.Choices[i]))
		case i >= len(r.Choices):
			r.differ(field, decided(recorded[i]), absent)
		case recorded[i].Category != r.Choices[i].Category:
			r.differ(field, decided(recorded[i]), decided(r.Choices[i]))
		default:
			r.compareChoice(fmt.Sprintf("%s (%s)", field, recorded[i].Category), recorded[i], r.Choices[i])
		}
	}
}

func (r *Result) compareChoice(field string, recorded, replayed fleet.Choice) {
	if wanted(recorded) && recorded.Decision != fleet.Spawn {
		recorded.Decision, recorded.Reason = fleet.Spawn, replayed.Reason
	}
	r.compare(field+".decision", recorded.Decision, replayed.Decision)
	r.compare(field+".source", recorded.Source, replayed.Source)
	r.compare(field+".rank", recorded.Rank, replayed.Rank)
	r.compare(field+".score", recorded.Score, replayed.Score)
	r.compare(field+".odds", odds(recorded), odds(replayed))
	r.compare(field+".reason", recorded.Reason, replayed.Reason)
}

func decided(c fleet.Choice) string { return fmt.Sprintf("%s %s", c.Decision, c.Category) }

// odds are a choice's odds to the last bit, or that there are none.
func odds(c fleet.Choice) string {
	if c.Odds == nil {
		return absent
	}
	return strconv.FormatFloat(*c.Odds, 'g', -1, 64)
}
