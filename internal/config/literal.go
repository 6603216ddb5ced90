package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Literal writes a value as TOML reads it, on one line.
func Literal(value any) string {
	switch v := value.(type) {
	case string:
		return quote(v)
	case time.Duration:
		return quote(brief(v))
	case float64:
		return floatLiteral(v)
	case []string:
		return listLiteral(v, quote)
	case []any:
		return listLiteral(v, Literal)
	case map[string]any:
		return tableLiteral(v)
	case time.Time:
		return v.Format(time.RFC3339Nano)
	}
	return fmt.Sprint(value)
}

func listLiteral[T any](items []T, write func(T) string) string {
	words := make([]string, len(items))
	for i, item := range items {
		words[i] = write(item)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

func tableLiteral(table map[string]any) string {
	pairs := make([]string, 0, len(table))
	for _, key := range slices.Sorted(maps.Keys(table)) {
		pairs = append(pairs, under("", key)+" = "+Literal(table[key]))
	}
	if len(pairs) == 0 {
		return "{}"
	}
	return "{ " + strings.Join(pairs, ", ") + " }"
}

// floatLiteral keeps a point or exponent in the number, without which it would be
// read as an integer.
func floatLiteral(f float64) string {
	s := strings.ToLower(strconv.FormatFloat(f, 'g', -1, 64))
	if strings.ContainsAny(s, ".enaif") {
		return s
	}
	return s + ".0"
}

// brief is the duration without the zero units of [time.Duration.String]: 1h, not
// 1h0m0s.
func brief(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// quote writes s as a basic string of TOML. [strconv.Quote] has escapes that TOML
// does not know.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
