package config

import (
	"fmt"
	"math"
	"path/filepath"
	"time"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/pressure"
	"stint/internal/tomlfile"
)

// keys are all keys of a file, each written down once, over the fields of c. Their order is
// that of the sample and of "config show", and that in which a file is read: agents come
// before the categories that name them, categories before the lists of them, and what a host has
// of its own before what follows from it.
func (c *Config) keys(o Options) []tomlfile.Key {
	folder := filepath.Dir(c.Path)
	state := tomlfile.Derived("state", &c.State, func() string { return DefaultState(o.getenv, c.Fleet) },
		tomlfile.Absolute("/var/lib/stint/bob"),
		`The folder for claims, runs and logs: an absolute path, so that there is only one. Left out, it is
		$XDG_STATE_HOME/stint/FLEET, or ~/.local/state/stint/FLEET.`)
	workers := tomlfile.Of("workers", &c.Fanout.Workers, 3, tomlfile.Whole(1, tomlfile.NoLimit), // as many results as a person reviews between two fires
		`How many sessions one fire starts at most.`)
	slots := tomlfile.Of("slots", &c.Fanout.Slots, 6, tomlfile.Whole(1, tomlfile.NoLimit), // two fires' worth, as sessions outlast the half hour between fires
		`How many sessions run at once at most, in all pools together.`)
	return []tomlfile.Key{
		tomlfile.Of("fleet", &c.Fleet, "", fleetName(),
			`The fleet's name: a-z, 0-9 and _ only. Its units and folders are named after it.`,
			tomlfile.Required(`write fleet = "bob" in the first line`)),
		tomlfile.Path("workspace", &c.Workspace, ".", &folder, // the file lies at the top of the repository it is about
			`The git repository that the sessions work in, relative to this file.`),
		state,
		tomlfile.Of("store", &c.Store, Store{Kind: SQLite, Text: string(SQLite)}, c.storeRule(o), // one machine needs no server
			`Where claims and runs are kept: "sqlite" is a file in the state folder. A fleet on many machines
			names a PostgreSQL server: "postgres" is the service stint_FLEET, or the one that PGSERVICE names, of
			~/.pg_service.conf; "postgres:service=NAME" is another, and "postgres://HOST1,HOST2/DATABASE" the
			addresses themselves.`),
		tomlfile.Of("credentials", &c.Credentials, nil, tomlfile.List(0, o.credential()),
			`Files that all units of the fleet load, such as ["pgpass:/home/me/pgpass"], for settings such as
			passfile=credential:pgpass in the store's address. After a change: stint init --systemd.`),
		tomlfile.Family("agent", &c.Agents, c.agents(),
			`An agent is a command that does the work. It runs in the workspace, without a shell.`,
			tomlfile.Required(`write [agent.claude] and in it preset = "claude"`)),
		tomlfile.Family("category", &c.Categories, c.categories(o, &folder),
			`A category is a kind of work. Each has the settings that are shown for this one.`,
			tomlfile.Required("write [category.code]")),
		tomlfile.Group("fanout", `What a fire may start.`, append([]tomlfile.Key{workers, slots}, c.fanoutKeys()...)),
		c.hostSections(state, workers, slots),
		tomlfile.Family("pool", &c.Pools, c.pools(),
			`The categories of a pool are started by fires of their own, "stint fanout --pool NAME", for which
			"stint init --systemd" installs a timer. Plain fires start the pool "autonomous".`),
		tomlfile.Group("tasks", `Where the tasks are, and which category each belongs to.`, c.taskKeys()),
		tomlfile.Group("commands", `Commands of this file that stint runs for itself: those of [selector], [notice], [tasks.source.NAME] and
			wip, and [review] publish, outcome and feedback. What runs a session's work, as a check or a grader does, goes
			by other keys and gets none of these variables.`, []tomlfile.Key{
			tomlfile.Of("timeout", &c.Command.Timeout, time.Minute, tomlfile.Within(maxWait), // some calls of a forge
				`How long one may take; a notice takes 10s at most.`),
			environment(&c.Command.PassEnvironment, commonEnvironment()),
		}),
		tomlfile.Group("lessons", `Lessons are files that a session is given where they fit its task.`, []tomlfile.Key{
			tomlfile.Path("dir", &c.Lessons.Dir, "lessons", &c.Workspace, // where workspaces of this kind have them already
				`The folder of lesson files, relative to the workspace. It need not exist.`),
			tomlfile.Of("withhold", &c.Lessons.Withhold, 0.2, // enough to compare with, and it costs little of what a lesson brings
				tomlfile.Chance(),
				`How often a session does without a lesson that fits it, 0 to below 1: the others are compared with it.`),
		}),
		tomlfile.Group("selector", `How categories are ranked.`, c.selectorKeys()),
		tomlfile.Group("notice", `Who is notified of problems that the fleet cannot solve by itself.`, c.noticeKeys()),
		tomlfile.Group("budget", `What all sessions together may use in a day, which begins at midnight UTC.`, budgetKeys(&c.Budget)),
		tomlfile.Family("price", (*map[string]Price)(&c.Prices), prices(),
			`What a million tokens of a model cost in USD. The cost that an agent does not report is computed from
			its tokens and these prices: write a table [price."MODEL"] with input, cached_input, cache_write, output
			and the day of these prices, as_of = "2026-11-01". No prices come with stint: see "stint help agents".`),
		tomlfile.Group("review", `What becomes of the sessions' work. See "stint help review".`, c.reviewKeys()),
		tomlfile.Group("keep", `How many days something stays once its session is over, such as "30d"; "" is for ever.`, []tomlfile.Key{
			tomlfile.Of("files", &c.Keep.Files, 30*oneDay, tomlfile.Days(), // what nobody asked about for a month is answered by the record
				fmt.Sprintf(`Its prompt, its log, and what the agent wrote. Of all but the last %d sessions they go sooner.`, KeepFolders)),
			tomlfile.Of("worktrees", &c.Keep.Worktrees, 7*oneDay, tomlfile.Days(), // what nobody looked at for a week is not looked at
				fmt.Sprintf(`Its work tree, since the last change in it. All but the youngest %d go sooner; one with commits that
				are merged nowhere stays in any case.`, KeepWorktrees)),
			tomlfile.Of("record", &c.Keep.Record, 0, tomlfile.Days(), // nobody misses what nobody deleted
				`The store's record of it. Each fire deletes some of what is older.`),
		}),
	}
}

const oneDay = 24 * time.Hour

// maxWait bounds each command that a fire waits for. Six run one after another: the slowest task source, the slowest gate,
// selector, outcome, feedback and the pushes of answers. The unit of a fire ends it after 15 minutes, before it starts anything.
const maxWait = 2 * time.Minute

func (c *Config) reviewKeys() []tomlfile.Key {
	r := &c.Review
	return []tomlfile.Key{
		tomlfile.Of("target", &r.Target, "", tomlfile.Text(),
			`The branch that the work is to get into. Left out, it is the one that the workspace has checked out.`),
		tomlfile.Of("limit", &r.Limit, 50, tomlfile.Whole(0, tomlfile.NoLimit), // a week's work of a person who looks through ten a day
			`How many results may wait for review at most, of sessions in worktrees, those at work counted; 0 is no
			limit.`),
		tomlfile.Of("max_age", &r.MaxAge, 14*24*time.Hour, tomlfile.Pause(), // nobody remembers after that what it was for
			`A result that has waited so long is rotten, as is one that conflicts with the target or whose check is
			red. Where that is a quarter of what may wait, fires start no more of it. "0s": age does not count.`),
		tomlfile.Derived("away_limit", &r.AwayLimit, func() int { return 2 * r.Limit }, tomlfile.Whole(0, tomlfile.NoLimit),
			`The limit while the reviewer is away ("stint review away"); 0 is no limit. Left out, it is twice the limit.`),
		tomlfile.Of("method", &r.Method, MethodRebase, tomlfile.OneOf(MethodRebase, MethodMerge), // a history that can be read
			`How "stint review land" puts work on the target: "rebase" makes its commits anew there, "merge" adds
			a merge commit.`),
		tomlfile.Of("check", &r.Check, nil, tomlfile.Command(0),
			`A command that says by its exit status whether work may land. It runs on the target with that work.`),
		tomlfile.Of("check_timeout", &r.CheckTimeout, 30*time.Minute, tomlfile.Duration(), // a slow suite; a person waits for it
			`How long that command may take.`),
		tomlfile.Of("publish", &r.Publish, nil, tomlfile.Command(0),
			`A command that opens a request for a branch which "stint review publish" has pushed, such as
			["gh", "pr", "create", "--head", "{branch}", "--title", "{title}", "--body-file", "-"].`),
		tomlfile.Of("outcome", &r.Outcome, nil, tomlfile.Command(0),
			`A command that each fire asks what became of the work of sessions, for those who review it at a forge:
			it gets a list of JSON and prints one. See "stint help review".`),
		tomlfile.Of("feedback", &r.Feedback, nil, tomlfile.Command(0),
			`A command that prints what checks and reviewers say of published items: see "stint help review". News
			becomes the next session at the task, on the same branch.`),
		tomlfile.Of("max_rounds", &r.MaxRounds, 3, tomlfile.Whole(0, tomlfile.NoLimit), // more is a sign of a misunderstanding
			`How often sessions answer what is said of an item, before its task waits for a person.`),
		tomlfile.Of("serialize", &r.Serialize, nil, tomlfile.List(0, tomlfile.Word[string](plain.CheckPattern)),
			`Patterns of files that one task at a time may change, such as ["go.mod", "db/migrations/**"]: a task
			waits while a session or an item of review changes one. See "stint help review".`),
	}
}

func (c *Config) fanoutKeys() []tomlfile.Key {
	f, d := &c.Fanout, pressure.Defaults()
	return []tomlfile.Key{
		tomlfile.Derived("allow", &f.Allow, c.CategoryNames, tomlfile.List(0, c.categoryName()),
			`The categories that a fire may start. Left out, all. The others are started by hand: for work that parallel
			sessions would undo.`),
		tomlfile.Of("max_load", &f.Limits.Load, d.Load, tomlfile.OrNone(tomlfile.Number(0.1, 1000)),
			`A fire starts nothing while the load average of the last minute, per processor, is above this; 0 is
			no limit.`),
		tomlfile.Of("max_memory_pressure", &f.Limits.MemoryPressure, d.MemoryPressure, tomlfile.OrNone(tomlfile.Number(0.1, 100)),
			`A fire starts nothing while more than this percentage of the last ten seconds was lost to waiting for
			memory; 0 is no limit.`),
		tomlfile.Of("min_memory", &f.Limits.MemoryAvailable, d.MemoryAvailable, tomlfile.Bytes(),
			`The memory that must be available for a fire to start anything; 0 is no limit.`),
	}
}

// categoryName is the name of a category that the file has.
func (c *Config) categoryName() tomlfile.Rule[fleet.Category] {
	return tomlfile.Known("category", c.CategoryNames)
}

// firstCategory is the one that the file names first.
func (c *Config) firstCategory() (first fleet.Category) {
	least := math.MaxInt
	for _, name := range c.CategoryNames() {
		if at := c.file.Offset(tomlfile.Dotted("category", string(name))); at < least {
			first, least = name, at
		}
	}
	return first
}

func (c *Config) selectorKeys() []tomlfile.Key {
	s, d := &c.Selector, bandit.Defaults()
	b := &s.Settings
	return []tomlfile.Key{
		tomlfile.Of("command", &s.Command, nil, tomlfile.Command(0),
			`A command that prints a ranking to follow instead of the built-in one, which it gets as JSON on its
			input. When it fails, the built-in one stands.`),
		tomlfile.Of("v", &b.V, d.V, tomlfile.Number(0.1, 1000),
			`How many sessions of debt to a category one whole point of grade outweighs.`),
		tomlfile.Of("floor", &b.Floor, d.Floor, tomlfile.Fraction(),
			`The part of what it is entitled to that a category gets at least, 0 to 1; 0 is no floor.`),
		tomlfile.Of("cap", &b.Cap, d.Cap, tomlfile.OrNone(tomlfile.Number(1, 1000)),
			`The multiple of what it is entitled to that a category gets at most, 1 or more; 0 is no cap.`),
		tomlfile.Of("half_life", &b.HalfLife, d.HalfLife, tomlfile.OrNone(tomlfile.Number(1, 1e6)),
			`The number of rounds after which a grade counts half; 0 is never. A round is a fire of the category's
			pool that could start something.`),
		tomlfile.Of("slow_half_life", &b.SlowHalfLife, d.SlowHalfLife, tomlfile.OrNone(tomlfile.Number(1, 1e6)),
			`The number of rounds after which a grade counts half in the long-run mean, to which a belief returns
			as its evidence fades; 0 is never.`),
		tomlfile.Of("alarm", &b.Alarm, d.Alarm, tomlfile.OrNone(tomlfile.Number(1, 1000)),
			`How surprising grades must be, summed up, to count as a change; 0 is never.`),
	}
}

// environment is the key for the variables that a command gets.
func environment(field *[]string, def []string) tomlfile.Key {
	return tomlfile.Of("pass_environment", field, def, tomlfile.List(0, variable()), `Variables to hand on; it gets no others.`)
}

func variable() tomlfile.Rule[string] {
	return tomlfile.Word[string](checkVariable).Matching(variablePattern)
}

func (c *Config) noticeKeys() []tomlfile.Key {
	n := &c.Notice
	return []tomlfile.Key{
		tomlfile.Of("command", &n.Command, nil, tomlfile.Command(0),
			`A command that gets each notice, as JSON on its input.`),
		tomlfile.Of("events", &n.Events, fleet.Events(), tomlfile.List(0, event()),
			`The events to notify of.`),
		tomlfile.Of("every", &n.Every, time.Hour, tomlfile.Pause(), // a person who has not acted on it by then may have missed it
			`The same notice is sent no more often than this.`),
	}
}

func event() tomlfile.Rule[fleet.Event] {
	r := tomlfile.Known("event", fleet.Events)
	r.Schema = tomlfile.OneOf(fleet.Events()...).Schema
	return r
}

func budgetKeys(b *Budget) []tomlfile.Key {
	return []tomlfile.Key{
		tomlfile.Of("runs", &b.Runs, 0, tomlfile.Whole(0, tomlfile.NoLimit),
			`Sessions.`),
		tomlfile.Of("tokens", &b.Tokens, 0, tomlfile.Whole[int64](0, tomlfile.NoLimit),
			`Tokens.`),
		tomlfile.Of("usd", &b.USD, 0, tomlfile.Number(0, 1e9),
			`USD.`),
		tomlfile.Of("session_tokens", &b.SessionTokens, 0, tomlfile.Whole[int64](0, tomlfile.NoLimit),
			`The most tokens that one session is believed to use: a higher bill is recorded, and counts as this much
			in what is reserved for the next session.`),
		tomlfile.Of("session_usd", &b.SessionUSD, 0, tomlfile.Number(0, 1e9),
			`Likewise, in USD.`),
	}
}

func fleetName() tomlfile.Rule[fleet.Name] {
	return tomlfile.Word[fleet.Name](func(s string) error {
		_, err := fleet.ParseName(s)
		return err
	}).Example("bob").Matching("^[a-z0-9_]{1,32}$")
}
