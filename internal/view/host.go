package view

import (
	"fmt"
	"time"

	"stint/internal/survey"
)

// Hosts shows the fleet's hosts at one moment, by name.
func Hosts(at time.Time) View[[]survey.HostState] {
	type hosts = []survey.HostState
	return View[hosts]{
		Schema[hosts]("stint/hosts@1"),
		At("at", "", "", func(hosts) time.Time { return at }),
		Each("hosts", "by name", Host(), func(list hosts) hosts { return list }),
	}
}

// Host shows a host, as it described itself at its last fire.
func Host() View[survey.HostState] {
	type host = survey.HostState
	return View[host]{
		Word("id", "", "", func(s host) string { return s.ID }),
		Word("name", "", "", func(s host) string { return s.Name }),
		Word("", "Host", "", func(s host) string {
			if s.Here {
				return s.Name + " (here)"
			}
			return s.Name
		}),
		Bool("here", "it is this machine", func(s host) bool { return s.Here }),
		At("heard", "Heard", "its last fire, or the last heartbeat of a session there; null: nobody knows",
			func(s host) time.Time { return s.HeardAt }).OrNull(),
		Int("sessions", "", "on it that live, or are about to", func(s host) int { return s.Sessions }),
		Int("slots", "", "for sessions; 0: nobody bounded them", func(s host) int { return s.Slots }),
		Word("", "Sessions", "", func(s host) string {
			if s.Slots > 0 {
				return fmt.Sprintf("%d of %d", s.Sessions, s.Slots)
			}
			return fmt.Sprint(s.Sessions)
		}),
		Texts("labels", "", "", func(s host) []string { return s.Labels }),
		At("last_fire", "Last fire", "", func(s host) time.Time { return s.FiredAt }).OrNull().Wide(),
		At("next_fire", "Next", "null: it is another machine's, or not known", func(s host) time.Time { return s.NextFire }).OrNull().Wide(),
		Word("boot", "", "which start of it was the last that fired; empty: nobody knows", func(s host) string { return s.Boot }),
		Word("version", "Version", "of stint", func(s host) string { return s.Version }).Wide(),
		Word("arch", "", "", func(s host) string { return s.Arch }),
		Text("workspace", "", "its path there", func(s host) string { return s.Workspace }),
		At("gone", "", "since when a person says that it is off; null: nobody does", func(s host) time.Time { return s.GoneAt }).OrNull(),
		Text("trouble", "Wrong", "what is wrong with it; empty: nothing is known to be", func(s host) string { return s.Trouble }).Warn(),
	}
}
