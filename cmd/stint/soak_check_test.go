package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"stint/internal/bandit"
	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/replay"
	"stint/internal/selector"
	"stint/internal/store"
	"stint/internal/store/sqlite"
	"stint/internal/testkit/must"
)

// check looks at everything that the fleet has left.
func (s *soak) check() {
	s.Helper()
	if left := slices.Concat(s.units(), s.processes()); len(left) > 0 {
		s.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
	if _, out := s.stint("stint", []int{0}, "audit"); !strings.Contains(out, "same_lock_violations=0\n") {
		s.Errorf("audit:\n%s", out)
	}
	for _, c := range s.storeChecks() {
		for _, row := range s.rows(c.query) {
			s.Errorf("%s: %s", c.what, row)
		}
	}
	s.checkArms()
	s.checkReplay()
	s.checkClones()
}

// storeChecks are the crash table's, except for those that hold only without fractions of
// entitlements and of grades, and those of what only a soak has.
func (s *soak) storeChecks() []crashCheck {
	checks := slices.Concat(crashAlways(0), crashReaped(0), crashClosed(0))
	checks = slices.DeleteFunc(checks, func(c crashCheck) bool {
		return slices.Contains([]string{ // see checkArms
			"evidence that is not what its runs add up to", "evidence without its runs", "an entitlement that no fire gave",
		}, c.what)
	})
	used := `select day, scope, count(*), sum(tokens), round(sum(usd), 6) from (
select day, 'fleet' as scope, coalesce(tokens, reserved_tokens) as tokens, coalesce(usd, reserved_usd) as usd from runs where day <> ''
union all select day, 'agent:' || agent, coalesce(tokens, reserved_tokens), coalesce(usd, reserved_usd) from runs where day <> ''
union all select day, 'category:' || category, coalesce(tokens, reserved_tokens), coalesce(usd, reserved_usd) from runs where day <> ''
) group by day, scope`
	spent := "select day, scope, runs, tokens, round(usd, 6) from spent where runs > 0"
	return append(checks,
		crashCheck{"use that is not on the account", used + " except " + spent},
		crashCheck{"an account of no use", spent + " except " + used},
		crashCheck{"a session that no budget was asked for", "select id from runs where epoch > 0 and day = '' and not (outcome = 'failed' and grade is null)"},
		crashCheck{"more sessions than the budget has", fmt.Sprintf(
			"select day, count(*) from runs where category = 'tests' and day <> '' group by day having count(*) > %d", s.budget)},
		crashCheck{"epochs that are not 1, 2, …", `
select key, group_concat(epoch) from (select key, epoch from runs where epoch > 0 and key not like 'category:%' order by key, epoch)
group by key having min(epoch) <> 1 or max(epoch) <> count(*) or count(distinct epoch) <> count(*)`},
		crashCheck{"two sessions of a lane at once", `
select a.run, b.run from lane_holds a join lane_holds b
on a.category = b.category and a.lane = b.lane and (a.run, a.acquired_at) < (b.run, b.acquired_at) and b.acquired_at < a.released_at and a.acquired_at < b.released_at`},
	)
}

// checkArms adds up again, from the fires and the runs, what is remembered of every
// category: fires in their order, each with the sessions of its clock after it.
func (s *soak) checkArms() {
	s.Helper()
	ctx := context.WithoutCancel(s.Context())
	c, err := config.Load(filepath.Join(s.dir, "stint.toml"), config.Options{})
	must.Do(s, err)
	settings := c.Selector.Settings()
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: s.state, Fleet: fleet.Name(s.fleet), Workspace: s.work, Now: time.Now, Settings: settings})
	must.Do(s, err)
	defer func() { _ = db.Close() }()
	snapshot, err := db.Snapshot(ctx)
	must.Do(s, err)
	runs, err := db.RunsSince(ctx, time.Unix(0, 0))
	must.Do(s, err)
	fires, err := db.LastFires(ctx, store.FireQuery{Limit: 1 << 20})
	must.Do(s, err)
	slices.Reverse(fires) // oldest first
	want := recount(s, settings, fires, runs)
	for category, arm := range snapshot.Arms {
		got := arm.Arm
		again := want[category]
		if again == nil {
			again = &bandit.Arm{}
		}
		// When it was last looked at, the detector and the back-off depend on the order in
		// which ends and fires came.
		again.At, again.Up, again.Down, again.Shift = got.At, got.Up, got.Down, got.Shift
		noops := again.NoopsEver
		again.Backoff = got.Backoff
		again.NoopsEver = noops
		if diff := gocmp.Diff(got, *again, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
			s.Errorf("%s is not what its runs and fires add up to (-remembered +recounted):\n%s", category, diff)
		}
		now := got.Account
		now.Entitle(settings, 0) // settles it
		if x := float64(now.Sessions); x+1e-6 < settings.Floor*now.Entitled-now.Deficit || x-1e-6 > settings.Cap*now.Entitled+now.Surplus+now.Forgiven {
			s.Errorf("%s: %+v is out of bounds", category, now)
		}
	}
}

// recount makes the arms from nothing but the record.
func recount(s *soak, settings bandit.Settings, fires []fleet.Fire, runs []fleet.Run) map[fleet.Category]*bandit.Arm {
	s.Helper()
	arms := map[fleet.Category]*bandit.Arm{}
	counted := map[fleet.RunID]bool{}
	arm := func(c fleet.Category) *bandit.Arm {
		if arms[c] == nil {
			arms[c] = &bandit.Arm{}
		}
		return arms[c]
	}
	debit := func() {
		for _, r := range runs {
			if a := arm(r.Category); r.Epoch > 0 && r.Round == a.Round && !counted[r.ID] {
				counted[r.ID] = true
				a.Debit(a.Round)
			}
		}
	}
	debit()
	for _, f := range fires {
		in := must.Get(replay.Read(f))(s)
		ranked := selector.Rank(in)
		if !ranked.Moves() {
			continue
		}
		// A session that another fire was quicker at is due to nobody: there the record says what is due.
		rival := slices.ContainsFunc(f.Choices, func(c fleet.Choice) bool { return c.By == fleet.HinderedByRival })
		if rival && len(f.Due) == 0 {
			continue
		}
		for _, c := range ranked.Scores {
			if c.Pool != "" {
				continue
			}
			a := arm(c.Category)
			due, entitled := c.Due, c.In && ranked.Picks > 0
			if rival {
				due, entitled = f.Due[c.Category]
			}
			a.Move(settings, bandit.Move{Round: a.Round + 1, Due: due, Entitled: entitled})
		}
		debit()
	}
	for _, r := range slices.SortedFunc(slices.Values(runs), func(a, b fleet.Run) int { return cmp.Or(a.EndedAt.Compare(b.EndedAt), cmp.Compare(a.ID, b.ID)) }) {
		if r.Final() != nil && !r.Held {
			settings.Learn(arm(r.Category), bandit.Prior{}, bandit.Graded{
				Round: r.Round, Turn: bandit.Turn(r.StartedAt), Load: r.Load, Grade: *r.Final(),
			})
		}
		if r.Verdict.Empty() {
			arm(r.Category).NoopsEver++
		}
	}
	return arms
}

// checkReplay ranks and decides every fire again.
func (s *soak) checkReplay() {
	s.Helper()
	ids := make(chan string)
	var crowd sync.WaitGroup
	for range 2 {
		crowd.Go(func() {
			for id := range ids {
				if _, out := s.stint("stint", []int{0}, "replay", id); !strings.Contains(out, "identical") {
					s.Errorf("replay of fire %s:\n%s", id, out)
				}
			}
		})
	}
	for _, id := range s.rows("select id from fires") {
		ids <- id
	}
	close(ids)
	crowd.Wait()
}

// checkClones looks at what sessions left in the workspace: a clone stays only where there is more in it than came home, and no pin
// without its clone.
func (s *soak) checkClones() {
	s.Helper()
	kept := map[string]bool{}
	folders, _ := filepath.Glob(filepath.Join(s.state, "clones", "[0-9a-z]*"))
	for _, dir := range folders {
		if filepath.Ext(dir) == ".kept" || strings.Contains(dir, "/landing-") {
			continue
		}
		run := filepath.Base(dir)
		kept[run] = true
		if _, err := os.Stat(dir + ".kept"); err != nil {
			s.Errorf("clone %s is left: run %v", dir, s.rows("select outcome, reason from runs where id = '"+run+"'"))
		}
	}
	for ref := range strings.FieldsSeq(s.must("git", "-C", "work", "for-each-ref", "--format=%(refname)", "refs/stint/keep/")) {
		if run := path.Base(ref); !kept[run] {
			s.Errorf("pin %s has no clone", ref)
		}
	}
	locks, _ := filepath.Glob(filepath.Join(s.work, ".git", "*.lock"))
	for _, lock := range locks {
		if name := filepath.Base(lock); name != "stint.lock" { // in which syncs take turns
			s.Logf("a git that was killed has left %s", name)
		}
	}
	s.Logf("clones kept: %d", len(kept))
}
