package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"stint/internal/fleet"
	"stint/internal/host"
	"stint/internal/plain"
	"stint/internal/wire"
)

func newHost(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "host",
		Short: "Show which machine this is to the fleet",
		Long: `Show which machine this is to the fleet: the identity that its state folder has, and which
start of the machine this is. The first command that writes gives the folder its identity.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.showHost() },
	}
	cmd.AddCommand(newHostAdopt(a))
	return cmd
}

func newHostAdopt(a *app) *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "adopt",
		Short: "Make a state folder from another machine this one's",
		Long: `Give a state folder that was copied or moved from another machine an identity of this one.
Sessions of the other machine may live on there: each of them keeps its claim and its lane here
until the claim has expired.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.adoptHost(dryRun) },
	}
	addDryRun(cmd, &dryRun)
	return cmd
}

func (a *app) showHost() error {
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	i, err := host.Read(c.State)
	if errors.Is(err, fleet.ErrNotFound) {
		a.nothingYet()
		return fmt.Errorf("%s has no identity yet: %w", c.State, fleet.ErrNothing)
	}
	if err != nil {
		return err
	}
	a.printHost("", wire.NewHost(i.ID, i.Name, i.Machine, thisMachine().Boot(), i.Foreign(thisMachine())))
	return nil
}

func (a *app) adoptHost(dryRun bool) error {
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	i, changed, err := host.Adopt(c.State, thisMachine(), dryRun)
	if err != nil {
		return fmt.Errorf("adopt %s: %w", c.State, err)
	}
	o := wire.NewHost(i.ID, i.Name, i.Machine, thisMachine().Boot(), false)
	o.Changed, o.DryRun = changed, dryRun
	verb := did(dryRun, "adopted", "would adopt")
	if !changed {
		verb = "kept"
	}
	a.printHost(verb+" ", o)
	return nil
}

func (a *app) printHost(verb string, o wire.Host) {
	if a.json {
		printJSON(a.Stdout, o)
		return
	}
	fmt.Fprintf(a.Stdout, "%shost %s id %s", verb, plain.Text(o.Name), plain.Text(o.ID))
	if o.Boot != "" {
		fmt.Fprintf(a.Stdout, " boot %s", plain.Text(o.Boot))
	}
	fmt.Fprintln(a.Stdout)
	if o.Machine == "" {
		fmt.Fprintln(a.Stdout, "This machine has no machine-id: stint cannot see when its state folder is copied.")
	}
	if o.Foreign {
		fmt.Fprintln(a.Stdout, "That is another machine: this state folder was copied from it.")
		a.hint("stint host adopt")
	}
}
