package tomlfile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"stint/internal/fleet"
)

// innerErrors are those of a list's elements or a table's entries, each at its own place:
// reading goes on after one, so that the next is found as well.
type innerErrors []innerError

type innerError struct {
	error
	key, hint string // the key from that of the list or table on
}

func (f innerErrors) Error() string { return fmt.Sprintf("%d faults", len(f)) }

func (f innerErrors) orNil() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// List is a list of words, at least so many, each by a rule and none twice.
func List[T ~string](least int, item Rule[T]) Rule[[]T] {
	schema := func() Schema { return Schema{"type": "array", "items": item.schema(), "uniqueItems": true} }
	return listOf(least, item, schema, func(word T, before []T) error {
		if slices.Contains(before, word) {
			return fleet.WithHint(fmt.Errorf("%s is listed twice", Describe(string(word))), "remove one")
		}
		return nil
	})
}

// Command is a program and its arguments; least is 1 where it may not be empty.
func Command(least int) Rule[[]string] {
	schema := func() Schema {
		return Schema{"type": "array", "items": []Schema{{"type": "string", "minLength": 1}}, "additionalItems": Text().schema()}
	}
	r := listOf(least, Text(), schema, func(word string, before []string) error {
		if word == "" && len(before) == 0 {
			return fleet.WithHint(errors.New("want a program, not an empty string"),
				`write a program and its arguments, such as ["my-program", "--flag"]`)
		}
		return nil
	})
	list := r.Suggest
	r.Suggest = func(refused any, fallback []string) any {
		line, _ := refused.(string)
		switch words := strings.Fields(line); {
		case len(words) == 0:
			return list(refused, fallback)
		case strings.ContainsAny(line, "'\"`\\|&;<>$*"): // words of a shell
			return []string{"sh", "-c", line}
		default:
			return words
		}
	}
	return r
}

func listOf[T ~string](least int, item Rule[T], schema func() Schema, check func(word T, before []T) error) Rule[[]T] {
	return Rule[[]T]{
		Parse: func(value any) (words []T, _ error) {
			items, ok := value.([]any)
			switch {
			case !ok:
				return nil, Wanted("a list of strings", value)
			case len(items) < least:
				return nil, errors.New("want at least one, not an empty list")
			}
			var faults innerErrors
			for i, one := range items {
				word, err := item.Parse(one)
				if err == nil {
					err = check(word, words)
				}
				if err != nil {
					faults = append(faults, innerError{err, element("", i), "write " + Literal(item.suggest(one, ""))})
				}
				words = append(words, word)
			}
			return words, faults.orNil()
		},
		Suggest: func(refused any, _ []T) any {
			if word, ok := refused.(string); ok {
				return []string{word}
			}
			return []string{"…"}
		},
		Write: func(words []T) any { return texts(words) },
		Schema: func() Schema {
			s := schema()
			if least > 0 {
				s["minItems"] = least
			}
			return s
		},
	}
}

// Entries are what a table may hold whose keys are words of the file's author.
type Entries[V any] struct {
	Rule  Rule[V]
	Check func(name string, value V) error // accepts an entry; nil: any
	Names func() Schema                    // what names there may be, for editors; nil: any
	Hide  func(name string) bool           // the value of such a name is shown to nobody; nil: each is shown
}

// Hidden is shown in place of a value that nobody is to see.
const Hidden = "***"

func (e Entries[V]) hidden(name string) bool { return e.Hide != nil && e.Hide(name) }

// Words is a table whose keys are words of the file's author. Its entries are added to base.
func Words[K ~string, V any](base map[K]V, e Entries[V]) Rule[map[K]V] {
	return Rule[map[K]V]{
		Parse: func(value any) (map[K]V, error) {
			table, ok := value.(map[string]any)
			if !ok {
				return nil, Wanted("a table", value)
			}
			if len(table) == 0 {
				return base, nil
			}
			all := map[K]V{}
			maps.Copy(all, base)
			var faults innerErrors
			for name, value := range table {
				parsed, err := e.Rule.Parse(value)
				if err == nil && e.Check != nil {
					err = e.Check(name, parsed)
				}
				if err != nil && e.hidden(name) {
					err = errors.New("want a string") // and not a word of what stands there
				}
				if err != nil {
					faults = append(faults, innerError{err, "." + under("", name), fmt.Sprintf(`write %s = "…"`, under("", name))})
				}
				all[K(name)] = parsed
			}
			return all, faults.orNil()
		},
		Suggest: func(any, map[K]V) any { return map[string]any{} },
		Write: func(entries map[K]V) any {
			shown := map[string]any{}
			for name, value := range entries {
				shown[string(name)] = e.Rule.write(value)
				if e.hidden(string(name)) && shown[string(name)] != "" {
					shown[string(name)] = Hidden
				}
			}
			return shown
		},
		Schema: func() Schema {
			s := Schema{"type": "object", "additionalProperties": e.Rule.schema()}
			if e.Names != nil {
				s["propertyNames"] = e.Names()
			}
			return s
		},
	}
}
