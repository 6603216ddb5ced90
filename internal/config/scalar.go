package config

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"stint/internal/fleet"
)

// scalar is a rule for one value.
type scalar struct {
	parse   func(raw any) (any, error) // what the field gets; nil: its zero value
	suggest func(raw, standard any) any
	write   func(value any) any // what [Literal] takes; nil: it is that already
	schema  func() Schema
}

// enum are the words of a type of which each value is one of some; nil: it is none.
func enum(t reflect.Type) []string {
	switch t {
	case reflect.TypeFor[fleet.BoxProfile]():
		return texts([]fleet.BoxProfile{fleet.BoxWorkspace, fleet.BoxStrict, fleet.BoxLandlock, fleet.BoxOpen})
	case reflect.TypeFor[fleet.PromptMode]():
		return texts([]fleet.PromptMode{fleet.PromptStdin, fleet.PromptArgument, fleet.PromptFile, fleet.PromptACP})
	case reflect.TypeFor[fleet.TaskFormat]():
		return texts(fleet.TaskFormats())
	case reflect.TypeFor[Method]():
		return texts([]Method{MethodRebase, MethodMerge})
	}
	return nil
}

// texts makes strings of words of a type of their own.
func texts[T ~string](words []T) []string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = string(word)
	}
	return list
}

// scalarOf is the rule for a field, by its type and its tags.
func scalarOf(t reflect.Type, tag reflect.StructTag) scalar {
	form := tag.Get("form")
	switch {
	case t == reflect.TypeFor[time.Duration]() && form == "days":
		return days()
	case t == reflect.TypeFor[time.Duration]():
		return duration(tag)
	case t == reflect.TypeFor[*[]int]():
		return network()
	case t == reflect.TypeFor[fleet.TaskState]():
		return meaning(fleet.ParseTaskState, append(fleet.TaskStates(), "new", "paused"))
	case t == reflect.TypeFor[fleet.Priority]():
		return meaning(fleet.ParsePriority, []fleet.Priority{fleet.PriorityUrgent, fleet.PriorityHigh, fleet.PriorityMedium, fleet.PriorityLow})
	case enum(t) != nil:
		return oneOf(enum(t))
	}
	switch t.Kind() { //nolint:exhaustive // the others hold anything
	case reflect.String:
		return text(formOf(form))
	case reflect.Bool:
		return truth(strings.Fields(tag.Get("words")))
	case reflect.Int, reflect.Int64:
		return whole(tag)
	case reflect.Float64:
		return number(tag)
	}
	return scalar{parse: func(raw any) (any, error) { return raw, nil }, schema: func() Schema { return Schema{} }}
}

// suggested is a value to write in place of a refused one: what its author may have meant, or else the default,
// or else an example.
func (r scalar) suggested(raw any, v reflect.Value, tag reflect.StructTag) any {
	if example := tag.Get("example"); example != "" {
		return example
	}
	return r.suggest(raw, v.Interface())
}

// written is a field's value, as [Literal] takes it.
func (r scalar) written(v reflect.Value) any {
	switch {
	case r.write != nil:
		return r.write(v.Interface())
	case v.Kind() == reflect.String:
		return v.String()
	}
	return v.Interface()
}

// text is a string of a form.
func text(f form) scalar {
	return scalar{
		parse: func(raw any) (any, error) {
			s, is := raw.(string)
			if !is {
				return nil, wanted("a string", raw)
			}
			return f.parsed(s)
		},
		suggest: func(raw, standard any) any {
			if f.words != nil {
				return oneOf(f.words).suggest(raw, standard)
			}
			if s := cmp.Or(f.example, fmt.Sprint(standard)); s != "" {
				return s
			}
			switch raw.(type) {
			case bool, int64, float64:
				return Literal(raw) // with quotes
			}
			return "…"
		},
		schema: f.schema,
	}
}

// oneOf is one of some words.
func oneOf(words []string) scalar {
	return scalar{
		parse: func(raw any) (any, error) {
			s, is := raw.(string)
			switch {
			case !is:
				return nil, wanted("a string", raw)
			case !slices.Contains(words, s):
				list := strings.Trim(Literal(words), "[]")
				if last := strings.LastIndex(list, ", "); last >= 0 {
					list = list[:last] + " or" + list[last+1:]
				}
				return nil, wanted(list, raw)
			}
			return s, nil
		},
		suggest: func(raw, standard any) any {
			s, _ := raw.(string)
			return cmp.Or(fleet.Nearest(s, words), fmt.Sprint(standard), words[0])
		},
		schema: func() Schema { return Schema{"type": "string", "enum": words} },
	}
}

// meaning is a word that stands for one of stint's, which known lists for editors.
func meaning[T ~string](parse func(string) (T, error), known []T) scalar {
	r := oneOf(texts(known))
	r.parse = func(raw any) (any, error) {
		switch word, is := raw.(string); {
		case !is:
			return nil, wanted("a string", raw)
		case word == "":
			return nil, fmt.Errorf("want a word, not an empty string")
		default:
			return parse(word)
		}
	}
	return r
}

// truth is true or false, or one of two words for them.
func truth(words []string) scalar {
	if len(words) == 0 {
		return scalar{
			parse: func(raw any) (any, error) {
				if _, is := raw.(bool); !is {
					return nil, wanted("true or false", raw)
				}
				return raw, nil
			},
			suggest: func(raw, _ any) any {
				return !slices.Contains([]string{"no", "off", "false", "0"}, strings.ToLower(fmt.Sprint(raw)))
			},
			schema: func() Schema { return Schema{"type": "boolean"} },
		}
	}
	r := oneOf(words)
	return scalar{
		parse: func(raw any) (any, error) {
			word, err := r.parse(raw)
			return word == any(words[1]), err
		},
		suggest: func(raw, _ any) any { return r.suggest(raw, words[0]) },
		write: func(value any) any {
			if value == true {
				return words[1]
			}
			return words[0]
		},
		schema: r.schema,
	}
}

// bounds are those of a tag.
func bounds(tag reflect.StructTag) (low, high float64) {
	high = math.Inf(1)
	if text := tag.Get("max"); text != "" {
		high, _ = strconv.ParseFloat(text, 64)
	}
	low, _ = strconv.ParseFloat(tag.Get("min"), 64)
	return low, high
}

// numberMeant is a value that is a number, or a string that has one.
func numberMeant(raw any) (float64, bool) {
	switch v := raw.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, !math.IsNaN(v)
	case string:
		f, err := strconv.ParseFloat(v, 64)
		return f, err == nil && !math.IsNaN(f)
	}
	return 0, false
}

// whole is a whole number.
func whole(tag reflect.StructTag) scalar {
	low, high := bounds(tag)
	want := fmt.Sprintf("a whole number from %g to %g", low, high)
	if math.IsInf(high, 1) {
		want = fmt.Sprintf("a whole number of %g or more", low)
	}
	return scalar{
		parse: func(raw any) (any, error) {
			if n, is := raw.(int64); !is || float64(n) < low || float64(n) > high {
				return nil, wanted(want, raw)
			}
			return raw, nil
		},
		suggest: func(raw, standard any) any {
			if f, is := numberMeant(raw); is {
				return int64(min(max(f, low), high, 1e15))
			}
			if n := reflect.ValueOf(standard).Int(); n != 0 {
				return n
			}
			return int64(max(low, 1))
		},
		schema: func() Schema {
			s := Schema{"type": "integer", "minimum": int64(low)}
			if !math.IsInf(high, 1) {
				s["maximum"] = int64(high)
			}
			return s
		},
	}
}

// number is a number, which nan is not.
func number(tag reflect.StructTag) scalar {
	low, high := bounds(tag)
	want, schema := fmt.Sprintf("a number from %g to %.12g", low, high), Schema{"type": "number", "minimum": low, "maximum": high}
	none := tag.Get("zero") != ""
	if none {
		schema = Schema{"anyOf": []Schema{{"type": "number", "const": 0}, schema}}
	}
	return scalar{
		parse: func(raw any) (any, error) {
			f, is := numberMeant(raw)
			_, isText := raw.(string)
			switch {
			case is && !isText && (f >= low && f <= high || none && f == 0):
				return f, nil
			case none:
				return nil, fmt.Errorf("%w; or 0 for none", wanted(want, raw))
			}
			return nil, wanted(want, raw)
		},
		suggest: func(raw, standard any) any {
			f, is := numberMeant(raw)
			switch {
			case is && none && f <= 0:
				return 0.0
			case is:
				return min(max(f, low), high)
			}
			return cmp.Or(standard.(float64), min(max(0.5, low), high))
		},
		schema: func() Schema { return schema },
	}
}

// duration is a time above zero, or none where the tag says so. Without a bound of its own it is at most a year: several are
// added up.
func duration(tag reflect.StructTag) scalar {
	least, want := time.Duration(1), `a duration above zero, such as "90s", "50m" or "1h30m"`
	if tag.Get("zero") != "" {
		least, want = 0, `a duration, such as "0s", "90s" or "1h30m"`
	}
	text := tag.Get("max")
	if text != "" {
		want = "a duration above zero and of at most " + quote(text)
	}
	text = cmp.Or(text, "8760h")
	most, _ := time.ParseDuration(text)
	return scalar{
		parse: func(raw any) (any, error) {
			s, _ := raw.(string)
			d, err := time.ParseDuration(s)
			switch {
			case err != nil || d < least:
				return nil, wanted(want, raw)
			case d > most:
				return nil, wanted("a duration of at most "+quote(text), raw)
			}
			return d, nil
		},
		suggest: func(_, standard any) any { return cmp.Or(standard.(time.Duration), min(50*time.Minute, most)) },
		schema: func() Schema {
			const part = `[0-9.]+(ns|us|µs|μs|ms|s|m|h)`
			if least == 0 {
				return Schema{"type": "string", "pattern": "^([-+]?0|[+]?(" + part + ")+)$"}
			}
			// A digit that is not 0 in one of its parts.
			return Schema{"type": "string", "pattern": `^[+]?(` + part + `)*[0-9.]*[1-9]` + strings.Replace(part, "+", "*", 1) + `(` + part + `)*$`}
		},
	}
}

const oneDay = 24 * time.Hour

// days is a time of whole days, or none.
func days() scalar {
	write := func(value any) any {
		if value == time.Duration(0) {
			return ""
		}
		return fmt.Sprintf("%dd", value.(time.Duration)/oneDay)
	}
	return scalar{
		parse: func(raw any) (any, error) {
			s, is := raw.(string)
			if is && s == "" {
				return time.Duration(0), nil
			}
			const most = 100_000
			digits, named := strings.CutSuffix(s, "d")
			n, err := strconv.ParseUint(digits, 10, 32)
			if err != nil || !named || n == 0 || n > most {
				return nil, wanted(`days, such as "400d", or "" for no bound`, raw)
			}
			return time.Duration(n) * oneDay, nil //nolint:gosec // it is below most
		},
		suggest: func(_, standard any) any { return cmp.Or(write(standard).(string), "400d") },
		write:   write,
		schema:  func() Schema { return Schema{"type": "string", "pattern": `^([1-9][0-9]*d)?$`} },
	}
}

// The words of the key network.
const networkAny, networkNone = "any", "none"

// network is anything, nothing, or the TCP ports of a list.
func network() scalar {
	port := whole(`min:"1" max:"65535"`)
	return scalar{
		parse: func(raw any) (any, error) {
			list, is := raw.([]any)
			switch {
			case raw == networkAny:
				return (*[]int)(nil), nil
			case raw == networkNone:
				return &[]int{}, nil
			case !is || len(list) == 0:
				return nil, wanted(`"any", "none" or a list of TCP ports`, raw)
			}
			var ports []int
			for _, item := range list {
				n, err := port.parse(item)
				if err != nil {
					return nil, err
				}
				ports = append(ports, int(n.(int64)))
			}
			return &ports, nil
		},
		suggest: func(any, any) any { return networkNone },
		write: func(value any) any {
			ports := value.(*[]int)
			switch {
			case ports == nil:
				return networkAny
			case len(*ports) == 0:
				return networkNone
			}
			list := make([]any, len(*ports))
			for i, n := range *ports {
				list[i] = int64(n)
			}
			return list
		},
		schema: func() Schema {
			return Schema{"anyOf": []Schema{
				{"type": "string", "enum": []string{networkAny, networkNone}},
				{"type": "array", "minItems": 1, "items": port.schema()},
			}}
		},
	}
}
