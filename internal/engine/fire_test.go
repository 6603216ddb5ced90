package engine_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"stint/internal/engine"
	"stint/internal/fleet"
)

// stages notes in which order a fire comes to its stages.
type stages struct {
	noRepo
	starter
	list []string
	stop func() // at the first chore; nil: nothing
}

func (s *stages) note(stage string) { s.list = append(s.list, stage) }

func (s *stages) Rescue(context.Context, func(fleet.RunID) bool) error {
	s.note("bring home")
	return nil
}

func (s *stages) Start(ctx context.Context, specs []fleet.UnitSpec) []error {
	s.note("start")
	return s.starter.Start(ctx, specs)
}

func (s *stages) Tidy(context.Context, func(fleet.RunID) bool) error {
	s.note("tidy")
	return nil
}

func (s *stages) Tracking(context.Context) (fleet.Tracking, error) {
	s.note("notify")
	if s.stop != nil {
		s.stop()
	}
	return fleet.Tracking{}, nil
}

func (s *stages) Send(context.Context, fleet.Notice) error { return nil }

// TestFireStartsSessionsBeforeItsHousework has a fire with all of it to do.
func TestFireStartsSessionsBeforeItsHousework(t *testing.T) {
	t.Parallel()
	fires := func(stopped bool, o engine.FanoutOptions) ([]string, error) {
		t.Helper()
		b := newBench(t, threeCategories)
		b.addTask("fix", "code", fleet.StateTodo)
		s := &stages{}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if stopped {
			s.stop = cancel
		}
		b.Repo, b.Notices, b.Machine = s, s, func() string {
			s.note("look")
			return ""
		}
		o.Units, o.Workers, o.Binary = s, 1, "/b"
		_, err := b.Fanout(ctx, o)
		return s.list, err
	}
	all := []string{"bring home", "look", "start", "notify", "tidy"}
	if got, err := fires(false, engine.FanoutOptions{}); err != nil || !slices.Equal(got, all) {
		t.Errorf("got %q, %v, want %q", got, err, all)
	}
	if got, err := fires(true, engine.FanoutOptions{}); err != nil || !slices.Equal(got, all[:4]) {
		t.Errorf("stopped meanwhile: got %q, %v, want that the next fire does the rest", got, err)
	}
	without := slices.Delete(slices.Clone(all), 2, 3)
	if got, err := fires(false, engine.FanoutOptions{Payload: []byte("{")}); !errors.Is(err, fleet.ErrUsage) || !slices.Equal(got, without) {
		t.Errorf("without a decision: got %q, %v, want %q", got, err, without)
	}
}
