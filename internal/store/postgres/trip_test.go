package postgres

import (
	"math"
	"testing"
	"time"

	"stint/internal/must"
	"stint/internal/store/table"
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
		At, Since   time.Time
	}
	var got []values
	d := mustOpen(t, testOptions(t))
	err := d.Read(t.Context(), func(time.Time) []table.Statement {
		return []table.Statement{
			{SQL: "select 1"}, // and rows that nobody reads
			{
				SQL: `select $1::text, $2::text, null::text, n::bigint, $3::bigint, $4::float8, $5::float8, null::float8,
(select sum(n) from (values (1::bigint), (2)) v (n)), true, '2026-06-26 12:00:00Z'::timestamptz, 5::bigint from generate_series(0, 1) n`,
				Args: []any{"wörd", "", int64(math.MinInt64), 1e-300, math.Inf(1)},
				Scan: func(row table.Scanner) error {
					var v values
					err := row.Scan(&v.Word, &v.Text, &v.None, &v.Small, &v.Whole, &v.Fraction, &v.Also, &v.Never, &v.Sum, &v.True, &v.At, table.When(&v.Since))
					v.At = v.At.UTC()
					got = append(got, v)
					return err
				},
			},
		}
	})
	must.Do(t, err)
	first := values{
		Word: "wörd", Text: new(""), Whole: math.MinInt64, Fraction: 1e-300, Also: new(math.Inf(1)), Sum: 3, True: true,
		At: time.Date(2026, 6, 26, 12, 0, 0, 0, time.UTC), Since: time.UnixMilli(5).UTC(),
	}
	second := first
	second.Small = 1
	must.Equal(t, "values", got, []values{first, second})
	for name, s := range map[string]table.Statement{
		"null":     {SQL: "select null::bigint", Scan: func(row table.Scanner) error { return row.Scan(new(int)) }},
		"too much": {SQL: "select 128::bigint", Scan: func(row table.Scanner) error { return row.Scan(new(int8)) }},
		"no text":  {SQL: "select 1::bigint", Scan: func(row table.Scanner) error { return row.Scan(new(time.Time)) }},
		"places":   {SQL: "select 1, 2", Scan: func(row table.Scanner) error { return row.Scan(new(int)) }},
	} {
		if err := d.Read(t.Context(), func(time.Time) []table.Statement { return []table.Statement{s} }); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}
