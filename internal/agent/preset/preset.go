// Package preset has what is known of the command-line programs that do the work: how each is called, what its output
// means, where its login and its settings are. All of that is data, one table per program, which is embedded; the table of
// a user's own agent says the same of another. Package transcript reads output by it.
package preset

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/pelletier/go-toml/v2"

	"stint/internal/fleet"
)

// The presets that name no program.
const (
	Any = "command" // nothing is known of it
	ACP = "acp"     // it speaks the Agent Client Protocol
)

//go:embed tables/*.toml
var tables embed.FS

// Names are the presets, sorted.
func Names() []string {
	entries, _ := tables.ReadDir("tables") // they are in the program
	names := []string{Any}
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".toml"))
	}
	slices.Sort(names)
	return names
}

// Preset is the table of a program: what an agent has where its own keys say nothing else.
type Preset struct {
	Name        string           `json:"-"`
	Command     []string         `json:"command"`
	Prompt      fleet.PromptMode `json:"prompt"`
	Environment []string         `json:"pass_environment"` // names: a variable that is not set is not passed
	CLI         CLI              `json:"cli"`
	Table       map[string]any   `json:"-"` // of which CLI was read: [Parse]
}

// Named returns a preset. The command of [Any], and of what is no preset, is empty.
func Named(name string) Preset {
	text, err := tables.ReadFile("tables/" + name + ".toml")
	if err != nil {
		return Preset{Name: Any, Prompt: fleet.PromptStdin, Environment: []string{"PATH", "HOME", "LANG"}} // no limit in length, and not in the process list
	}
	var tree map[string]any
	p := Preset{Name: name}
	if err := errors.Join(toml.Unmarshal(text, &tree), decode(tree, &p)); err != nil {
		panic("preset " + name + ": " + err.Error()) // a test reads them all
	}
	p.Table, _ = tree["cli"].(map[string]any)
	return p
}

// Of is the preset of an agent's program. Of one that speaks a protocol, what it does not say by that is in its own table: the first
// word of its name finds it, so that claude-agent-acp is Claude Code.
func (p Preset) Of(program string) Preset {
	name, _, _ := strings.Cut(path.Base(program), "-")
	own := Named(name)
	if p.Name != ACP || len(own.Command) == 0 {
		return p
	}
	if own.Table["kept"] == nil {
		own.Table["kept"] = own.Table["output"]
	}
	delete(own.Table, "sandbox") // the words that ask for it are those of another command
	maps.Copy(own.Table, p.Table)
	p.Environment, p.Table = own.Environment, own.Table
	p.CLI, _ = Parse(p.Table) // both were read
	return p
}

// Table is the table of a preset as the configuration of an agent has it; empty for [Any].
func Table(name string) string {
	text, err := tables.ReadFile("tables/" + name + ".toml")
	if err != nil {
		return ""
	}
	at := "agent." + name
	keys := strings.NewReplacer("\n[cli", "\n["+at+".cli", "\n[[cli", "\n[["+at+".cli").Replace(string(text))
	return fmt.Sprintf("[%s]\npreset = %q\n%s", at, name, keys)
}

// CLI says how a program is to be understood.
type CLI struct {
	Tried    []string `json:"tried"`    // its versions
	Version  []string `json:"version"`  // the arguments by which it prints its own
	Silence  string   `json:"silence"`  // how long it may print nothing; empty: as long as it likes
	Sessions string   `json:"sessions"` // where it keeps its sessions itself, as [CLI.SessionGlob] takes it; empty: nobody knows
	Resume   []string `json:"resume"`   // the arguments that have it go on with {session}: see [CLI.Resuming]; empty: it cannot
	Helpers  string   `json:"helpers"`  // the files of a session's helpers, in the folder named like its file
	NoCost   bool     `json:"no_cost"`  // it reports tokens only
	OwnGit   bool     `json:"own_git"`  // its commands overlook the person's settings of git, which name who commits
	Sandbox  Sandbox  `json:"sandbox"`  // that it makes itself
	Login    Login    `json:"login"`
	Folders  []Folder `json:"folders"` // its own
	Output   []Rule   `json:"output"`  // how what it prints is to be read
	Kept     []Rule   `json:"kept"`    // how the file of a session is; none: like its output
	// What stopped a session, as "KIND: regexp" of [Fault]: errors among what it reports as errors, faults also among lines that are
	// not of its format.
	Errors []string `json:"errors"`
	Faults []string `json:"faults"`
}

// Login names what logs a program in, in words of its own.
type Login struct {
	Variables []string `json:"variables"` // any one of them will do
	Command   string   `json:"command"`
	Key       string   `json:"key"`     // the setting that has its key
	Model     string   `json:"model"`   // what to do for another model
	Address   string   `json:"address"` // the setting that has the address of its service
}

// Folder is a folder in which a program keeps its login, its settings and its sessions. What a session writes there is gone
// with it, but for what is shared.
type Folder struct {
	Path     string   `json:"path"`      // "~/" is the home folder
	Variable string   `json:"variable"`  // of the environment, that names another in place of it
	Login    string   `json:"login"`     // the file that has its login, which it may renew; empty: none has
	Shared   []string `json:"shared"`    // what else stays; {dir} is the session's folder as Claude Code names it, {name} as Gemini CLI
	ReadOnly []string `json:"read_only"` // what sessions see of it
	Copied   []string `json:"copied"`    // files beside it, in the folder where the variable names one, of which they have a copy
}

// Sandbox is what a program needs and leaves where it makes a sandbox of its own.
type Sandbox struct {
	Command  []string `json:"command"` // without a box, in place of the agent's
	On       string   `json:"on"`      // what in its command asks for one; empty: it makes none
	Off      string   `json:"off"`     // what turns it off
	Programs []string `json:"programs"`
	Files    []string `json:"files"` // that it puts into its folder where they are not there
}

// Rule says what a line of JSON, or each item of a list in it, means.
//
// A path is "a.b.c"; it begins with "." in an item. A template is text with paths in braces. A condition is paths and
// comparisons joined by " & ": "a.b" is neither missing nor empty, zero or false, "!a.b" is, "a=x|y*" and "a!=x" compare
// text, where "*" ends a beginning. Of several conditions or templates, one is enough.
type Rule struct {
	On      words  `json:"on"`      // conditions
	Each    string `json:"each"`    // the path of a list; empty: the line itself
	Is      string `json:"is"`      // what it means, in words of [Means]
	Text    words  `json:"text"`    // templates: what was said
	Cut     string `json:"cut"`     // a regular expression, of which the first group is the text
	Show    string `json:"show"`    // a template: what people see in place of the text
	Tool    string `json:"tool"`    // a template
	Input   string `json:"input"`   // the path of what the tool was used on
	ID      string `json:"id"`      // the path of what tells a message, or a call, from others
	Session string `json:"session"` // the path of the session's id
	Word    string `json:"word"`    // the path of a word for an error
	Status  string `json:"status"`  // the path of an error's HTTP status
	WaitMS  string `json:"wait_ms"` // the path of a pause that a service asks for
	Reset   string `json:"reset"`   // the path of the end of a limit: seconds or milliseconds since 1970, or a date
	Kind    string `json:"kind"`    // the fault or limit, where no error says which
	Failed  words  `json:"failed"`  // conditions by which a tool failed
	Denied  words  `json:"denied"`  // likewise, for lack of permission
	Refused string `json:"refused"` // the path of the number, or the list, of all refusals
	Turns   string `json:"turns"`   // the path of the number of all turns
	Cost    string `json:"cost"`    // the path of USD
	Model   string `json:"model"`   // the path of its name
	Models  string `json:"models"`  // the path of a table of models, in which the tokens are, and a cost whose path begins with "."
	Since   string `json:"since"`   // likewise, of what came after the last line of the kind
	Tokens  Tokens `json:"tokens"`
	Window  string `json:"window"` // a template: how long a window of the plan is, such as "5h"
	Used    string `json:"used"`   // the path of the part of it that was used
	Whole   string `json:"whole"`  // the number that is all of it, such as "100"; empty: 1
}

// Tokens has the paths of numbers, which " + " and " - " join: tokens from a cache are no input.
type Tokens struct {
	Input      string `json:"input"`
	Output     string `json:"output"`
	CacheRead  string `json:"cache_read"`
	CacheWrite string `json:"cache_write"`
}

// Means are the words for what a line means. A rule may have several.
func Means() []string {
	return []string{
		"answer",  // its model answered
		"turn",    // its model was asked once more; with an id, once for each id
		"total",   // the tokens, the cost and the turns are those of the session so far
		"thread",  // of the tokens and the cost, those of earlier sessions of the conversation, too
		"say",     // the model said the text
		"thought", // the model thought it
		"began",   // a command began, which is counted when it is over
		"call",    // a tool was called
		"command", // likewise, and its input is a command
		"uses",    // part of a call, for people
		"result",  // the text is what a tool gave back
		"retry",   // a request to the model was repeated
		"error",   // the program reports an error
		"fault",   // a request failed, which may yet be overcome
		"limit",   // a usage limit
		"window",  // the use of a window of its plan, until reset
		"end",     // the session's end: well, unless it is an error
		"note",    // news of the program's
		"warning", // likewise, for attention
		"quiet",   // nothing that people need to see
	}
}

// words are a list of strings, or one.
type words []string

func (w *words) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*w = words{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(w))
}

// Parse reads a table that says how a program is to be understood.
func Parse(table map[string]any) (CLI, error) {
	var c CLI
	if err := decode(table, &c); err != nil {
		return CLI{}, err
	}
	for _, r := range slices.Concat(c.Output, c.Kept) {
		if _, err := regexp.Compile(r.Cut); err != nil {
			return CLI{}, fmt.Errorf("cut: %w", err)
		}
		for word := range strings.FieldsSeq(r.Is) {
			if !slices.Contains(Means(), word) {
				return CLI{}, fleet.WithHint(fmt.Errorf("a line cannot be %q", word), "write one of "+strings.Join(Means(), ", "))
			}
		}
	}
	if len(c.Resume) > 0 && !slices.Contains(c.Resume, "{session}") {
		err := fmt.Errorf("resume %q: no argument is {session}", c.Resume)
		return CLI{}, fleet.WithHint(err, `write it like ["--resume", "{session}"], or [] for a program that cannot`)
	}
	if _, err := time.ParseDuration(c.Silence); err != nil && c.Silence != "" {
		return CLI{}, fmt.Errorf("silence: %w", err)
	}
	_, err := ParseFaults(slices.Concat(c.Errors, c.Faults))
	return c, err
}

// decode puts a tree of TOML into a struct, in which each key must be known.
func decode(tree map[string]any, into any) error {
	text, err := json.Marshal(tree)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// SilenceTime is how long the program may print nothing; 0: as long as it likes.
func (c CLI) SilenceTime() time.Duration {
	d, _ := time.ParseDuration(c.Silence) // Parse has read it
	return d
}

// Own lists what the program keeps for itself, for a session that works in dir.
func (c CLI) Own(getenv func(string) string, dir string) (own fleet.Own) {
	named := strings.Map(func(r rune) rune {
		if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '-'
	}, dir)
	words := strings.FieldsFunc(strings.ToLower(filepath.Base(dir)), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	filled := strings.NewReplacer("{dir}", named, "{name}", strings.Join(words, "-"))
	for _, f := range c.Folders {
		folder := f.In(getenv)
		if folder == "" {
			continue
		}
		in := func(folder string, names []string) (list []string) {
			for _, name := range names {
				list = append(list, filepath.Join(folder, filled.Replace(name)))
			}
			return list
		}
		beside := folder
		if f.Variable == "" || getenv(f.Variable) == "" {
			beside = filepath.Dir(folder)
		}
		own.Private = append(own.Private, folder)
		own.Copied = append(own.Copied, in(beside, f.Copied)...)
		own.Fixed = append(own.Fixed, in(folder, f.ReadOnly)...)
		if own.Shared = append(own.Shared, in(folder, f.Shared)...); f.Login != "" {
			own.Shared = append(own.Shared, filepath.Join(folder, f.Login))
		}
	}
	return own
}

// In is the folder by an environment; empty without a home folder.
func (f Folder) In(getenv func(string) string) string {
	if named := getenv(f.Variable); f.Variable != "" && named != "" {
		// A folder of many programs, such as XDG_CONFIG_HOME, has the program's own in it.
		if inner := strings.SplitN(strings.TrimPrefix(f.Path, "~/"), "/", 2); len(inner) > 1 && strings.HasPrefix(f.Variable, "XDG_") {
			return filepath.Join(named, path.Base(f.Path))
		}
		return named
	}
	return Home(f.Path, getenv("HOME"))
}

// Home is a path in which "~/" at the beginning is the home folder; empty where that is not known.
func Home(path, home string) string {
	rest, is := strings.CutPrefix(path, "~/")
	switch {
	case !is:
		return path
	case home == "":
		return ""
	}
	return strings.TrimRight(home, "/") + "/" + rest
}

// Resuming is a command that goes on with a session: with the arguments for that at its end, but before a last word that begins
// with a dash, which may belong to the prompt. It is nil where the program cannot, or the session has no name that is one argument.
func (c CLI) Resuming(command []string, session string) []string {
	if len(c.Resume) == 0 || !fleet.ValidConversationID(session) {
		return nil
	}
	at := len(command)
	if strings.HasPrefix(command[at-1], "-") {
		at--
	}
	own := slices.Clone(c.Resume)
	own[slices.Index(own, "{session}")] = session
	return slices.Insert(slices.Clone(command), at, own...)
}

// SessionGlob is the pattern (path/filepath.Match) of the files in which the program keeps a session. It is empty when the
// session is not known, or has a name that could mean other files: it was read from the program's output.
func (c CLI) SessionGlob(getenv func(string) string, session string) string {
	pattern := c.Sessions
	if strings.Contains(pattern, "{session}") && !fleet.ValidConversationID(session) {
		return ""
	}
	for _, f := range c.Folders {
		if rest, is := strings.CutPrefix(pattern, f.Path+"/"); is && f.In(getenv) != "" {
			pattern = strings.TrimRight(f.In(getenv), "/") + "/" + rest
			break
		}
	}
	return strings.ReplaceAll(Home(pattern, getenv("HOME")), "{session}", session)
}

// HelperGlob is the pattern of the files of the helpers of the session in a file; "" where the program has none.
func (c CLI) HelperGlob(file string) string {
	ext := filepath.Ext(file)
	if c.Helpers == "" || ext == "" || strings.ContainsAny(file, `*?[\`) {
		return ""
	}
	return filepath.Join(strings.TrimSuffix(file, ext), c.Helpers)
}
