package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
)

// stint is the program under show, with the demo's configuration.
type stint struct{ program, config string }

func (s stint) call(ctx context.Context, args ...string) ([]byte, error) {
	return output(ctx, environment(), append([]string{s.program, "--config", s.config}, args...)...)
}

// status is the whole record: a demo has far fewer fires and runs than the limit.
func (s stint) status(ctx context.Context) (status, error) {
	out, err := s.call(ctx, "status", "--last", "1000", "--json")
	if err != nil {
		return status{}, err
	}
	var st status
	err = decode(out, &st)
	return st, err
}

// audit fails with the object when a lane was held twice; the object says so.
func (s stint) audit(ctx context.Context) (audit, error) {
	out, err := s.call(ctx, "audit", "--json")
	if err != nil && len(out) == 0 {
		return audit{}, err
	}
	var a audit
	err = decode(out, &a)
	return a, err
}

// replays are all fires ranked again from what was stored with them. It fails with the
// object when that gives something else; the object says so.
func (s stint) replays(ctx context.Context, fires []fire) (list []ranking, err error) {
	for _, f := range fires {
		out, err := s.call(ctx, "replay", strconv.Itoa(f.Fire), "--json")
		if err != nil && len(out) == 0 {
			return nil, err
		}
		var r ranking
		if err := decode(out, &r); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// next is the ranking of a next fire. It fails with the object when that would start
// nothing.
func (s stint) next(ctx context.Context) (selection, error) {
	out, err := s.call(ctx, "select", "--json")
	if err != nil && len(out) == 0 {
		return selection{}, err
	}
	var sel selection
	err = decode(out, &sel)
	return sel, err
}

func decode(out []byte, into any) error {
	if err := json.Unmarshal(out, into); err != nil {
		return fmt.Errorf("decode what stint prints: %w", err)
	}
	return nil
}
