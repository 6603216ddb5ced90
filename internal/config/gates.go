package config

import (
	"time"

	"stint/internal/fleet"
)

// WIP bounds the work in progress of a category: results that wait for review.
type WIP struct {
	Command []string // prints how many there are; empty: nobody counts, and there is no bound
	Limit   int      // fires leave the category out when so many wait
}

// Notice says who is notified of troubles that the fleet cannot solve by itself.
type Notice struct {
	Command []string      // gets a notice on its input; empty: none
	Events  []fleet.Event // that give a notice
	Every   time.Duration // the same news is sent no more often
}

func (c *Config) warnNotice(w warnings) {
	if len(c.Notice.Command) > 0 {
		return
	}
	for _, key := range []string{"notice.events", "notice.every"} {
		if c.file.Has(key) {
			w.add("without a command no notice is sent", key)
			return
		}
	}
}
