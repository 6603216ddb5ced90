package replay

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"stint/internal/fleet"
	"stint/internal/rank"
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
	before := len(r.Differences)
	if json.Valid(recorded) {
		for _, d := range rank.Compare(recorded, replayed) {
			r.differ("selection."+d.Figure, cmp.Or(excerpt(d.Stored), absent), cmp.Or(excerpt(d.Counted), absent))
		}
	}
	if len(r.Differences) > before || bytes.Equal(recorded, replayed) {
		return
	}
	at := 0 // the same fields, or no JSON: then it is how they are written
	for at < min(len(recorded), len(replayed)) && recorded[at] == replayed[at] {
		at++
	}
	r.differ(fmt.Sprintf("selection, from byte %d", at), excerpt(string(recorded[at:])), excerpt(string(replayed[at:])))
}

// excerpt bounds what is shown of a text.
func excerpt(text string) string {
	const most = 80
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// compareChoices compares the decisions. It leaves out what a failed start, one who was quicker,
// or a pause since has overwritten, and what only a real fire has: units and runs.
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
	wanted := recorded.Decision == fleet.StartFailed || recorded.By == fleet.HinderedByRival ||
		recorded.By == fleet.HinderedByPause && replayed.Decision == fleet.Spawn // one that it saw is in its inputs
	if wanted {
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
