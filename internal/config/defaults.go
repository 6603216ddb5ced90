package config

import (
	"time"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/pressure"
)

// defaults are the values of keys that a file leaves out, and what any agent and
// any category starts from. [reader] works out the values that depend on the rest of the file:
// the state folder, the allow-list, the default category, shares, a category's agents.
func defaults() (Config, Agent, Category) {
	config := Config{
		Workspace: ".",      // the file lies at the top of the repository it is about
		Store:     "sqlite", // one machine needs no server
		Fanout: Fanout{
			Workers:   3, // as many results as a person reviews between two fires
			Slots:     6, // two fires' worth, as sessions outlast the half hour between fires
			MaxPivots: 2, // more would burn the session on asking
			Limits:    pressure.Defaults(),
		},
		Tasks: Tasks{
			Dir:             defaultTaskDir,
			Format:          "stint",
			PassEnvironment: []string{"PATH", "HOME", "LANG"}, // as for agents
			After:           string(fleet.StateReview),        // what was done once is not done again, and a person looks at it
			RaiseAfter:      7 * 24 * time.Hour,               // a low one is as urgent as any after three weeks, which people still remember
			MostSessions:    8,                                // a day's work of sessions of 50 minutes
		},
		Worktrees: Worktrees{
			Keep:   20,                 // a disk holds some clones of most things
			MaxAge: 7 * 24 * time.Hour, // what nobody looked at for a week is not looked at
		},
		Runs: Runs{
			Keep:   1000,                // some weeks of sessions, most of which leave a megabyte
			MaxAge: 30 * 24 * time.Hour, // what nobody asked about for a month is answered by the record
			Out:    16 << 20,            // a report, a patch, some pictures
		},
		Lessons: Lessons{
			Dir:      "lessons", // where workspaces of this kind have them already
			Withhold: 0.2,       // one session in five is enough to compare with, and costs little of what a lesson brings
		},
		Selector: Selector{
			Timeout:         20 * time.Second,                 // leaves a fire, which has five minutes, time to fall back
			PassEnvironment: []string{"PATH", "HOME", "LANG"}, // as for an agent
			Settings:        bandit.Defaults(),
		},
		Notice: defaultNotice(),
	}
	agent := Preset(DefaultPreset)
	category := Category{
		Pool:     DefaultPool,
		Lanes:    1,                 // two sessions of one kind meet in the same files
		TTL:      60 * time.Minute,  // the time-out, and ten minutes to grade and to commit
		Timeout:  50 * time.Minute,  // a session past this has lost its thread
		Cooldown: 180 * time.Second, // lets the last session's commits arrive first
		Parallel: true,              // a category is there to be worked on
		WIP:      defaultWIP(),

		CheckTimeout:  5 * time.Minute, // the tests of most projects; the lane waits for them
		GraderTimeout: 3 * time.Minute, // a model reads a day's diff in one; the lane waits for it
		Respawn:       0.65,            // well above the mean of most: work that goes well goes on
		MaxChain:      1,               // then fires decide again
	}
	return config, agent, category
}
