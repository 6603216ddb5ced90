package main

import (
	"context"
	"encoding/json"
	"fmt"
)

// stint is the program under show, with the demo's configuration.
type stint struct{ program, config string }

func (s stint) call(ctx context.Context, args ...string) ([]byte, error) {
	return output(ctx, environment(), append([]string{s.program, "--config", s.config}, args...)...)
}

// read decodes what a command prints with --json.
func (s stint) read(ctx context.Context, into any, args ...string) error {
	out, err := s.call(ctx, append(args, "--json")...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, into); err != nil {
		return fmt.Errorf("read what stint %s prints: %w", args[0], err)
	}
	return nil
}

// status is the whole record: a demo has far fewer fires and runs than the limit.
func (s stint) status(ctx context.Context) (status, error) {
	var st status
	err := s.read(ctx, &st, "status", "--last", "1000")
	return st, err
}

func (s stint) audit(ctx context.Context) (audit, error) {
	var a audit
	err := s.read(ctx, &a, "audit")
	return a, err
}
