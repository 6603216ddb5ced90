package store

import (
	"fmt"

	"stint/internal/fleet"
)

// Copied counts the rows copied from one table.
type Copied struct {
	Table string
	Rows  int
}

// Moved refuses a store that was copied to another: the other grants claims now. It is nil for a store in use, for which
// to is empty.
func Moved(to string) error {
	if to == "" {
		return nil
	}
	return fleet.WithHint(fmt.Errorf("the store was moved to %s: %w", to, fleet.ErrUsage), "write store = "+fmt.Sprintf("%q", to)+" in stint.toml")
}
