package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
select a.run, b.run from (select id as run, category, lane, lane_at as acquired_at, lane_left as released_at from runs where lane_at is not null) a join (select id as run, category, lane, lane_at as acquired_at, lane_left as released_at from runs where lane_at is not null) b
on a.category = b.category and a.lane = b.lane and (a.run, a.acquired_at) < (b.run, b.acquired_at) and b.acquired_at < a.released_at and a.acquired_at < b.released_at`},
	)
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
