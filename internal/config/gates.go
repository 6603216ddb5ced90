package config

import "stint/internal/fleet"

// WIP bounds the work in progress of a category: results that wait for review.
type WIP struct {
	// Prints how many there are; empty: nobody counts, and there is no bound.
	Command []string `toml:"command" form:"command"`
	// Fires leave the category out when so many wait: as many as a person reviews in one sitting.
	Limit int `toml:"limit" default:"5" min:"1" max:"9999"`
}

// Notice says who is notified of troubles that the fleet cannot solve by itself.
type Notice struct {
	Command []string      `toml:"command" form:"command"`                        // gets a notice on its input; empty: none
	Events  []fleet.Event `toml:"events" form:"event" known:"event" default:"-"` // that give a notice; by default all
}

func (c *Config) warnNotice(w warnings) {
	if len(c.Notice.Command) == 0 && c.file.Has("notice.events") {
		w.add("without a command no notice is sent", "notice.events")
	}
}
