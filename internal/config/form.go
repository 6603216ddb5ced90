package config

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"stint/internal/agent/preset"
	"stint/internal/fleet"
	"stint/internal/plain"
)

// form is a rule for a string.
type form struct {
	parse   func(string) (string, error) // nil: it may be anything
	example string                       // to write in place of a refused one
	pattern string                       // for editors
	words   []string                     // likewise: it is one of them
}

func (f form) parsed(s string) (string, error) {
	if f.parse == nil {
		return s, nil
	}
	return f.parse(s)
}

func (f form) schema() Schema {
	s := Schema{"type": "string"}
	if f.pattern != "" {
		s["pattern"] = f.pattern
	}
	if f.words != nil {
		s["enum"] = f.words
	}
	return s
}

// formOf is the form that a tag names; without a name, a string may be anything.
func formOf(name string) form {
	switch name {
	case "fleet":
		return form{checked(func(s string) error { _, err := fleet.ParseName(s); return err }), "bob", "^[a-z0-9_]{1,32}$", nil}
	case "category":
		return form{checked(checkCategory), "", wordPattern, nil}
	case "pool":
		return form{checked(checkPool), "", wordPattern, nil}
	case "agent":
		return plainName("an agent's name", "[agent.claude]")
	case "source":
		return plainName("a source's name", "[tasks.source.beads]")
	case "host":
		return hostWord("a host's name", "rename it, as in [host.gpu-1]")
	case "label":
		return hostWord("a label", `write it like "big"`)
	case "hosts":
		return form{checked(checkHostPattern), "", "", nil}
	case "model":
		return form{checked(checkModel), "", `^([^*]+\*?|\*)$`, nil}
	case "absolute":
		return form{pathThat("an absolute path", filepath.IsAbs), "/var/lib/stint/bob", "^/", nil}
	case "home":
		return form{func(s string) (string, error) {
			if filepath.IsAbs(s) || strings.HasPrefix(s, "~/") && filepath.Clean(s) != "~" {
				return filepath.Clean(s), nil
			}
			return "", wanted(`an absolute path, or one that begins with "~/"`, s)
		}, "/srv/data", "^(/|~/.)", nil}
	case "path":
		return form{pathThat("a path", func(s string) bool { return s != "" }), "", "^([^~]|~[^/])", nil}
	case "file":
		return form{pathThat("", func(string) bool { return true }), "FILE", "^($|[^~]|~[^/])", nil}
	case "variable":
		return form{checked(checkVariable), "", variablePattern, nil}
	case "secrets":
		return form{checked(checkSecretFile), "", "", nil}
	case "store":
		return form{nil, "", `^(sqlite|postgres|postgres:service=[^\s\]]+|postgres(ql)?://.*)$`, nil}
	case "glob":
		return form{checked(plain.CheckPattern), "", "", nil}
	case "event":
		return form{nil, "", "", texts(fleet.Events())}
	case "preset":
		return known(preset.Names())
	case "field":
		return form{checked(checkFieldPath), "", "", nil}
	case "in task":
		return fieldName(fleet.TaskFields())
	case "in file":
		return fieldName(fileFields())
	}
	return form{}
}

func checked(check func(string) error) func(string) (string, error) {
	return func(s string) (string, error) { return s, check(s) }
}

// known is one of some words, as a type of its own would have them.
func known(words []string) form {
	return form{func(s string) (string, error) { _, err := oneOf(words).parse(s); return s, err }, "", "", words}
}

const wordPattern = "^[a-z0-9][a-z0-9_-]{0,31}$"

func checkCategory(s string) error {
	_, err := fleet.ParseCategory(s)
	return fleet.WithHint(err, "rename it, as in [category.code]")
}

func checkPool(s string) error {
	if _, err := fleet.ParseCategory(s); err != nil {
		return fleet.WithHint(errors.New("a pool's name is 1 to 32 of a-z, 0-9, _ and -, not starting with _ or -"),
			"rename it, as in [pool.monitoring]")
	}
	return nil
}

// plainName is a name for units and files; what says whose, and example has one.
func plainName(what, example string) form {
	return form{checked(func(s string) error {
		if isBare(s) && len(s) <= 32 && !strings.ContainsAny(s[:1], "_-") {
			return nil
		}
		return fleet.WithHint(fmt.Errorf("%s is 1 to 32 of a-z, A-Z, 0-9, _ and -, not starting with _ or -", what),
			"rename it, as in "+example)
	}), "", "^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$", nil}
}

func hostWord(what, hint string) form {
	return form{checked(func(s string) error {
		const letters, marks = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", "._-"
		if s != "" && len(s) <= 64 && strings.Trim(s, letters+marks) == "" && strings.ContainsAny(s[:1], letters) {
			return nil
		}
		return fleet.WithHint(fmt.Errorf("%s is 1 to 64 of a-z, A-Z, 0-9, ., _ and -, not starting with ., _ or -", what), hint)
	}), "", "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", nil}
}

// checkHostPattern accepts how a category names hosts.
func checkHostPattern(s string) error {
	if name, is := strings.CutPrefix(s, labelPrefix); is {
		_, err := hostWord("a label", `write it like "label:big"`).parse(name)
		return err
	}
	if _, err := path.Match(s, ""); err != nil || s == "" {
		return fleet.WithHint(errors.New("that is no pattern of hosts' names"), `write it like "gpu-*", or "label:big"`)
	}
	return nil
}

func checkModel(name string) error {
	if at := strings.IndexByte(name, '*'); name == "" || at >= 0 && at < len(name)-1 {
		return fleet.WithHint(errors.New(`want the name of a model, or its beginning and a "*"`), `rename it, as in [price."gpt-5*"]`)
	}
	return nil
}

// pathThat accepts a path that fits. [Config.findPaths] resolves a relative one.
func pathThat(want string, fits func(string) bool) func(string) (string, error) {
	return func(s string) (string, error) {
		switch {
		case s == "~" || strings.HasPrefix(s, "~/"): // its author expects a shell to expand it
			return "", fleet.WithHint(fmt.Errorf("%s: ~ is not expanded", describe(s)), "write the home folder's own path")
		case !fits(s):
			return "", wanted(want, s)
		case s == "":
			return "", nil
		}
		return filepath.Clean(s), nil
	}
}

// variablePattern is for editors. A program would take longer to compile it, at every
// start, than to read the whole file.
const variablePattern = "^[A-Za-z_][A-Za-z0-9_]*$"

// checkVariable refuses what is no name in an environment, and what stint sets
// itself, so that a session can trust it.
func checkVariable(name string) error {
	const digits, letters = "0123456789", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
	switch {
	case name == "" || strings.Trim(name, digits+letters) != "" || strings.ContainsAny(name[:1], digits):
		return fleet.WithHint(fmt.Errorf("%s is no name of a variable", describe(name)),
			"want letters, digits and _, not starting with a digit")
	case strings.HasPrefix(name, "STINT_"):
		return fleet.WithHint(fmt.Errorf("%s: names that start with STINT_ are reserved", describe(name)),
			"rename or remove it")
	}
	return nil
}

// checkFieldPath accepts names joined by dots, or nothing.
func checkFieldPath(path string) error {
	if path != "" && slices.Contains(strings.Split(path, "."), "") {
		return fleet.WithHint(fmt.Errorf("%s: an empty name in a path", describe(path)), `write a path such as "labels.name"`)
	}
	return nil
}

// fieldName is the name of one of a task's fields.
func fieldName(fields []fleet.TaskField) form {
	return form{checked(func(name string) error {
		if slices.Contains(fields, fleet.TaskField(name)) {
			return nil
		}
		return fleet.WithHint(errors.New("unknown field"), meant(name, fields))
	}), "", "", texts(fields)}
}
