// Package metrics writes a fleet's metrics for Prometheus, in its text format 0.0.4. It is
// pure, and its cost does not depend on the age of the record: counters come from the sums that
// the ranking keeps, and figures that would have to be counted cover the last day alone, as
// gauges whose names end in "_last_day".
//
// Labels are names of the configuration and words of stint. No task, run, reason or person
// becomes one: a series that nobody asked for costs as much as any other, for ever.
package metrics

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"stint/internal/plain"
)

// kind is the type of a family's values.
type kind string

const (
	gauge   kind = "gauge"
	counter kind = "counter" // it only grows, until a store is made anew
)

// page collects families.
type page struct{ strings.Builder }

// family begins one: all its samples follow.
func (p *page) family(name string, k kind, help string) *family {
	fmt.Fprintf(p, "# HELP %s %s\n# TYPE %s %s\n", name, strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(help), name, k)
	return &family{p, name}
}

type family struct {
	page *page
	name string
}

// add writes a sample. Labels are names and values in turn.
func (f *family) add(value float64, labels ...string) {
	f.page.WriteString(f.name)
	for i := 0; i+1 < len(labels); i += 2 {
		mark := ","
		if i == 0 {
			mark = "{"
		}
		f.page.WriteString(mark + labels[i] + `="` + escape(labels[i+1]) + `"`)
	}
	if len(labels) > 1 {
		f.page.WriteString("}")
	}
	f.page.WriteString(" " + number(value) + "\n")
}

// time writes a time in seconds since 1970; one that is not known is left out.
func (f *family) time(t time.Time, labels ...string) {
	if !t.IsZero() {
		f.add(float64(t.UnixMilli())/1000, labels...)
	}
}

// escape makes a label's value of text.
func escape(value string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(plain.Text(value))
}

// number writes a value so that it is read as what it was.
func number(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64) // NaN as it is
}

// truth is 1 for what holds.
func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
