// Package replay ranks recorded fires again, which must give what was recorded bit for
// bit. It is pure: a fire comes in as it was recorded, and nothing but its own seed is a
// source of chance.
//
// It owns no part of the ranking. A fire is replayed by the code that fired it, so that
// a difference says that this code, or the record, has changed since.
package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"stint/internal/fleet"
	"stint/internal/rank"
)

// Result is a fire that was ranked again.
type Result struct {
	Fire        fleet.Fire // as it was recorded
	Selection   rank.Selection
	Followed    bool           // stint's own ranking was; else another selector's payload
	Choices     []fleet.Choice // decided again
	Differences []Difference   // between the record and the replay; none: identical
}

// Difference is a part of the record that came out otherwise.
type Difference struct {
	Field              string
	Recorded, Replayed string
}

// Read reads what a fire's ranking was computed from. Inputs of another format are an
// error: a field that they lack must not pass for zero.
func Read(f fleet.Fire) (rank.Input, error) {
	var in rank.Input
	d := json.NewDecoder(bytes.NewReader(f.Inputs))
	d.DisallowUnknownFields()
	err := d.Decode(&in)
	if err == nil && in.Settings.V <= 0 {
		err = errors.New("they name no settings")
	}
	if err != nil {
		return rank.Input{}, fmt.Errorf("inputs of fire %d: of another format: %w", f.ID, err)
	}
	return in, nil
}

// Fire ranks and decides a recorded fire again, with as many redraws as it was fired
// with, and compares. A fire that followed another selector's payload is decided by
// that payload; how stint would have ranked is in the selection.
func Fire(f fleet.Fire, redraws int) (Result, error) {
	in, err := Read(f)
	if err != nil {
		return Result{}, err
	}
	r := Result{Fire: f, Selection: rank.Rank(in), Followed: f.Own}
	r.compare("seed", f.Seed, in.Seed)
	r.compare("workers", f.Workers, in.Workers)
	decision := rank.PlanInput{Input: in, Order: r.Selection.ByDraws(), Allowed: f.Allowed}
	if r.Followed {
		own := r.Selection.Payload()
		text, err := json.Marshal(own)
		if err != nil {
			return Result{}, err
		}
		r.comparePayload(f.Selection, text)
		decision.Request, decision.Scores, decision.Odds = own.Request(), r.Selection.Scores, r.Selection.Odds(redraws)
	} else if decision.Request, err = rank.ParsePayload(f.Selection); err != nil {
		r.differ("selection", "a payload that was followed", err.Error())
	}
	r.Choices = rank.Decide(decision).Choices
	r.compareChoices()
	return r, nil
}
