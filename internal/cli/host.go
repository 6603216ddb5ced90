package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"stint/internal/fleet"
	"stint/internal/machine"
	"stint/internal/plain"
	"stint/internal/store"
	"stint/internal/view"
)

func newHost(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "host",
		Short: "Show this host's identity, and manage the fleet's hosts",
		Long: `Show this host's identity in the fleet, which is in the state folder, and the id of its boot.
The first command that writes gives the folder its identity.`,
		RunE: func(*cobra.Command, []string) error { return a.showHost() },
	}
	cmd.AddCommand(newHostList(a), newHostGone(a), newHostForget(a), newHostAdopt(a))
	return cmd
}

func newHostList(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the hosts of the fleet, and what is wrong with them",
		Long: `List the hosts that have fired: when each was last heard of, its sessions and slots, its
fires, its version of stint, and what is wrong with it. A host is heard of when it fires, and by
the heartbeats of its sessions, which come every few minutes.`,
		RunE: a.open(reading|record, func(ctx context.Context, f opened, _ []string) error {
			at, list, err := f.AllHosts(ctx)
			return show(a, view.Hosts(at).JSON(list), view.Host(), list, err, "")
		}),
	}
}

func newHostGone(a *app) *cobra.Command {
	var reason string
	cmd := a.dry(&cobra.Command{
		Use:   "gone NAME",
		Short: "Say that a host is off, and free what its sessions hold",
		Long: `Say that a host of the fleet is off. Its open runs end as abandoned, and their claims and lanes
are free at once. Only you can know it: a session still at work there learns of it at
its next heartbeat; until then two sessions may work on its task. A host that fires again is back.`,
		Example: `  stint host gone gpu-2 --reason "its disk burnt"`,
		RunE: a.openHost(func(ctx context.Context, f opened, h fleet.Host) error {
			if h.ID == f.Here.Host {
				return fleet.WithHint(usage(fmt.Errorf("%s is this host, which is not off", h.Name)), "stint stop --all")
			}
			reason := cmp.Or(reason, "by "+a.user())
			ended, err := f.Store.HostGone(ctx, h.ID, reason)
			line := fmt.Sprintf("%s is gone: %s; ended=%d", h.Name, reason, len(ended))
			return a.sayDone(err, a.hostChangeObject("gone", reason, ended).JSON(h), a.dryMark()+line)
		}),
	})
	cmd.Flags().Var(textFlag(&reason), "reason", "why: a line of `TEXT` for other people")
	return cmd
}

func newHostForget(a *app) *cobra.Command {
	return a.dry(&cobra.Command{
		Use:   "forget NAME",
		Short: "Remove a host that is gone",
		Long: `Remove a host from the fleet's list. A person must have said that it is gone, and it
must have no open runs. Its past runs stay on record.`,
		RunE: a.openHost(func(ctx context.Context, f opened, h fleet.Host) error {
			object := a.hostChangeObject("forgotten", h.Reason, nil).JSON(h)
			return a.sayDone(f.Store.ForgetHost(ctx, h.ID), object, a.did("forgot ", "would forget ")+h.Name)
		}),
	})
}

func newHostAdopt(a *app) *cobra.Command {
	var name string
	cmd := a.dry(&cobra.Command{
		Use:   "adopt",
		Short: "Take over a state folder that came from another host",
		Long: `Take over a state folder that was copied or moved from another host: it gets an identity of this
host. Sessions may still live on the other host. Their claims and lanes stay taken here until the
claims expire. --name sets this host's name in the fleet; no two hosts may share one.`,
		RunE: func(*cobra.Command, []string) error { return a.adoptHost(name) },
	})
	cmd.Flags().Var(textFlag(&name), "name", "the host's `NAME` in the fleet")
	return cmd
}

// openHost is [app.open] for a command about the host that its word names.
func (a *app) openHost(fn func(ctx context.Context, f opened, h fleet.Host) error) func(*cobra.Command, []string) error {
	return a.open(existing, func(ctx context.Context, f opened, args []string) error {
		h, err := namedHost(ctx, f.Record(), args[0])
		if err != nil {
			return err
		}
		return fn(ctx, f, h)
	})
}

// hostID is the identity of the machine that a flag names, if it names one.
func hostID(ctx context.Context, e opened, name string) (string, error) {
	if name == "" || e.Store == nil {
		return "", nil
	}
	h, err := namedHost(ctx, e.Store, name)
	return h.ID, err
}

// namedHost is the machine of this name, or identity.
func namedHost(ctx context.Context, s store.Store, name string) (fleet.Host, error) {
	list, _, err := s.Hosts(ctx)
	if err != nil {
		return fleet.Host{}, err
	}
	list = slices.DeleteFunc(list, func(h fleet.Host) bool { return h.ID != name && h.Name != name })
	switch len(list) {
	case 0:
		return fleet.Host{}, noHost(name)
	case 1:
		return list[0], nil
	}
	return fleet.Host{}, fleet.WithHint(usage(fmt.Errorf("%d hosts are, or were, called %q", len(list), name)), "name its id: stint host list --json")
}

func noHost(name string) error {
	return fleet.WithHint(fmt.Errorf("no host of the fleet is called %q: %w", name, fleet.ErrNotFound), "stint host list")
}

func (a *app) showHost() error {
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	i, err := machine.ReadIdentity(c.State)
	if errors.Is(err, fleet.ErrNotFound) {
		a.nothingYet()
		return fmt.Errorf("%s has no identity yet: %w", c.State, fleet.ErrNothing)
	}
	if err != nil {
		return err
	}
	a.printHost("", i, i.Foreign(thisMachine()), false)
	return nil
}

func (a *app) adoptHost(name string) error {
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	i, changed, err := machine.Adopt(c.State, thisMachine(), name, a.dryRun)
	if err != nil {
		return fmt.Errorf("adopt %s: %w", c.State, err)
	}
	verb := a.did("adopted", "would adopt")
	if !changed {
		verb = "kept"
	}
	a.printHost(verb+" ", i, false, changed)
	return nil
}

func (a *app) printHost(verb string, i machine.Identity, foreign, changed bool) {
	boot := thisMachine().Boot()
	if a.asObject(hostObject(boot, foreign, changed, a.dryRun).JSON(i)) {
		return
	}
	fmt.Fprintf(a.Stdout, "%shost %s id %s", verb, plain.Text(i.Name), plain.Text(i.ID))
	if boot != "" {
		fmt.Fprintf(a.Stdout, " boot %s", plain.Text(boot))
	}
	fmt.Fprintln(a.Stdout)
	if i.Machine == "" {
		fmt.Fprintln(a.Stdout, "This host has no machine-id: stint cannot see when its state folder is copied.")
	}
	if foreign {
		fmt.Fprintln(a.Stdout, "That is another host: this state folder was copied from it.")
		a.hint("stint host adopt")
	}
}
