package store

import (
	"fmt"

	"stint/internal/fleet"
)

// Copied is a table of which so many rows were copied.
type Copied struct {
	Table string
	Rows  int
}

// Moved refuses a store of which all was copied to another, as claims are granted there from then on. It is nil for a store that is in use, which was moved nowhere.
func Moved(to string) error {
	if to == "" {
		return nil
	}
	return fleet.WithHint(fmt.Errorf("the store was moved to %s: %w", to, fleet.ErrUsage), "write store = "+fmt.Sprintf("%q", to)+" in stint.toml")
}
