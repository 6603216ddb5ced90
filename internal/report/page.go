package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strconv"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/plot"
)

//go:embed page.html
var pageText string

// Page is the report as one HTML document, which needs nothing else and runs nothing.
func (p Report) Page(name fleet.Name) ([]byte, error) {
	t, err := template.New("report").Funcs(template.FuncMap{
		"percent": Percent,
		"grouped": grouped,
		"line":    func(text any) string { return plain.Line(fmt.Sprint(text)) },
		"stamp":   func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") },
		"one":     func(v float64) string { return fmt.Sprintf("%.1f", v) },
		"two":     func(v float64) string { return fmt.Sprintf("%.2f", v) },
		"usd":     func(v float64) string { return fmt.Sprintf("%.2f", v) },
		"hours":   func(d time.Duration) string { return fmt.Sprintf("%.1f", d.Hours()) },
	}).Parse(pageText)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, page{p, name, template.CSS(plot.Style)}) //nolint:gosec // a constant
	return b.Bytes(), err
}

type page struct {
	Report
	Fleet fleet.Name
	Style template.CSS
}

// Charts are the pictures, each on its own. Their text is escaped where they are drawn.
func (p page) Charts() (list []template.HTML) {
	for _, c := range p.Report.Charts(nil) {
		list = append(list, template.HTML(plot.Fragment(c))) //nolint:gosec // its text is escaped by the plot
	}
	return list
}

// Charts are those that there is something to show in. Link is where a run's page is; nil:
// there is none.
func (p Report) Charts(link func(fleet.RunID) string) (list []plot.Chart) {
	if t := p.Timeline(link); len(t.Rows) > 0 {
		list = append(list, t)
	}
	if s := p.Shares(); len(s.Shares) > 0 {
		list = append(list, s)
	}
	if d := p.Densities(); len(d.Curves) > 0 {
		list = append(list, d, p.Grades())
	}
	return list
}

// grouped writes a number with a space before each thousand.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "\u202f" + text[i:]
	}
	return text
}
