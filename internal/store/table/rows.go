package table

import (
	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/book"
)

// Claims is who has, or had last, which key.
func Claims() Table[book.Claim] {
	return Table[book.Claim]{"claims", 1, func(c *book.Claim) []Column {
		return []Column{
			{"key", &c.Key},
			{"holder", &c.Holder},
			{"epoch", &c.Epoch},
			{"acquired_at", When(&c.AcquiredAt)},
			{"expires_at", When(&c.ExpiresAt)},
			{"renewals", &c.Renewals},
			{"note", &c.Note},
			{"released_at", When(&c.ReleasedAt)},
			{"ending", &c.Ending},
			{"reason", &c.Reason},
			{"attempt", &c.Attempt},
			{"incarnation", &c.Incarnation},
			{"took_over", When(&c.TookOver)},
		}
	}}
}

// Arms is what is remembered of categories.
func Arms() Table[book.Arm] {
	return Table[book.Arm]{"arms", 1, func(a *book.Arm) []Column {
		return []Column{
			{"category", &a.Category},
			{"round", &a.Round},
			{"at_round", &a.At},
			{"fast_w", &a.Fast.W},
			{"fast_s", &a.Fast.S},
			{"fast_g2", &a.Fast.G2},
			{"shift", &a.Shift},
			{"awaiting", &a.Awaiting},
			{"slow_w", &a.Slow.W},
			{"slow_s", &a.Slow.S},
			{"slow_g2", &a.Slow.G2},
			{"slope_n", &a.Slope.N},
			{"slope_l", &a.Slope.L},
			{"slope_g", &a.Slope.G},
			{"slope_ll", &a.Slope.LL},
			{"slope_lg", &a.Slope.LG},
			{"season_n", &a.Evidence.Season.N},
			{"season_x", &a.Evidence.Season.X},
			{"season_y", &a.Evidence.Season.Y},
			{"season_g", &a.Evidence.Season.G},
			{"season_xx", &a.Evidence.Season.XX},
			{"season_yy", &a.Evidence.Season.YY},
			{"season_xy", &a.Evidence.Season.XY},
			{"season_xg", &a.Evidence.Season.XG},
			{"season_yg", &a.Evidence.Season.YG},
			{"up_level", &a.Up.Level},
			{"up_w", &a.Up.Since.W},
			{"up_s", &a.Up.Since.S},
			{"up_g2", &a.Up.Since.G2},
			{"down_level", &a.Down.Level},
			{"down_w", &a.Down.Since.W},
			{"down_s", &a.Down.Since.S},
			{"down_g2", &a.Down.Since.G2},
			{"graded", &a.Graded},
			{"alarms", &a.Alarms},
			{"fires", &a.Fires},
			{"sessions", &a.Sessions},
			{"entitled", &a.Entitled},
			{"deficit", &a.Deficit},
			{"surplus", &a.Surplus},
			{"forgiven", &a.Forgiven},
			{"due", &a.Due},
			{"since", &a.Since},
			{"load", &a.Load},
			{"load_at", &a.LoadAt},
			{"noops", &a.Noops},
			{"noops_ever", &a.NoopsEver},
			{"asleep_until", &a.AsleepUntil},
			{"asleep_since", When(&a.AsleepSince)},
			{"vain_at", &a.VainAt},
		}
	}}
}

// Lessons is what is remembered of versions of lessons in categories.
func Lessons() Table[store.Lesson] {
	return Table[store.Lesson]{"lessons", 3, func(l *store.Lesson) []Column {
		return []Column{
			{"lesson", &l.ID},
			{"version", &l.Version},
			{"category", &l.Category},
			{"at_round", &l.At},
			{"with_w", &l.With.W},
			{"with_s", &l.With.S},
			{"with_g2", &l.With.G2},
			{"with_graded", &l.With.Graded},
			{"with_empty", &l.With.Empty},
			{"with_failed", &l.With.Failed},
			{"without_w", &l.Without.W},
			{"without_s", &l.Without.S},
			{"without_g2", &l.Without.G2},
			{"without_graded", &l.Without.Graded},
			{"without_empty", &l.Without.Empty},
			{"without_failed", &l.Without.Failed},
			{"exposure", &l.Exposure},
		}
	}}
}

// Agents is what is known of agents.
func Agents() Table[book.Agent] {
	return Table[book.Agent]{"agents", 1, func(a *book.Agent) []Column {
		return []Column{
			{"agent", &a.Agent},
			{"until", Time{&a.Until, int64(0)}},
			{"since", Time{&a.Since, int64(0)}},
			{"reason", &a.Reason},
			{"failures", &a.Failures},
			{"limits", &a.Limits},
			{"fault", &a.Fault},
			{"faults", &a.Faults},
			{"host", &a.Host},
			{"probe", &a.Probe},
			{"billed_after", &a.BilledAfter},
		}
	}}
}

// Tasks is what sessions, and people, left of tasks.
func Tasks() Table[fleet.TaskMemory] {
	return Table[fleet.TaskMemory]{"tasks", 1, func(m *fleet.TaskMemory) []Column {
		return []Column{
			{"task", &m.Task},
			{"state", &m.State},
			{"source", &m.Source},
			{"item", &m.Item},
			{"seen", &m.Seen},
			{"owed", &m.Owed},
			{"run", &m.Run},
			{"since", When(&m.Since)},
			{"sessions", &m.Sessions},
			{"failures", &m.Failures},
			{"vain", &m.Vain},
			{"taken", &m.Taken},
			{"rests", &m.Rests},
			{"reason", &m.Reason},
			{"trouble", &m.Trouble},
		}
	}}
}

// Pauses is what a person has stopped.
func Pauses() Table[fleet.Pause] {
	return Table[fleet.Pause]{"pauses", 1, func(p *fleet.Pause) []Column {
		return []Column{
			{"category", &p.Category},
			{"since", When(&p.Since)},
			{"until", When(&p.Until)},
			{"reason", &p.Reason},
		}
	}}
}

// Runs is every session that ever was.
func Runs() Table[book.Run] {
	return Table[book.Run]{"runs", 1, func(r *book.Run) []Column {
		v, u := &r.Verdict, &r.Usage
		return []Column{
			{"id", &r.ID},
			{"host", &r.Host},
			{"boot", &r.Boot},
			{"fire", Maybe[fleet.FireID]{&r.Fire}},
			{"category", &r.Category},
			{"rank", &r.Rank},
			{"chain_depth", &r.ChainDepth},
			{"source", &r.Source},
			{"unit", &r.Unit},
			{"lane", &r.Lane},
			{"task", &r.Task},
			{"key", &r.Key},
			{"epoch", &r.Epoch},
			{"round", &r.Round},
			{"load", &r.Load},
			{"nth", Maybe[int]{&r.Nth}},
			{"counted", Maybe[int]{&r.Counted}},
			{"counted_in", &r.CountedIn},
			{"awaits", Flag{&r.Awaits}},
			{"agent", &r.Agent},
			{"box", &r.Box},
			{"pid", &r.PID},
			{"created_at", When(&r.CreatedAt)},
			{"not_before", When(&r.NotBefore)},
			{"started_at", When(&r.StartedAt)},
			{"ended_at", When(&r.EndedAt)},
			{"outcome", &v.Outcome},
			{"grade", &v.Grade},
			{"final", &r.Grade},
			{"reason", &v.Reason},
			{"parts", JSON{&v.Parts, "{}"}},
			{"task_state", &v.TaskState},
			{"exit_status", &v.ExitStatus},
			{"fault", &v.Fault},
			{"held", Flag{&r.Held}},
			{"tokens", &u.Tokens},
			{"usd", &u.USD},
			{"cost", &u.Cost},
			{"models", JSON{&u.Models, "[]"}},
			{"day", &r.Day},
			{"reserved_tokens", &r.ReservedTokens},
			{"reserved_usd", &r.ReservedUSD},
			{"commits", JSON{&r.Commits, "[]"}},
			{"branch", &r.Branch},
			{"quota_until", When(&r.QuotaUntil)},
			{"followed_by", &r.FollowedBy},
			{"followed", &r.Followed},
			{"stop", &r.Stop},
			{"lease_over", When(&r.LeaseOver)},
			{"overran_to", When(&r.OverranTo)},
		}
	}}
}

// Fates is what became of the work of runs.
func Fates() Table[book.Fate] {
	return Table[book.Fate]{"fates", 2, func(f *book.Fate) []Column {
		return []Column{
			{"run", &f.Run},
			{"seq", &f.Seq},
			{"at", When(&f.At)},
			{"kind", &f.Kind},
			{"witness", &f.Witness},
			{"reason", &f.Reason},
			{"grade", &f.Grade},
			{"belief", Flag{&f.Belief}},
		}
	}}
}

// Hosts is the machines of the fleet.
func Hosts() Table[fleet.Host] {
	return Table[fleet.Host]{"hosts", 1, func(h *fleet.Host) []Column {
		return []Column{
			{"id", &h.ID},
			{"name", &h.Name},
			{"machine", &h.Machine},
			{"boot", &h.Boot},
			{"version", &h.Version},
			{"arch", &h.Arch},
			{"workspace", &h.Workspace},
			{"slots", &h.Slots},
			{"labels", JSON{&h.Labels, "[]"}},
			{"config", &h.Config},
			{"ahead", &h.Ahead},
			{"rounds", JSON{&h.Rounds, "{}"}},
			{"fired_at", When(&h.FiredAt)},
			{"gone_at", When(&h.GoneAt)},
			{"reason", &h.Reason},
		}
	}}
}

// Boots is every start of a machine that was seen.
func Boots() Table[book.Boot] {
	return Table[book.Boot]{"host_boots", 2, func(b *book.Boot) []Column {
		return []Column{{"host", &b.Host}, {"boot", &b.Boot}, {"first_seen", When(&b.FirstSeen)}}
	}}
}

// Heard is when machines last wrote.
func Heard() Table[book.Heard] {
	return Table[book.Heard]{"heard", 1, func(h *book.Heard) []Column {
		return []Column{{"host", &h.Host}, {"at", When(&h.At)}}
	}}
}

// Tails is the last of what sessions printed.
func Tails() Table[fleet.Tail] {
	return Table[fleet.Tail]{"tails", 1, func(t *fleet.Tail) []Column {
		return []Column{{"run", &t.Run}, {"at", When(&t.At)}, {"text", &t.Text}}
	}}
}

// Lineage is the past of a store that several machines share.
func Lineage() Table[fleet.Lineage] {
	return Table[fleet.Lineage]{"lineage", 1, func(l *fleet.Lineage) []Column {
		return []Column{
			{"one", new(1)},
			{"incarnation", &l.Incarnation},
			{"servers", JSON{&l.Servers, "{}"}},
			{"synchronous", Flag{&l.Synchronous}},
			{"since", When(&l.Since)},
			{"lost", &l.Lost},
			{"grants_from", When(&l.GrantsFrom)},
		}
	}}
}

// Acknowledged is how many writes of each machine there were.
func Acknowledged() Table[book.Acknowledged] {
	return Table[book.Acknowledged]{"acknowledged", 1, func(a *book.Acknowledged) []Column {
		return []Column{{"host", &a.Host}, {"writes", &a.Writes}}
	}}
}
