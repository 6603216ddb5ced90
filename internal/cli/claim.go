package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stint/internal/claim"
	"stint/internal/config"
	"stint/internal/door"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/store"
	"stint/internal/view"
)

// defaultTTL is the life of a claim taken by hand.
const defaultTTL = time.Hour

// claimOptions are the flags of the claim commands.
type claimOptions struct {
	holder    fleet.Holder
	ttl       time.Duration
	note      string
	epoch     fleet.Epoch
	done      bool
	abandoned bool
	reason    string
}

func newClaim(a *app) *cobra.Command {
	cmd := newClaimTake(a)
	cmd.Use = "claim TASK"
	cmd.Short = "Take, check and release claims on tasks"
	cmd.Long = `A claim is the exclusive right to work on a task until it expires. The first
to take a free task gets it at the next epoch; another is denied.

"stint claim TASK" is short for "stint claim take TASK". The holder is --holder,
else $STINT_HOLDER, else user@host. Only a holder that was named renews by taking
again. TASK is a task's id, or any other text that says what is claimed: 1 to 512
bytes without control characters, and not beginning with "category:": those keys are the
lanes of categories, which sessions claim, and can be checked and released here
("category:code:1"; checking "category:code" checks all lanes of code). A word that looks like
a slip of one of the commands below is refused, unless it is a task's id: for that,
"stint claim take TASK".`
	cmd.Example = `  stint claim fix-login --holder alice
  stint claim check fix-login
  stint claim renew fix-login --holder alice --epoch 1 --ttl 30m
  stint claim release fix-login --holder alice --done
  stint claim verify          # in a git pre-push hook`
	take, renew := newClaimTake(a), newClaimRenew(a)
	take.Hidden, renew.Hidden = true, true // for programs
	cmd.AddCommand(take, newClaimCheck(a), renew, newClaimRelease(a), newClaimVerify(a), newClaimList(a))
	takes := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if args[0] == "help" {
			return cmd.Help()
		}
		if slip := slipOf(cmd, args[0]); slip != nil {
			if c, err := a.loadConfig(); err != nil || !hasTask(c, args[0]) {
				return slip
			}
		}
		return takes(cmd, args)
	}
	return cmd
}

func newClaimTake(a *app) *cobra.Command {
	var o claimOptions
	cmd := a.dry(&cobra.Command{
		Use:   "take TASK",
		Short: "Take a claim, or renew your own",
		RunE: func(cmd *cobra.Command, args []string) error {
			h, named, err := a.hold(args[0], o, fleet.ParseKey)
			if err != nil {
				return err
			}
			answer, err := a.ask(cmd.Context(), door.Request{
				Verb: door.ClaimTake, Key: h.Key, Holder: h.Holder, Named: named, TTL: o.ttl, Note: o.note, DryRun: a.dryRun,
			})
			if err != nil {
				return err
			}
			a.note(answer.Note)
			return a.printGrant(answer.Grant, answer.Claim, named)
		},
	})
	o.addHolder(cmd)
	o.addTTL(cmd)
	cmd.Flags().Var(textFlag(&o.note), "note", "what it is for, shown to others")
	return cmd
}

func newClaimCheck(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "check TASK",
		Short: "Check whether a task is free (status 0) or held (status 4)",
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := fleet.ParseAnyKey(args[0])
			if err != nil {
				return usage(err)
			}
			return a.with(cmd.Context(), reading|record, func(f opened) error { return a.claimCheck(cmd.Context(), f, key) })
		},
	}
}

func newClaimRenew(a *app) *cobra.Command {
	var o claimOptions
	cmd := a.dry(&cobra.Command{
		Use:   "renew TASK",
		Short: "Move the expiry of your own claim",
		RunE: func(cmd *cobra.Command, args []string) error {
			h, _, err := a.hold(args[0], o, fleet.ParseKey)
			if err != nil {
				return err
			}
			answer, err := a.ask(cmd.Context(), door.Request{
				Verb: door.ClaimRenew, Key: h.Key, Holder: h.Holder, Epoch: h.Epoch, TTL: o.ttl, DryRun: a.dryRun,
			})
			return a.printHeld(h, view.ClaimRenewed, answer.Claim, err)
		},
	})
	o.addHolder(cmd)
	o.addEpoch(cmd)
	o.addTTL(cmd)
	return cmd
}

func newClaimRelease(a *app) *cobra.Command {
	var o claimOptions
	cmd := a.dry(&cobra.Command{
		Use:   "release TASK",
		Short: "Release your own claim",
		Long: `Release your own claim. Naming another holder releases a claim that is stuck, and ends that
holder's right to work on the task. While a session holds the claim and lives, this is
denied: status 4. If nobody can know whether it lives, --abandoned says that it does not.`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.claimRelease(cmd.Context(), args[0], o) },
	})
	o.addHolder(cmd)
	o.addEpoch(cmd)
	cmd.Flags().BoolVar(&o.done, "done", false, "the work is finished")
	cmd.Flags().BoolVar(&o.abandoned, "abandoned", false, "the work was given up")
	cmd.Flags().Var(textFlag(&o.reason), "reason", "why")
	cmd.MarkFlagsMutuallyExclusive("done", "abandoned")
	return cmd
}

func newClaimVerify(a *app) *cobra.Command {
	var o claimOptions
	cmd := &cobra.Command{
		Use:   "verify [TASK --epoch N]",
		Short: "Check whether a claim still stands at an epoch (status 0) or not (status 5)",
		Long: `Check whether a claim still stands at an epoch: status 0, else 5. If $STINT_HOLDER names a
holder, as in a session, the claim must be that holder's.

Without TASK, check the claim of the session $STINT_RUN_ID. Outside a session the
status is 0. So this git pre-push hook stops a session that lost its claim, and
nobody else:

  #!/bin/sh
  exec stint claim verify`,
		RunE: func(cmd *cobra.Command, args []string) error {
			q := door.Request{Verb: door.ClaimVerify, Epoch: o.epoch}
			own := a.Getenv("STINT_RUN_ID")
			var err error
			switch {
			case len(args) == 1 && o.epoch == 0:
				return usage(errors.New("--epoch is needed with a task"))
			case len(args) == 1:
				q.Key, err = fleet.ParseKey(args[0])
				q.Holder = fleet.Holder(a.Getenv("STINT_HOLDER"))
			case o.epoch != 0:
				return usage(errors.New("--epoch needs a task"))
			case own == "": // no session: nothing to verify
				a.asObject(view.Claim().JSON(view.ClaimState{Status: view.ClaimFree}))
				return nil
			default:
				q.Run, err = fleet.ParseRunID(own)
			}
			if err != nil {
				return usage(err)
			}
			// A lost claim is reported as such, taken since or not.
			answer, err := a.ask(cmd.Context(), q)
			return a.printHeld(store.Hold{Key: answer.Claim.Key, Epoch: answer.Claim.Epoch}, view.ClaimHeld, answer.Claim, err)
		},
	}
	o.addEpoch(cmd)
	return cmd
}

func newClaimList(a *app) *cobra.Command {
	var asked store.Listing
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the claims that are held",
		RunE: a.open(reading|record, func(ctx context.Context, f opened, _ []string) error {
			now, err := f.Record().List(ctx, asked)
			if err != nil {
				return err
			}
			held := f.Desk().Held(ctx, now)
			list, keys := now.Claims, map[fleet.Key]bool{} // the listed claims are looked up one by one, and may be many
			if !asked.All {
				list = held
			}
			for _, c := range held {
				keys[c.Key] = true
			}
			states := plain.Each(list, func(c fleet.Claim) view.ClaimState {
				status := view.ClaimFree
				switch {
				case keys[c.Key]:
					status = view.ClaimHeld
				case !c.ReleasedAt.IsZero():
					status = view.ClaimReleased
				}
				return view.ClaimState{Claim: c, Status: status}
			})
			return show(a, view.Claims().JSON(states), view.ListedClaim(), states, nil, "")
		}),
	}
	cmd.Flags().BoolVar(&asked.All, "all", false, "released and expired ones too")
	cmd.Flags().Var(holderFlag(&asked.Holder), "holder", "those of one holder")
	return cmd
}

func (o *claimOptions) addHolder(cmd *cobra.Command) {
	cmd.Flags().Var(holderFlag(&o.holder), "holder", "who claims (default $STINT_HOLDER, else user@host)")
}

func (o *claimOptions) addTTL(cmd *cobra.Command) {
	o.ttl = defaultTTL
	ttl := spanFlag(&o.ttl)
	ttl.text = o.ttl.String()
	cmd.Flags().Var(ttl, "ttl", "time-to-live from now, such as 30m or 7d")
}

func (o *claimOptions) addEpoch(cmd *cobra.Command) {
	cmd.Flags().Var(countFlag(&o.epoch), "epoch", "the epoch the claim was granted at")
}

// hasTask reports whether the folder has a task. Trackers are not asked: claims are made by
// scripts and hooks, and must not wait for one.
func hasTask(c *config.Config, word string) bool { return taskFolder(c).Has(fleet.TaskID(word)) }

// excludesNobody warns of a key that is none of a task's and ends in its id, as scripts use that
// had claims of their own before. Sessions claim the id alone.
func excludesNobody(c *config.Config, key fleet.Key, status string) string {
	for _, rest, found := strings.Cut(string(key), ":"); found; _, rest, found = strings.Cut(rest, ":") {
		if hasTask(c, rest) && !hasTask(c, string(key)) {
			return fmt.Sprintf("%s, but this key excludes nobody who works on task %s: claim %[2]s", status, rest)
		}
	}
	return ""
}

// note says on standard error what the caller may have missed.
func (a *app) note(text string) {
	if text != "" {
		fmt.Fprintf(leveled(a.Stderr, levelNotice), "stint: note: %s\n", plain.Text(text))
	}
}

// hold is the claim that the command line means.
func (a *app) hold(task string, o claimOptions, parse func(string) (fleet.Key, error)) (h store.Hold, named bool, err error) {
	if h.Key, err = parse(task); err != nil {
		return h, false, usage(err)
	}
	if h.Holder, named, err = a.holder(string(o.holder)); err != nil {
		return h, false, err
	}
	h.Epoch = o.epoch
	return h, named, nil
}

func (a *app) printGrant(grant fleet.Grant, c fleet.Claim, named bool) error {
	if grant != fleet.Denied {
		a.printClaim(view.ClaimStatus(grant), map[fleet.Grant]string{fleet.Granted: "claimed", fleet.Renewed: "renewed"}[grant], c)
		return nil
	}
	if !a.asObject(view.Claim().JSON(view.ClaimState{Claim: c, Status: view.ClaimDenied, DryRun: a.dryRun})) {
		fmt.Fprintln(a.Stderr, plain.Text(c.Denial()))
	}
	if !named {
		a.hint("to renew a claim of your own, name its holder: --holder NAME")
	}
	return reported{fmt.Errorf("take claim %q: %w", c.Key, fleet.ErrHeld)}
}

// dryMark marks a line of a dry run.
func (a *app) dryMark() string { return a.did("", "dry run: ") }

// printClaim says what was done with a claim.
func (a *app) printClaim(status view.ClaimStatus, verb string, c fleet.Claim) {
	object := view.Claim().JSON(view.ClaimState{Claim: c, Status: status, DryRun: a.dryRun})
	end := "until " + stamp(c.ExpiresAt)
	if status == view.ClaimReleased {
		end = fmt.Sprintf("(%s)", c.Ending)
	}
	a.sayLine(object, fmt.Sprintf("%s%s %s epoch %d %s", a.dryMark(), verb, c.Key, c.Epoch, end))
}

func (a *app) claimCheck(ctx context.Context, f opened, key fleet.Key) error {
	keys := lanesOf(f.Config, key)
	known, whole := len(keys) > 0, len(keys) > 0 && keys[0] != key
	if !known {
		keys = []fleet.Key{key}
	}
	var list []view.ClaimState
	var lines []string
	status, free := view.ClaimHeld, 0
	for _, k := range keys {
		c, at, err := f.Record().Check(ctx, k)
		if err != nil {
			return err
		}
		known = known || c.Epoch > 0
		lane, line := view.ClaimHeld, fmt.Sprintf("held %s by %s epoch %d until %s", k, c.Holder, c.Epoch, stamp(c.ExpiresAt))
		if c.Free(at, f.Desk().Holder(ctx, c)) {
			status, free, lane, line = view.ClaimFree, free+1, view.ClaimFree, fmt.Sprintf("free %s", k)
			c = fleet.Claim{Key: k, Epoch: c.Epoch}
		}
		list, lines = append(list, view.ClaimState{Claim: c, Status: lane}), append(lines, line)
	}
	object := list[0]
	if whole {
		object = view.ClaimState{Claim: fleet.Claim{Key: key}, Status: status, Lanes: list}
		lines = slices.Insert(lines, 0, fmt.Sprintf("%s %s: %d of %s free", status, key, free, plain.Plural(len(keys), "lane")))
	}
	if !a.asObject(view.Claim().JSON(object)) {
		a.print(plain.Each(lines, plain.Text))
	}
	note := excludesNobody(f.Config, key, string(status))
	if note == "" && !known && (key.IsLane() || !hasTask(f.Config, string(key))) { // mistyped?
		note = fmt.Sprintf("%s is unknown: no task file and no lane has that name, and nobody ever claimed it", key)
	}
	a.note(note)
	if free == 0 {
		return reported{fmt.Errorf("check claim %q: %w", key, fleet.ErrHeld)}
	}
	return nil
}

// lanesOf are the lanes of the category that a key names, or the lane that it is, if they are in the
// configuration.
func lanesOf(cfg *config.Config, key fleet.Key) (list []fleet.Key) {
	for name, c := range cfg.Categories {
		for n := range c.Lanes {
			lane := fleet.LaneKey(name, n+1)
			if lane == key || key.IsLane() && strings.HasPrefix(string(lane), string(key)+":") {
				list = append(list, lane)
			}
		}
	}
	return list
}

func (a *app) claimRelease(ctx context.Context, task string, o claimOptions) error {
	h, _, err := a.hold(task, o, fleet.ParseAnyKey)
	if err != nil {
		return err
	}
	ending := fleet.EndingReleased
	switch {
	case o.done:
		ending = fleet.EndingDone
	case o.abandoned:
		ending = fleet.EndingAbandoned
	}
	answer, err := a.ask(ctx, door.Request{
		Verb: door.ClaimRelease, Run: fleet.RunID(a.Getenv("STINT_RUN_ID")), Key: h.Key, Holder: h.Holder, Epoch: h.Epoch,
		Ending: ending, Reason: o.reason, DryRun: a.dryRun,
	})
	if used := (claim.InUseError{}); errors.As(err, &used) {
		a.printInUse(used)
		return reported{err}
	}
	return a.printHeld(h, view.ClaimReleased, answer.Claim, err)
}

// printInUse says that a session has the claim that was to be given back, and what may be done.
func (a *app) printInUse(e claim.InUseError) {
	if a.asObject(view.Claim().JSON(view.ClaimState{Claim: e.Claim, Status: view.ClaimDenied})) {
		return
	}
	fmt.Fprintln(a.Stderr, plain.Text(e.Claim.Denial()))
	run, _ := e.Claim.Holder.Run()
	if e.Session == fleet.Lives {
		a.hint(fmt.Sprintf("end its session first, which gives the claim back: stint stop %s", run))
	} else {
		a.hint("stint cannot know whether its session lives: if you know that it does not, add --abandoned")
	}
}

// printHeld prints the result of a write that only the claim's holder may make.
func (a *app) printHeld(h store.Hold, status view.ClaimStatus, c fleet.Claim, err error) error {
	switch {
	case errors.Is(err, fleet.ErrLost):
		return a.printLost(h, err)
	case err != nil:
		return err
	}
	a.printClaim(status, string(status), c)
	return nil
}

// printLost reports that a claim is not, or no longer, what the caller thinks.
func (a *app) printLost(h store.Hold, err error) error {
	a.asObject(view.Claim().JSON(view.ClaimState{Claim: fleet.Claim{Key: h.Key, Holder: h.Holder, Epoch: h.Epoch}, Status: view.ClaimLost}))
	return err
}
