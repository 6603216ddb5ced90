package view

import (
	"fmt"
	"time"

	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	"stint/internal/plain"
)

// Spent shows the use of a day's sessions.
func Spent() View[fleet.Spent] {
	type spent = fleet.Spent
	return View[spent]{
		Word("scope", "Today", "", func(s spent) fleet.Scope { return s.Scope }),
		Int("runs", "", "", func(s spent) int { return s.Runs }),
		Tokens("tokens", "", "", func(s spent) int64 { return s.Tokens }),
		Number("usd", "", func(s spent) float64 { return s.USD }),
		Number("usd_estimated", "The part of USD that was computed from prices, assumed, or expected of a session under way.",
			func(s spent) float64 { return s.Guessed }),
		Tokens("tokens_reserved", "", "The part of tokens and usd for the sessions under way.", func(s spent) int64 { return s.ReservedTokens }),
		Number("usd_reserved", "", func(s spent) float64 { return s.ReservedUSD }),
	}
}

// Account shows the use of a budget, and its limits.
func Account() View[inspect.Account] {
	type account = inspect.Account
	return With(Spent(), func(a account) fleet.Spent { return a.Spent },
		limited("Runs", func(a account) (string, string, bool) {
			return fmt.Sprint(a.Runs), fmt.Sprint(a.Most.Runs), a.Most.Runs > 0
		}),
		limited("Tokens", func(a account) (string, string, bool) {
			return plain.Count(a.Tokens), plain.Count(a.Most.Tokens), a.Most.Tokens > 0
		}),
		limited("Cost", func(a account) (string, string, bool) {
			return Money{USD: a.USD, Guessed: a.Guessed}.String(), Money{USD: a.Most.USD}.String(), a.Most.USD > 0
		}),
		Tokens("", "Reserved", "", func(a account) int64 { return a.ReservedTokens }),
		USD("", "Reserved cost", "", func(a account) Money { return Money{USD: a.ReservedUSD, Guessed: a.ReservedUSD} }),
		Int("most_runs", "", "0: no limit", func(a account) int { return a.Most.Runs }),
		Int("most_tokens", "", "", func(a account) int64 { return a.Most.Tokens }),
		Number("most_usd", "", func(a account) float64 { return a.Most.USD }))
}

// limited shows to people a figure beside its limit.
func limited[T any](name string, of func(T) (value, most string, bound bool)) Field[T] {
	return Word("", name, "", func(t T) string {
		value, most, bound := of(t)
		if bound {
			value += " of " + most
		}
		return value
	})
}

// Budget shows the use of today, and the reserves of the next sessions.
func Budget() View[inspect.Budget] {
	type budget = inspect.Budget
	return View[budget]{
		Schema[budget]("stint/budget@1"),
		At("until", "", "when the day ends", func(b budget) time.Time { return b.Until }).OrNull(),
		Each("scopes", "", Account(), func(b budget) []inspect.Account { return b.Accounts }),
		Each("next", "", View[inspect.NextSession]{
			Word("agent", "", "", func(n inspect.NextSession) string { return n.Agent }),
			Tokens("tokens", "", "", func(n inspect.NextSession) int64 { return n.Tokens }),
			Number("usd", "", func(n inspect.NextSession) float64 { return n.USD }),
			Int("bills", "", "that it goes by", func(n inspect.NextSession) int { return n.Bills }),
			Each("doubtful", "those of them that count as less than they were", View[fleet.Bill]{
				Word("run", "", "", func(b fleet.Bill) fleet.RunID { return b.Run }),
				Data("tokens", "integer or null", "", func(b fleet.Bill) *int64 { return b.Tokens }),
				Data("usd", "number or null", "", func(b fleet.Bill) *float64 { return b.USD }),
			}, func(n inspect.NextSession) []fleet.Bill { return n.Doubtful }),
			Each("windows", "of the plan of its login on this host, as a session last heard of them", View[fleet.Window]{
				Number("hours", "", func(w fleet.Window) float64 { return w.Long.Hours() }),
				Number("used", "", func(w fleet.Window) float64 { return w.Used }),
				At("resets", "", "", func(w fleet.Window) time.Time { return w.Resets }),
			}, func(n inspect.NextSession) []fleet.Window { return n.Windows }),
		}, func(b budget) []inspect.NextSession { return b.Next }),
		Each("resets", "of today", reset(), func(b budget) []fleet.Reset { return b.Resets }),
	}
}

// reset shows an account that was reset.
func reset() View[fleet.Reset] {
	type reset = fleet.Reset
	return View[reset]{
		At("at", "", "", func(r reset) time.Time { return r.At }).OrNull(),
		Word("scope", "", "", func(r reset) fleet.Scope { return r.Scope }),
		Int("runs", "", "struck out", func(r reset) int { return r.Runs }),
		Tokens("tokens", "", "", func(r reset) int64 { return r.Tokens }),
		Number("usd", "", func(r reset) float64 { return r.USD }),
		Text("reason", "", "", func(r reset) string { return r.Reason }),
	}
}

// Reset shows the answer of "stint budget reset".
func Reset(dryRun bool) View[fleet.Reset] {
	return append(View[fleet.Reset]{
		Schema[fleet.Reset]("stint/budget-reset@1"), Bool("dry_run", "", func(fleet.Reset) bool { return dryRun }).OrAbsent(),
	}, reset()...)
}
