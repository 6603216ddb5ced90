// Command manpages writes the manual pages of stint, made of its help: those of all commands (man1/stint.1,
// man1/stint-claim-take.1 and so on) and of the help topics (man5/stint-config.5, man7/stint-agents.7). "make install" and
// scripts/dist run it.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"stint/internal/cli"
	"stint/internal/plain"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, `usage: manpages FOLDER "$(stint --version)"`)
		os.Exit(2)
	}
	if err := write(os.Args[1], edition{os.Args[2], day(os.Getenv("SOURCE_DATE_EPOCH"))}); err != nil {
		fmt.Fprintf(os.Stderr, "manpages: %v\n", err)
		os.Exit(1)
	}
}

// edition is the program that the pages are about: its name and version, and the day of its source, which may be empty.
type edition struct{ program, date string }

// day is the date of a time in seconds since the epoch, as https://reproducible-builds.org/specs/source-date-epoch/ has
// it, or "".
func day(epoch string) string {
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return ""
	}
	return time.Unix(seconds, 0).UTC().Format(time.DateOnly)
}

func write(folder string, e edition) error {
	for _, c := range described(cli.Root()) {
		section, text := manSection(c), manPage
		if isTopic(c) {
			text = topicPage
		}
		path := filepath.Join(folder, "man"+section, manName(c)+"."+section)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text(c, e)), 0o644); err != nil { //nolint:gosec // pages are for everybody
			return err
		}
	}
	return nil
}

// isTopic reports whether a command is a help topic.
func isTopic(c *cobra.Command) bool { return c.HasParent() && c.IsAdditionalHelpTopicCommand() }

// described are a command and those below it, except for what only explains the others.
func described(c *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() || sub.Hidden {
			list = append(list, described(sub)...)
		}
	}
	if !c.HasParent() {
		list = append(list, cli.Topics(c)...)
	}
	return list
}

// manSection is the section of the manual in which a page stands: commands, file formats, or
// everything else.
func manSection(c *cobra.Command) string {
	switch {
	case !isTopic(c):
		return "1"
	case c.Name() == "config":
		return "5"
	}
	return "7"
}

func manName(c *cobra.Command) string {
	if isTopic(c) {
		return c.Root().Name() + "-" + c.Name()
	}
	return strings.ReplaceAll(c.CommandPath(), " ", "-")
}

// manPage is a command's help as a manual page. It is written here, in the few requests of
// man(7) that it needs: cobra's generator reads help as Markdown, which it is not.
func manPage(c *cobra.Command, e edition) string {
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	var p page
	p.head(c, e, "User Commands")
	p.request("SH", "NAME")
	p.text(manName(c) + " - " + lowerFirst(c.Short))
	p.request("SH", "SYNOPSIS")
	p.request("B", c.UseLine())
	if c.HasAvailableSubCommands() {
		p.request("br")
		p.request("B", c.CommandPath()+" COMMAND")
	}
	p.request("SH", "DESCRIPTION")
	p.help(c.Long)
	p.commands(c)
	p.options("OPTIONS", c.NonInheritedFlags())
	p.options("COMMON OPTIONS", c.InheritedFlags())
	if c.Example != "" {
		p.request("SH", "EXAMPLES")
		p.literal(strings.Split(c.Example, "\n"))
	}
	p.request("SH", "EXIT STATUS")
	for _, s := range cli.Statuses(c) {
		p.item(`\fB`+strconv.Itoa(s.Code)+`\fR`, s.Meaning)
	}
	p.seeAlso(c)
	return p.String()
}

// lowerFirst is a short description as it stands behind a name.
func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// page is a manual page as it is written.
type page struct{ strings.Builder }

// roff is text with nothing in it that a formatter would take for its own: a hyphen and a
// quote stay what they are when the page is copied from, and letters beyond ASCII are
// named, as not every formatter knows how they are encoded.
func roff(s string) string {
	var b strings.Builder
	for _, r := range plain.Text(s) {
		switch {
		case strings.ContainsRune(roffSpecial, r) || r > unicode.MaxASCII:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		case r == '-':
			b.WriteString(`\-`)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

const (
	// roffSpecial is what formatters read as something else, or show as another letter.
	roffSpecial = `\'"^~` + "`"
	// roffLine is how long a line of running text may be: diffs of pages are read, too.
	roffLine = 79
)

// head begins a page. The date stands as it is: formatters read it, and do not know an escaped one.
func (p *page) head(c *cobra.Command, e edition, manual string) {
	fmt.Fprintf(p, ".TH \"%s\" \"%s\" \"%s\" \"%s\" \"%s\"\n", roff(strings.ToUpper(manName(c))), manSection(c), e.date, roff(e.program), manual)
}

// request writes a request with its arguments.
func (p *page) request(name string, args ...string) {
	p.WriteString("." + name)
	for _, arg := range args {
		p.WriteString(` "` + roff(arg) + `"`)
	}
	p.WriteString("\n")
}

// text writes running text.
func (p *page) text(s string) {
	line := ""
	for _, word := range strings.Fields(roff(s)) {
		if line != "" && len(line)+1+len(word) > roffLine {
			p.line(line)
			line = ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	p.line(line)
}

// line writes a line that is no request.
func (p *page) line(s string) {
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	p.WriteString(s + "\n")
}

// literal writes lines as they are, less the indentation of the help.
func (p *page) literal(lines []string) {
	p.WriteString(".RS 4\n.nf\n")
	for _, line := range lines {
		line = strings.TrimPrefix(line, "  ")
		p.WriteString(`\&` + roff(line) + "\n")
	}
	p.WriteString(".fi\n.RE\n")
}

// help writes a help text: paragraphs, and what is indented as it is.
func (p *page) help(text string) {
	for i, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		lines := strings.Split(paragraph, "\n")
		indented := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "  ") })
		if indented < 0 {
			indented = len(lines)
		}
		if i > 0 {
			p.request("PP")
		}
		if indented > 0 {
			p.text(strings.Join(lines[:indented], "\n"))
		}
		if indented < len(lines) {
			p.literal(lines[indented:])
		}
	}
}

// item writes a term, in roff, and what is said of it.
func (p *page) item(term, text string) {
	p.WriteString(".TP\n" + term + "\n")
	p.text(text)
}

func (p *page) commands(c *cobra.Command) {
	if !c.HasAvailableSubCommands() {
		return
	}
	p.request("SH", "COMMANDS")
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			p.item(reference(sub), sub.Short+".")
		}
	}
}

func (p *page) options(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.request("SH", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		term := `\fB` + roff("--"+f.Name) + `\fR`
		if f.Shorthand != "" {
			term = `\fB` + roff("-"+f.Shorthand) + `\fR, ` + term
		}
		value, usage := pflag.UnquoteUsage(f)
		if value != "" {
			term += ` \fI` + roff(value) + `\fR`
		}
		// A default that the words give is not given again.
		if !slices.Contains([]string{"", "0", "0s", "false", "[]"}, f.DefValue) && !strings.Contains(usage, "default") {
			usage += " (default " + f.DefValue + ")"
		}
		p.item(term, usage)
	})
}

// seeAlso names the pages of the commands above and below, and around a page that has
// none below.
func (p *page) seeAlso(c *cobra.Command) {
	var list []string
	around := c
	if c.HasParent() {
		list = append(list, reference(c.Parent()))
		if !c.HasAvailableSubCommands() {
			around = c.Parent()
		}
	}
	for _, other := range around.Commands() {
		if other != c && other.IsAvailableCommand() {
			list = append(list, reference(other))
		}
	}
	if !around.HasParent() {
		for _, topic := range cli.Topics(around) {
			list = append(list, reference(topic))
		}
	}
	if !c.HasParent() {
		list = append(list, `\fBjournalctl\fR(1)`, `\fBsystemctl\fR(1)`, `\fBsystemd.timer\fR(5)`)
	}
	p.request("SH", "SEE ALSO")
	p.WriteString(strings.Join(list, ",\n") + "\n")
}

// reference names the page of a command or a topic, in roff.
func reference(c *cobra.Command) string {
	return `\fB` + roff(manName(c)) + `\fR(` + manSection(c) + ")"
}

// topicPage is a help topic as a manual page.
func topicPage(c *cobra.Command, e edition) string {
	var p page
	p.head(c, e, "stint")
	p.request("SH", "NAME")
	p.text(manName(c) + " - " + lowerFirst(c.Short))
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
