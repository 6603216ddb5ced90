package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// printUsage prints how a command is used, as cobra does, and its exit statuses. A template would say the same in
// fewer lines, but with package text/template the linker keeps every exported method of the program.
func printUsage(c *cobra.Command) error {
	w := c.OutOrStderr()
	fmt.Fprint(w, "Usage:\n")
	if c.Runnable() {
		fmt.Fprintf(w, "  %s\n", c.UseLine())
	}
	below := c.HasAvailableSubCommands()
	if below {
		fmt.Fprintf(w, "  %s COMMAND\n", c.CommandPath())
	}
	if c.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", c.Example)
	}
	available := func(sub *cobra.Command) bool { return sub.IsAvailableCommand() || sub.Name() == "help" }
	if below && len(c.Groups()) == 0 {
		printCommands(w, "Available Commands:", c, available)
	}
	for _, group := range c.Groups() {
		printCommands(w, group.Title, c, func(sub *cobra.Command) bool { return sub.GroupID == group.ID && available(sub) })
	}
	printFlags(w, "Flags:", c.LocalFlags())
	printFlags(w, "Global Flags:", c.InheritedFlags())
	if c.HasHelpSubCommands() {
		printCommands(w, "Additional help topics:", c, (*cobra.Command).IsAdditionalHelpTopicCommand)
	}
	if below {
		fmt.Fprintf(w, "\nUse \"%s COMMAND --help\" for more information about a command.\n", c.CommandPath())
	}
	if !c.HasParent() {
		fmt.Fprint(w, "\nHelp topics, as in \"stint help agents\":\n")
		for _, topic := range topicsOf(c) {
			fmt.Fprintf(w, "  %-11s  %s\n", topic.Name(), topic.Short)
		}
	}
	fmt.Fprint(w, "\nExit status:\n")
	for _, status := range statusesOf(c) {
		fmt.Fprintf(w, "  %-3d  %s\n", status, meaning(status))
	}
	return nil
}

// printCommands lists those below a command that are shown under a title.
func printCommands(w io.Writer, title string, c *cobra.Command, shown func(*cobra.Command) bool) {
	fmt.Fprintf(w, "\n%s\n", title)
	for _, sub := range c.Commands() {
		if shown(sub) {
			fmt.Fprintf(w, "  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
		}
	}
}

func printFlags(w io.Writer, title string, flags *pflag.FlagSet) {
	if flags.HasAvailableFlags() {
		fmt.Fprintf(w, "\n%s\n%s\n", title, strings.TrimRight(flags.FlagUsages(), "\n"))
	}
}
