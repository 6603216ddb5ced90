package cli

import (
	"embed"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"stint/internal/config"
)

// topics are the help topics: Markdown files, each of which "stint help NAME" prints and
// a manual page shows. The first line of each is "# NAME: what it is about".
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

// configSchema is the JSON Schema of stint.toml, with what the topic says of each key.
func configSchema() config.Schema {
	text, err := topics.ReadFile("topics/config.md")
	if err != nil {
		panic(err) // it is part of the program
	}
	return config.SchemaOf(string(text))
}

// isTopic reports whether a command is a help topic.
func isTopic(c *cobra.Command) bool { return c.HasParent() && c.IsAdditionalHelpTopicCommand() }

// Topics are the help topics below a root.
func Topics(root *cobra.Command) []*cobra.Command {
	help, _, err := root.Find([]string{"help"})
	if err != nil || help == root {
		return nil
	}
	return help.Commands()
}
