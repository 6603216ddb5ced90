package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// columns are those of a terminal that nobody has widened.
const columns = 80

// printHelp prints the text of a command or a topic, and of a command also how it is used; with --json what fields its objects have.
func (a *app) printHelp(c *cobra.Command, _ []string) {
	if a.json && len(a.objects(wordsOf(c))) > 0 {
		a.printObjects(c)
		return
	}
	w := c.OutOrStdout()
	fmt.Fprintln(w, strings.TrimRight(wrapped(c.Long), "\n"))
	if !c.IsAdditionalHelpTopicCommand() {
		fmt.Fprint(w, "\n"+c.UsageString())
	}
}

// wrapped is a text whose paragraphs and list items are broken anew between words. Code, tables and headings stay as
// they are.
func wrapped(text string) string {
	var b strings.Builder
	column, hang := 0, "" // 0: the next word begins a line; hang stands before the further lines of an item
	end := func() {
		if column > 0 {
			b.WriteByte('\n')
		}
		column, hang = 0, ""
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		item := strings.HasPrefix(line, "- ")
		indented := strings.HasPrefix(line, "  ")
		switch {
		case item:
			end()
			hang = "  "
		case line == "", strings.HasPrefix(line, "|"), strings.HasPrefix(line, "#"), indented && (hang == "" || strings.HasPrefix(line, "    ")):
			end()
			b.WriteString(line + "\n")
			continue
		case !indented && hang != "":
			end()
		}
		for word := range strings.FieldsSeq(line) {
			switch long := utf8.RuneCountInString(word); {
			case column == 0:
				b.WriteString(word)
				column = long
			case column+1+long > columns:
				b.WriteString("\n" + hang + word)
				column = len(hang) + long
			default:
				b.WriteString(" " + word)
				column += 1 + long
			}
		}
	}
	return b.String()
}

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
	if below && len(c.Groups()) == 0 {
		printCommands(w, "Available Commands:", c.Commands(), (*cobra.Command).IsAvailableCommand)
	}
	for _, group := range c.Groups() {
		printCommands(w, group.Title, inOrder(c.Commands()), func(sub *cobra.Command) bool { return sub.GroupID == group.ID })
	}
	printFlags(w, "Flags:", c.LocalFlags())
	printFlags(w, "Global Flags:", c.InheritedFlags())
	if below {
		fmt.Fprintf(w, "\nUse \"%s COMMAND --help\" for more information about a command.\n", c.CommandPath())
	}
	if !c.HasParent() {
		fmt.Fprint(w, "\nHelp topics, as in \"stint help agents\":\n")
		for _, topic := range Topics(c) {
			fmt.Fprintf(w, "  %-11s  %s\n", topic.Name(), topic.Short)
		}
	}
	fmt.Fprint(w, "\nExit status:\n")
	for _, s := range Statuses(c) {
		fmt.Fprintf(w, "  %-3d  %s\n", s.Code, s.Meaning)
	}
	return nil
}

// inOrder sorts the commands below the root as [entries] has them; cobra sorts them by name.
func inOrder(list []*cobra.Command) []*cobra.Command {
	at := map[string]int{}
	for i, e := range entries() {
		at[e.name] = i
	}
	return slices.SortedFunc(slices.Values(list), func(a, b *cobra.Command) int { return cmp.Compare(at[a.Name()], at[b.Name()]) })
}

// printCommands lists the commands that are shown under a title.
func printCommands(w io.Writer, title string, list []*cobra.Command, shown func(*cobra.Command) bool) {
	fmt.Fprintf(w, "\n%s\n", title)
	for _, sub := range list {
		if shown(sub) {
			fmt.Fprintf(w, "  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
		}
	}
}

func printFlags(w io.Writer, title string, flags *pflag.FlagSet) {
	if flags.HasAvailableFlags() {
		fmt.Fprintf(w, "\n%s\n%s\n", title, strings.TrimRight(flags.FlagUsagesWrapped(columns), "\n"))
	}
}
