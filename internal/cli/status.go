package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"stint/internal/engine"
	"stint/internal/fleet"
)

func newStatus(a *app) *cobra.Command {
	last := 5
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what runs, what is claimed, the last fires and what was learnt",
		Long: `Show what runs, what is claimed, what is paused, the last fires and runs, and what was
learnt of each category. Agents that cannot work, tasks that are left alone because
sessions fail at them, and what the sessions of today used, are shown where there are any.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runStatus(cmd.Context(), last)
		},
	}
	cmd.Flags().IntVar(&last, "last", last, "show the last `N` fires and runs")
	return cmd
}

func (a *app) runStatus(ctx context.Context, last int) error {
	if last < 0 {
		return usage(fmt.Errorf("--last %d: want 0 or more", last))
	}
	return a.withEngine(ctx, reading, nil, func(e *engine.Engine) error {
		var s engine.Status
		if e.Store == nil {
			a.nothingYet()
			s.At = a.Now()
		} else {
			var err error
			if s, err = e.Status(ctx, last); err != nil {
				return err
			}
		}
		if a.json {
			printJSON(a.Stdout, newStatusObject(e, s))
			return nil
		}
		if e.Store != nil {
			a.printStatus(e, s)
		}
		return nil
	})
}

// statusObject is stint/status@1.
type statusObject struct {
	Schema     string            `json:"schema"`
	Fleet      fleet.Name        `json:"fleet"`
	At         string            `json:"at"`
	Running    []openRunObject   `json:"running"`
	Claims     []claimObject     `json:"claims"`
	Fires      []fireObject      `json:"fires"` // newest first
	Runs       []runObject       `json:"runs"`  // newest first
	Posteriors []posteriorObject `json:"posteriors"`
	Day        auditObject       `json:"day"` // of the last 24 hours

	Pauses      []pausedObject      `json:"pauses"` // in force
	Agents      []stoppedObject     `json:"agents_stopped"`
	Quarantined []quarantinedObject `json:"quarantined"`
	Spent       []spentObject       `json:"spent_today"` // UTC, with what sessions under way are expected to use
}

type pausedObject struct {
	Category fleet.Category `json:"category"` // empty: the whole fleet
	Since    string         `json:"since"`
	Until    *string        `json:"until"` // null: until it is resumed
	Reason   string         `json:"reason"`
}

type stoppedObject struct {
	Agent    string  `json:"agent"`
	Until    *string `json:"until"` // null: until the run that tries it has ended
	Failures int     `json:"failures"`
	Reason   string  `json:"reason"`
}

type quarantinedObject struct {
	Task     fleet.TaskID `json:"task"`
	Failures int          `json:"failures"`
	Since    string       `json:"since"` // of the last failure
	Reason   string       `json:"reason"`
}

type spentObject struct {
	Scope  fleet.Scope `json:"scope"`
	Runs   int         `json:"runs"`
	Tokens int64       `json:"tokens"`
	USD    float64     `json:"usd"`
}

type openRunObject struct {
	runObject
	Live bool `json:"live"` // false: it died before it could record its end
}

// posteriorObject is what is believed of a category's mean grade.
type posteriorObject struct {
	Category fleet.Category `json:"category"`
	Graded   int            `json:"graded"`
	Alpha    float64        `json:"alpha"`
	Beta     float64        `json:"beta"`
	Mean     float64        `json:"mean"`
}

func newStatusObject(e *engine.Engine, s engine.Status) statusObject {
	o := statusObject{
		Schema: "stint/status@1", Fleet: e.Config.Fleet, At: stamp(s.At),
		Running: []openRunObject{}, Claims: []claimObject{}, Fires: []fireObject{}, Runs: []runObject{},
		Posteriors: posteriors(s), Day: newAuditObject(s.Day),
		Pauses: []pausedObject{}, Agents: []stoppedObject{}, Quarantined: []quarantinedObject{}, Spent: []spentObject{},
	}
	for _, r := range s.Open {
		o.Running = append(o.Running, openRunObject{newRunObject(r.Run), r.Live})
	}
	for _, c := range s.Claims {
		o.Claims = append(o.Claims, newClaimObject(claimHeld, c))
	}
	for _, f := range s.Fires {
		o.Fires = append(o.Fires, newFireObject(engine.FireReport{Fire: f}))
	}
	for _, r := range s.Runs {
		o.Runs = append(o.Runs, newRunObject(r))
	}
	o.addLimits(s)
	return o
}

// addLimits adds what keeps sessions from starting, and what those of today used.
func (o *statusObject) addLimits(s engine.Status) {
	for _, p := range s.Pauses {
		o.Pauses = append(o.Pauses, pausedObject{p.Category, stamp(p.Since), orNull(p.Until), p.Reason})
	}
	for _, g := range s.Stopped {
		var until *string
		if g.Until.After(s.At) {
			until = orNull(g.Until)
		}
		o.Agents = append(o.Agents, stoppedObject{g.Agent, until, g.Failures, g.Why})
	}
	for _, q := range s.Quarantined {
		o.Quarantined = append(o.Quarantined, quarantinedObject{q.Task, q.Failures, stamp(q.Since), q.Reason})
	}
	for _, u := range s.Spent {
		o.Spent = append(o.Spent, spentObject(u))
	}
}

// posteriors are the beliefs, best first.
func posteriors(s engine.Status) []posteriorObject {
	list := []posteriorObject{}
	for _, b := range s.Beliefs {
		list = append(list, posteriorObject{b.Category, b.Graded, b.A, b.B, b.Mean()})
	}
	slices.SortStableFunc(list, func(x, y posteriorObject) int { return cmp.Compare(y.Mean, x.Mean) })
	return list
}

func (a *app) printStatus(e *engine.Engine, s engine.Status) {
	if len(s.Fires) == 0 && len(s.Runs) == 0 {
		a.nothingYet()
	}
	fmt.Fprintf(a.Stdout, "fleet %s at %s\n", e.Config.Fleet, stamp(s.At))
	a.section("running", "RUN CATEGORY LANE TASK AGENT FOR UNIT", len(s.Open), func(i int) []string {
		r := s.Open[i]
		return []string{string(r.ID), string(r.Category), laneText(r.Lane), dash(string(r.Task)), r.Agent, openText(r, s.At), dash(r.Unit)}
	})
	a.section("claims held", "TASK HOLDER EPOCH UNTIL", len(s.Claims), func(i int) []string {
		c := s.Claims[i]
		return []string{string(c.Key), string(c.Holder), fmt.Sprint(c.Epoch), stamp(c.ExpiresAt)}
	})
	a.printLimits(s)
	a.section("last fires", "FIRE AT SPAWNED SKIPPED FAILED CATEGORIES", len(s.Fires), func(i int) []string {
		r := engine.FireReport{Fire: s.Fires[i]}
		return []string{
			fmt.Sprint(r.ID), stamp(r.At), fmt.Sprint(r.Count(fleet.Spawn)), fmt.Sprint(r.Count(fleet.Skip)),
			fmt.Sprint(r.Count(fleet.StartFailed)), dash(oneLine(spawned(r.Fire))),
		}
	})
	a.section("last runs", "RUN CATEGORY TASK AT ENDED", len(s.Runs), func(i int) []string {
		r := s.Runs[i]
		return []string{string(r.ID), string(r.Category), dash(string(r.Task)), stamp(r.CreatedAt), dash(verdictText(r.Verdict))}
	})
	d := s.Day
	fmt.Fprintf(a.Stdout, "\nlast 24 hours: %d runs, %s denials and %s pivots a run, %s did nothing\n",
		d.Runs, rate(d.Denials, d.Runs), rate(d.Pivots, d.Runs), rate(d.Noops, d.Runs))
	for _, f := range d.Fruitless {
		fmt.Fprintln(a.Stdout, fruitlessLine(f))
	}
	p := posteriors(s)
	a.section("posteriors", "CATEGORY MEAN GRADED BETA", len(p), func(i int) []string {
		return []string{
			string(p[i].Category), fmt.Sprintf("%.3f", p[i].Mean), fmt.Sprint(p[i].Graded),
			fmt.Sprintf("%.2f,%.2f", p[i].Alpha, p[i].Beta),
		}
	})
}

// printLimits prints what keeps sessions from starting, and what those of today used.
func (a *app) printLimits(s engine.Status) {
	a.section("paused", "CATEGORY SINCE UNTIL REASON", len(s.Pauses), func(i int) []string {
		p := s.Pauses[i]
		until := "resumed"
		if !p.Until.IsZero() {
			until = stamp(p.Until)
		}
		return []string{whole(p.Category), stamp(p.Since), until, dash(p.Reason)}
	})
	if len(s.Stopped) > 0 {
		a.section("agents that cannot work", "AGENT FAILURES REASON", len(s.Stopped), func(i int) []string {
			g := s.Stopped[i]
			return []string{g.Agent, fmt.Sprint(g.Failures), g.Why}
		})
	}
	if len(s.Quarantined) > 0 {
		a.section("quarantined tasks", "TASK FAILURES LAST REASON", len(s.Quarantined), func(i int) []string {
			q := s.Quarantined[i]
			return []string{string(q.Task), fmt.Sprint(q.Failures), stamp(q.Since), dash(q.Reason)}
		})
	}
	if len(s.Spent) > 0 {
		a.section("used today, UTC", "SCOPE RUNS TOKENS USD", len(s.Spent), func(i int) []string {
			u := s.Spent[i]
			return []string{string(u.Scope), fmt.Sprint(u.Runs), fmt.Sprint(u.Tokens), fmt.Sprintf("%.2f", u.USD)}
		})
	}
}

// section prints a titled table, or that there is nothing to put into it.
func (a *app) section(title, header string, n int, row func(i int) []string) {
	if n == 0 {
		fmt.Fprintf(a.Stdout, "\n%s: none\n", title)
		return
	}
	fmt.Fprintf(a.Stdout, "\n%s:\n", title)
	rows := [][]string{indented(fields(header))}
	for i := range n {
		rows = append(rows, indented(row(i)))
	}
	table(a.Stdout, rows)
}

func spawned(f fleet.Fire) (names []string) {
	for _, c := range f.Choices {
		if c.Decision == fleet.Spawn {
			names = append(names, string(c.Category))
		}
	}
	return names
}

// rate is a count a run, or a dash when there were none to count from.
func rate(n, runs int) string {
	if runs == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(n)/float64(runs))
}

func laneText(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

func openText(r engine.OpenRun, now time.Time) string {
	switch {
	case !r.Live:
		return "dead: it left no end"
	case r.StartedAt.IsZero() && r.NotBefore.After(now):
		return "rests until " + stamp(r.NotBefore)
	case r.StartedAt.IsZero():
		return "starting"
	default:
		return now.Sub(r.StartedAt).Round(time.Second).String()
	}
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
