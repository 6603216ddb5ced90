package postgres

import (
	"math"
	"testing"
	"time"

	"stint/internal/store/table"
	"stint/internal/testkit/must"
)

// TestValues sends values of every kind and reads them back, also into places of other kinds, and null
// into those that have room for it.
func TestValues(t *testing.T) {
	t.Parallel()
	type word string
	type values struct {
		Word        word
		Text, None  *string
		Small       int8
		Whole       int64
		Fraction    float64
		Also, Never *float64
		Sum         int
		True        bool
		Since       time.Time
	}
	var got []values
	d := mustOpen(t, testOptions(t))
	err := d.Read(t.Context(), func(time.Time) []table.Statement {
		return []table.Statement{
			{SQL: "select 1"}, // and rows that nobody reads
			{
				SQL: `select $1::text, $2::text, null::text, n::bigint, $3::bigint, $4::float8, $5::float8, null::float8,
(select sum(n) from (values (1::bigint), (2)) v (n)), true, 5::bigint from generate_series(0, 1) n`,
				Args: []any{"wörd", "", int64(math.MinInt64), 1e-300, math.Inf(1)},
				Scan: func(row table.Scanner) error {
					var v values
					err := row.Scan(&v.Word, &v.Text, &v.None, &v.Small, &v.Whole, &v.Fraction, &v.Also, &v.Never, &v.Sum, &v.True, table.When(&v.Since))
					got = append(got, v)
					return err
				},
			},
		}
	})
	must.Do(t, err)
	first := values{
		Word: "wörd", Text: new(""), Whole: math.MinInt64, Fraction: 1e-300, Also: new(math.Inf(1)), Sum: 3, True: true,
		Since: time.UnixMilli(5).UTC(),
	}
	second := first
	second.Small = 1
	must.Equal(t, "values", got, []values{first, second})
	for name, s := range map[string]table.Statement{
		"null":     {SQL: "select null::bigint", Scan: func(row table.Scanner) error { return row.Scan(new(int)) }},
		"too much": {SQL: "select 128::bigint", Scan: func(row table.Scanner) error { return row.Scan(new(int8)) }},
		"no time":  {SQL: "select 'noon'::text", Scan: func(row table.Scanner) error { return row.Scan(new(time.Time)) }},
		"no value": {SQL: "select $2", Args: []any{1}},
		"no text":  {SQL: "select 1::bigint", Scan: func(row table.Scanner) error { return row.Scan(new(time.Time)) }},
		"places":   {SQL: "select 1, 2", Scan: func(row table.Scanner) error { return row.Scan(new(int)) }},
	} {
		if err := d.Read(t.Context(), func(time.Time) []table.Statement { return []table.Statement{s} }); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

// TestTexts sends texts that look like SQL, or like more of it, and reads them back, whatever the server's settings
// and the encoding of what is sent to it say of backslashes. An encoding may lack characters.
func TestTexts(t *testing.T) {
	t.Parallel()
	texts := []string{
		"", "'", `\`, `\'`, `'\`, `''`, `\\''`, "$1", "$2 '$1'", "; drop table claims; --", `'); drop table claims; --`, `\'); drop table claims; --`,
		"/*", "--", `"`, "\n\t\r", "\x01\x7f", `\x41\134`, "ü'ü\\", "e'", "E", "$$ $a$", "表'\\", "\U0001F642\\",
	}
	for name, setting := range map[string]string{
		"as it comes": "", "as it was": "-c standard_conforming_strings=off -c backslash_quote=on", "other encoding": "-c client_encoding=SJIS",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := testOptions(t)
			if setting != "" {
				o.DSN += " options='" + setting + "'"
			}
			d := mustOpen(t, o)
			for _, text := range texts {
				var got, again string
				err := d.Read(t.Context(), func(time.Time) []table.Statement {
					return []table.Statement{{SQL: "select $1::text, $2||$1", Args: []any{text, ""}, Scan: func(row table.Scanner) error { return row.Scan(&got, &again) }}}
				})
				if refused := err != nil && name == "other encoding"; !refused && (err != nil || got != text || again != text) {
					t.Errorf("%q: got %q, %q (%v)", text, got, again, err)
				}
			}
		})
	}
}
