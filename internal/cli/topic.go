package cli

import (
	"embed"
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"
)

// topics are the help topics: Markdown files, each of which "stint help NAME" prints and
// the manual page stint-NAME(7), or stint-config(5), shows. The first line of each is "# NAME: what it is about".
//
//go:embed topics/*.md
var topics embed.FS

// addTopics adds the help topics to the command help, where a topic may have the name of a
// command. A command that neither runs nor has commands below it is one, as cobra sees it.
func addTopics(help *cobra.Command) {
	files, err := topics.ReadDir("topics")
	if err != nil {
		panic(err) // it is part of the program
	}
	for _, f := range files {
		text, err := topics.ReadFile(path.Join("topics", f.Name()))
		if err != nil {
			panic(err)
		}
		head, body, _ := strings.Cut(string(text), "\n")
		name, short, _ := strings.Cut(strings.TrimPrefix(head, "# "), ": ")
		help.AddCommand(&cobra.Command{Use: name, Short: short, Long: strings.TrimSpace(body)})
	}
}

// isTopic reports whether a command is a help topic.
func isTopic(c *cobra.Command) bool { return c.HasParent() && c.IsAdditionalHelpTopicCommand() }

// topicsOf are the help topics below a root.
func topicsOf(root *cobra.Command) []*cobra.Command {
	help, _, err := root.Find([]string{"help"})
	if err != nil || help == root {
		return nil
	}
	return help.Commands()
}

// topicPage is a help topic as a manual page of section 7.
func topicPage(c *cobra.Command, date string) string {
	var p page
	name := manName(c)
	fmt.Fprintf(&p, ".TH \"%s\" \"%s\" \"%s\" \"%s\" \"stint\"\n", roff(strings.ToUpper(name)), manSection(c), date, roff("stint "+version()))
	p.request("SH", "NAME")
	p.text(name + " - " + lowerFirst(c.Short))
	p.request("SH", "DESCRIPTION")
	p.markdown(c.Long)
	p.request("SH", "SEE ALSO")
	p.WriteString(reference(c.Root()) + "\n")
	return p.String()
}

// markdown writes as much of Markdown as the topics use: headings, paragraphs, lists, and
// tables and code as they are.
func (p *page) markdown(text string) {
	for block := range strings.SplitSeq(text, "\n\n") {
		lines := strings.Split(strings.Trim(block, "\n"), "\n")
		first := lines[0]
		switch {
		case strings.HasPrefix(first, "## "):
			title := strings.TrimPrefix(first, "## ")
			if !strings.ContainsAny(title, "[/") { // keys and schemas keep their case
				title = strings.ToUpper(title)
			}
			p.request("SH", title)
		case strings.HasPrefix(first, "|"), strings.HasPrefix(first, "    "):
			p.literal(lines)
		case strings.HasPrefix(first, "- "):
			for item := range strings.SplitSeq(strings.TrimPrefix(block, "- "), "\n- ") {
				p.item(`\(bu`, item)
			}
		default:
			p.request("PP")
			p.text(block)
		}
	}
}
