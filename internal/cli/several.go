package cli

import (
	"errors"
	"fmt"

	"stint/internal/fleet"
)

// each does with each of several what was asked for, and goes on after one that fails. Its error
// wraps [fleet.ErrPartly] unless all failed.
func each[T any](list []T, do func(T) error) error {
	var failed []error
	for _, x := range list {
		if err := do(x); err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) == len(list) {
		return errors.Join(failed...)
	}
	return partly(errors.Join(failed...), nil)
}

// partly is the error of what was done, or not, after something else had failed.
func partly(failed, err error) error {
	if failed == nil || err != nil && !errors.Is(err, fleet.ErrPartly) {
		return errors.Join(failed, err)
	}
	return errors.Join(fmt.Errorf("%w: the rest was not", fleet.ErrPartly), failed, err)
}
