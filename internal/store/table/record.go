package table

// Fires holds every fire.
func Fires() Table[Fire] {
	return Table[Fire]{"fires", 1, func(f *Fire) []Column {
		return columns(
			"id", &f.ID, "host", &f.Host, "at", When(&f.At), "seed", JSON{&f.Seed, ""}, "pool", &f.Pool,
			"workers", &f.Workers, "due", JSON{&f.Due, "{}"}, "inputs", &f.Inputs, "selection", &f.Selection,
			"own", Flag{&f.Own}, "allowed", JSON{&f.Allowed, "[]"}, "fallback", &f.Fallback,
			"choices", JSON{&f.Choices, "[]"}, "attempt", Maybe[string]{&f.Attempt},
		)
	}}
}

// Spending holds the use of each day, by scope.
func Spending() Table[Spent] {
	return Table[Spent]{"spent", 2, func(s *Spent) []Column {
		return columns(
			"day", &s.Day, "scope", &s.Scope, "runs", &s.Runs, "tokens", &s.Tokens, "usd", &s.USD,
			"guessed", &s.Guessed,
		)
	}}
}

// Reviews holds the way of each run's work through review.
func Reviews() Table[Review] {
	return Table[Review]{"reviews", 1, func(r *Review) []Column {
		f := &r.Feedback
		return columns(
			"run", &r.Run, "tip", &r.Tip, "decision", &r.Decision, "reason", &r.Reason, "url", &r.URL,
			"decided_by", &r.By, "landed_as", &r.Commit, "landed_on", &r.Base,
			"decided_at", When(&r.DecidedAt), "checked_tip", &r.Check.Tip, "check_ok", Flag{&r.Check.OK},
			"check_reason", &r.Check.Reason, "checked_at", When(&r.Check.At),
			"task", &f.Task, "rounds", &f.Rounds, "seen", JSON{&f.Seen, "[]"}, "said", &f.Said, "said_at", When(&f.At),
			"taken", Flag{&r.Taken}, "looked_at", When(&r.LookedAt), "given_at", When(&r.GivenAt),
		)
	}}
}

// Notices holds the time at which each notice last went out.
func Notices() Table[Notice] {
	return Table[Notice]{"notices", 2, func(n *Notice) []Column {
		return columns("event", &n.Event, "subject", &n.Subject, "at", When(&n.At))
	}}
}

// Denials holds every claim that a run was denied.
func Denials() Table[Denial] {
	return Table[Denial]{"denials", 1, func(d *Denial) []Column {
		return columns("id", &d.ID, "run", &d.Run, "category", &d.Category, "key", &d.Key, "holder", &d.Holder, "at", When(&d.At))
	}}
}

// Resets holds the amounts that people struck out of accounts.
func Resets() Table[Reset] {
	return Table[Reset]{"resets", 1, func(r *Reset) []Column {
		return columns(
			"id", &r.ID, "at", When(&r.At), "scope", &r.Scope, "runs", &r.Runs, "tokens", &r.Tokens, "usd", &r.USD,
			"kept_runs", &r.KeptRuns, "kept_tokens", &r.KeptTokens, "kept_usd", &r.KeptUSD, "reason", &r.Reason,
		)
	}}
}
