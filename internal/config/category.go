package config

import (
	"time"

	"stint/internal/fleet"
	"stint/internal/tomlfile"
)

func (c *Config) categories(o Options, folder *string) tomlfile.Each[Category] {
	return tomlfile.Each[Category]{
		Name: categoryWord(),
		Keys: func(_ string, v *Category) []tomlfile.Key { return c.categoryKeys(v, o, folder) },
	}
}

func categoryWord() tomlfile.Rule[string] {
	return tomlfile.Word[string](func(s string) error {
		_, err := fleet.ParseCategory(s)
		return fleet.WithHint(err, "rename it, as in [category.code]")
	}).Matching("^[a-z0-9][a-z0-9_-]{0,31}$")
}

const (
	maxLanes = 99   // far more than one machine runs; a typing error shows
	maxChain = 9    // a fleet that follows itself for ever is what fires are there to prevent
	maxWIP   = 9999 // nobody reads so many
)

func (c *Config) categoryKeys(v *Category, o Options, folder *string) []tomlfile.Key {
	return []tomlfile.Key{
		tomlfile.Of("pool", &v.Pool, DefaultPool, tomlfile.Text(),
			`The pool whose fires start it.`),
		tomlfile.Derived("share", &v.Share, func() float64 { return 0 }, tomlfile.Fraction(), // see [Config.divide]
			`The part of all sessions it should get, 0 to 1. Left out, it gets an equal part of the rest.`),
		c.agentsOf(v),
		tomlfile.Of("hosts", &v.Hosts, nil, tomlfile.List(0, hostPattern()),
			`The hosts that its sessions run on, of several machines of the fleet: patterns of their names, such as
			"gpu-*", or "label:big" for those with a label. None: all.`),
		tomlfile.Of("lanes", &v.Lanes, 1, tomlfile.Whole(1, maxLanes), // two sessions of one kind meet in the same files
			`How many of its sessions run at once at most.`),
		tomlfile.Derived("host_lanes", &v.HostLanes, func() int { return v.Lanes }, tomlfile.Whole(1, maxLanes),
			`How many of these run on one machine at most. Left out, all of them.`),
		tomlfile.Of("ttl", &v.TTL, 60*time.Minute, tomlfile.Duration(), // the time-out, and ten minutes to grade and to commit
			`How long a claim on a task lasts that is not renewed.`),
		tomlfile.Of("timeout", &v.Timeout, 50*time.Minute, tomlfile.Duration(), // a session past this has lost its thread
			`How long a session may take before it is stopped.`),
		tomlfile.Of("cooldown", &v.Cooldown, 3*time.Minute, tomlfile.Pause(), // lets the last session's commits arrive first
			`The wait after a session, before the next one starts.`),
		tomlfile.Of("workspace", &v.Worktree, false, place(),
			`"shared": its sessions work in the workspace, beside each other; "worktree": each on a branch
			and in a folder of its own, which is kept while it has commits that are merged nowhere.`),
		tomlfile.Of("sync", &v.Sync, false, tomlfile.Truth(),
			`true: before each session the workspace is brought up to date with its remote: fetch, then rebase.`),
		tomlfile.Of("respawn", &v.Respawn, 0.65, tomlfile.Fraction(), // well above the mean of most: work that goes well goes on
			`The grade from which one more session follows, once it has rested.`),
		tomlfile.Of("max_chain", &v.MaxChain, 1, tomlfile.Whole(0, maxChain), // then fires decide again
			`How many sessions may follow one another because of respawn; 0 is none.`),
		tomlfile.Group("budget", `What its sessions may use in a day, UTC; 0 is no limit.`, budgetKeys(&v.Budget)),
		tomlfile.Of("self_directed", &v.SelfDirected, false, tomlfile.Truth(),
			`true: its sessions run without a task, from the prompt alone.`),
		tomlfile.Path("prompt", &v.Prompt, "", folder,
			`A file with instructions for its sessions, relative to this file, which stand before the standard text.
			One with placeholders in it makes the whole prompt: {{situation}}, {{assignment}} and {{report}} are the
			standard text; "stint help agents" lists the others.`),
		tomlfile.Of("check", &v.Check, nil, tomlfile.Command(0),
			`A command that tests what a session left, by its exit status, such as ["make", "test"]. It runs in the
			session's folder, and raises or lowers the grade.`),
		tomlfile.Of("check_timeout", &v.CheckTimeout, 5*time.Minute, tomlfile.Duration(), // the tests of most projects; the lane waits for them
			`How long the check may take, and the grader.`),
		tomlfile.Of("grader", &v.Grader, nil, tomlfile.Command(0),
			`A command that grades each session: it gets the session as JSON on its input, and prints
			{"grade": 0.8, "reason": "…"}. Without one, the evidence in git counts. Keep it outside the workspace, where
			sessions could change it.`),
		tomlfile.Of("unit", &v.Unit, nil, tomlfile.Words[string](nil, o.properties()),
			`Properties of its units, such as { MemoryMax = "4G" }: see systemd.resource-control(5) and systemd.exec(5).`),
		tomlfile.Of("review", &v.Review, true, tomlfile.Truth(), // work that nobody looks at is to be asked for
			`false: nobody has to look at what its sessions leave in worktrees: the limit of review does not hold for
			them.`),
		tomlfile.Group("wip", `Fires leave the category out while too many of its results wait for review.`, wipKeys(&v.WIP)),
	}
}

func wipKeys(w *WIP) []tomlfile.Key {
	return []tomlfile.Key{
		tomlfile.Of("command", &w.Command, nil, tomlfile.Command(0),
			`A command that prints how many results wait, such as ["gh", "pr", "list", "--json", "number", "--jq", "length"].`),
		tomlfile.Of("limit", &w.Limit, 5, // as many as a person reviews in one sitting
			tomlfile.Whole(1, maxWIP),
			`Fires leave the category out when so many results wait.`),
	}
}

// place is where sessions work: it is true for a worktree of their own.
func place() tomlfile.Rule[bool] {
	const inShared, inWorktree = "shared", "worktree"
	word := tomlfile.OneOf(inShared, inWorktree)
	return tomlfile.Rule[bool]{
		Parse: func(value any) (bool, error) {
			s, err := word.Parse(value)
			return s == inWorktree, err
		},
		Suggest: func(refused any, _ bool) any { return word.Suggest(refused, inShared) },
		Write: func(worktree bool) any {
			if worktree {
				return inWorktree
			}
			return inShared
		},
		Schema: word.Schema,
	}
}

// agentsOf is the key for a category's agents. They default to the only one there is.
func (c *Config) agentsOf(v *Category) tomlfile.Key {
	var options []tomlfile.Option
	if len(c.Agents) > 1 {
		options = append(options, tomlfile.Required("say which of the agents may work on it: write agents = "+tomlfile.Literal(c.AgentNames())))
	}
	return tomlfile.Derived("agents", &v.Agents, c.AgentNames, tomlfile.List(1, tomlfile.Known("agent", c.AgentNames)),
		`The agents that may work on it, the preferred one first. Left out, the only agent; with several, it
			must be given.`, options...)
}

// properties leave to the caller which there are.
func (o Options) properties() tomlfile.Entries[any] {
	return tomlfile.Entries[any]{
		Rule: tomlfile.Rule[any]{
			Parse:  func(value any) (any, error) { return value, nil },
			Schema: func() tomlfile.Schema { return tomlfile.Schema{} },
		},
		Check: func(name string, value any) error {
			if o.CheckUnit == nil {
				return nil
			}
			err := o.CheckUnit(name, value)
			if fleet.Hint(err) != "" {
				return err
			}
			return fleet.WithHint(err, "see man systemd.resource-control and systemd.exec")
		},
	}
}

// divide gives the categories without a share equal parts of what the others leave.
func (c *Config) divide() {
	rest, without := 1.0, []fleet.Category{}
	for _, name := range c.CategoryNames() {
		if c.file.Has(tomlfile.Dotted("category", string(name), "share")) {
			rest -= c.Categories[name].Share
		} else {
			without = append(without, name)
		}
	}
	for _, name := range without {
		category := c.Categories[name]
		category.Share = max(0, rest) / float64(len(without))
		c.Categories[name] = category
	}
}

// HostBound is how many lanes of the category sessions of one machine may have; 0: all.
func (c Category) HostBound() int {
	if c.HostLanes >= c.Lanes {
		return 0
	}
	return c.HostLanes
}
