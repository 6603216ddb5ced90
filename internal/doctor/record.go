package doctor

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"stint/internal/config"
	"stint/internal/engine"
	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/store"
)

// examineRecord checks whether the record agrees with itself and with the live sessions, and looks for agents that are
// stopped or have no price. If the store cannot be read, its own check may have told why.
func (d *Doctor) examineRecord(ctx context.Context) (record, agents []Finding) {
	var (
		status   inspect.Status
		off      []fleet.Discrepancy
		left     []fleet.Run
		unpriced []Finding
	)
	err := d.Engine(ctx, false, func(e *engine.Engine) (err error) {
		e.Timers = nil                        // already asked
		e.Log = slog.New(slog.DiscardHandler) // each of its warnings is a finding here
		if !e.Recorded() {                    // nothing has run yet
			return nil
		}
		x := &inspect.Explainer{Reader: e.Reader}
		if status, err = x.Status(ctx, inspect.StatusOptions{Fires: 1, Runs: 1}); err != nil {
			return err
		}
		if off, err = x.Discrepancies(ctx); err != nil {
			return err
		}
		if unpriced, err = examinePrices(ctx, x); err != nil {
			return err
		}
		left, err = leftovers(ctx, e)
		return err
	})
	if err != nil {
		d.unread = true
		why := "the store cannot be read"
		if !d.faulty {
			why += ": " + err.Error()
		}
		return []Finding{unknown("runs", why), unknown("lanes", why), unknown("figures", why)}, []Finding{unknown("agent_rest", why)}
	}
	d.live = len(plain.Kept(status.Open, func(run fleet.RunStatus) bool { return run.State != fleet.RunCrashed }))
	for _, f := range status.Fires {
		d.lastFire, d.latest = f.At, plain.Latest(d.latest, f.At)
	}
	for _, run := range status.Runs {
		d.latest = plain.Latest(d.latest, run.CreatedAt, run.StartedAt, run.EndedAt)
	}
	record = []Finding{judgeRuns(d.live, left), judgeLanes(len(status.Day.Violations)), judgeFigures(off)}
	return record, append(judgeRests(status.Stopped), unpriced...)
}

// leftovers returns the runs that a reap would close, seen at two looks: a run is for a moment between its end and the
// release of what it holds.
func leftovers(ctx context.Context, e *engine.Engine) (list []fleet.Run, err error) {
	first, err := e.Reap(ctx, true)
	if err != nil || len(first) == 0 {
		return nil, err
	}
	second, err := e.Reap(ctx, true)
	for _, r := range second {
		if slices.ContainsFunc(first, func(f engine.Reaped) bool { return f.Run.ID == r.Run.ID }) {
			list = append(list, r.Run)
		}
	}
	return list, err
}

// judgeRuns judges the runs that are left behind. A run with an end has not released what it held.
func judgeRuns(live int, left []fleet.Run) Finding {
	const check = "runs"
	var dead, ended, what []string
	for _, r := range left {
		text := fmt.Sprintf("%s (%s)", r.ID, r.Category)
		if r.EndedAt.IsZero() {
			dead = append(dead, text)
		} else {
			ended = append(ended, text)
		}
	}
	if len(dead) > 0 {
		what = append(what, plain.Plural(len(dead), "run")+" open without a living session: "+listed(dead))
	}
	if len(ended) > 0 {
		what = append(what, plain.Plural(len(ended), "run")+" ended with a claim or lane still held: "+listed(ended))
	}
	if len(what) == 0 {
		return ok(check, "%s under way, nothing left behind", plain.Plural(live, "session"))
	}
	return Finding{
		Check: check, State: Warning, What: strings.Join(what, "; "),
		Why: "they keep claims, lanes and slots from others until the next fire",
		Fix: "stint reap", Repair: repairRuns,
	}
}

func (d *Doctor) reap(ctx context.Context, dryRun bool) (done []string, err error) {
	err = d.Engine(ctx, !dryRun, func(e *engine.Engine) error {
		reaped, err := e.Reap(ctx, dryRun)
		for _, r := range reaped {
			done = append(done, fmt.Sprintf("closed run %s (%s): %s", r.Run.ID, r.Run.Category, r.Reason))
		}
		return err
	})
	return done, err
}

func judgeLanes(violations int) Finding {
	const check = "lanes"
	if violations > 0 {
		return Finding{
			Check: check, State: Problem,
			What: plain.Plural(violations, "time") + " in the last day two runs held one lane at once",
			Why:  "two sessions worked in a lane that has room for one: locks do not hold on that disk, or were removed",
			Fix:  "stint audit --since 24h",
		}
	}
	return ok(check, "none held twice in the last day")
}

func judgeFigures(off []fleet.Discrepancy) Finding {
	const check = "figures"
	if len(off) > 0 {
		what := plain.Each(off, fleet.Discrepancy.String)
		return Finding{
			Check: check, State: Problem, What: plain.Plural(len(off), "figure") + " of the store do not add up: " + listed(what),
			Why: "only stint writes them: somebody else did, or the store is damaged; rankings, budgets and claims that follow from them are wrong",
			Fix: "stint audit",
		}
	}
	return ok(check, "beliefs, accounts, budgets and epochs add up by the record")
}

// judgeRests reports the agents that are stopped now. A usage limit or a service without room is no fault; an agent or
// login that fails is one.
func judgeRests(stopped []inspect.StoppedAgent) (list []Finding) {
	const check = "agent_rest"
	for _, s := range stopped {
		f := ok(check, "%s: %s", s.Agent, s.Why)
		if s.Fix != "" {
			f.State, f.Why, f.Fix = Warning, "none of its sessions starts until then; then one tries it", s.Fix
		}
		list = append(list, f)
	}
	if len(list) == 0 {
		list = append(list, ok(check, "none"))
	}
	return list
}

// maxLooked bounds the search for a session among an agent's latest runs: the others found no lane or no task.
const maxLooked = 20

// examinePrices reports agents with a budget in USD whose latest session used a model without a price.
func examinePrices(ctx context.Context, e *inspect.Explainer) (list []Finding, err error) {
	for _, agent := range e.Config.AgentNames() {
		runs, err := e.Runs(ctx, store.RunQuery{Agent: agent, Ended: true, Limit: maxLooked})
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(runs, func(r fleet.RunStatus) bool { return len(r.Usage.Models) > 0 })
		if at < 0 {
			continue
		}
		models := slices.DeleteFunc(runs[at].Usage.Models, func(m string) bool { _, ok := e.Config.Prices.Of(m); return ok })
		if runs[at].Usage.Cost != fleet.CostReported && len(models) > 0 && e.Config.BindsUSD(runs[at].Category, agent) {
			list = append(list, Finding{
				Check: "price", State: Warning, What: fmt.Sprintf("%s: %s", agent, config.Unpriced(models)),
				Why: "its budget in USD counts what its sessions cost on average, as far as that is known",
				Fix: fmt.Sprintf("write [price.%q] with input and output into stint.toml: stint help agents", models[0]),
			})
		}
	}
	return list, nil
}
