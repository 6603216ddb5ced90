package report

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// CSV is the report as one table after RFC 4180. Each row sums up runs: its kind says of
// what, and the columns before the figures which. A column that a row has no figure for is
// empty.
func (p Report) CSV() ([]byte, error) {
	head := append(csvHead(), strings.Fields("merged refused usd_each sessions_each due_7d stood_7d due_30d stood_30d")...)
	rows := [][]string{head, p.csvRow("fleet", "", "", p.From, p.To, p.All, CategoryUse{})}
	for _, c := range p.Categories {
		rows = append(rows, p.csvRow("category", c.Category, "", p.From, p.To, c.Use, c))
	}
	for _, a := range p.Agents {
		rows = append(rows, p.csvRow("agent", "", a.Agent, p.From, p.To, a.Use, CategoryUse{}))
	}
	for _, u := range p.Pairs {
		rows = append(rows, p.csvRow("category+agent", u.Category, u.Agent, p.From, p.To, u.Use, CategoryUse{}))
	}
	for _, w := range p.Merged {
		rows = append(rows, p.mergedRow(w))
	}
	for _, s := range p.Steps {
		rows = append(rows, p.csvRow("step", "", "", s.From, s.From.Add(p.Step), s.Use, CategoryUse{}))
	}
	for i, row := range rows {
		rows[i] = append(row, make([]string, len(head)-len(row))...)
	}
	return csvText(rows)
}

// mergedRow is what became of the work of one agent in one category.
func (p Report) mergedRow(w MergedWork) []string {
	row := make([]string, len(csvHead()))
	for i, name := range csvHead() {
		switch name {
		case "kind":
			row[i] = "merged"
		case "category":
			row[i] = inert(string(w.Category))
		case "agent":
			row[i] = inert(w.Agent)
		case "from":
			row[i] = plain.Stamp(p.From)
		case "to":
			row[i] = plain.Stamp(p.To)
		case "sessions":
			row[i] = strconv.Itoa(w.Sessions)
		case "usd":
			row[i] = decimal(w.USD)
		}
	}
	usd, sessions := "", ""
	if each, of := w.PerMerged(); w.Merged > 0 {
		usd, sessions = decimal(each), decimal(of)
	}
	return append(row, strconv.Itoa(w.Merged), strconv.Itoa(w.Refused), usd, sessions,
		strconv.Itoa(w.Week.Due), strconv.Itoa(w.Week.Stood), strconv.Itoa(w.Month.Due), strconv.Itoa(w.Month.Stood))
}

func csvText(rows [][]string) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	err := w.WriteAll(rows)
	return b.Bytes(), err
}

func csvHead() []string {
	head := strings.Fields(`kind category agent from to runs ended spawned sessions part share entitled ratio judgement
believed believed_low believed_high graded grade grade_low grade_high noop_rate tokens usd usd_estimated worked_seconds`)
	for _, o := range fleet.Outcomes() {
		head = append(head, string(o))
	}
	return head
}

func (p Report) csvRow(kind string, c fleet.Category, agent string, from, to time.Time, u Use, against CategoryUse) []string {
	row := []string{
		kind, inert(string(c)), inert(agent), plain.Stamp(from), plain.Stamp(to),
		strconv.Itoa(u.Runs), strconv.Itoa(u.Ended), strconv.Itoa(u.Spawned), strconv.Itoa(u.Sessions),
	}
	row = append(row, against.csv()...)
	row = append(row, strconv.Itoa(u.Graded))
	alone := u.Alone().csv()
	if against.Category != "" { // of which more is believed
		alone[1], alone[2] = "", ""
	}
	row = append(row, alone...)
	row = append(row, decimal(u.NoopRate()), strconv.FormatInt(u.Tokens, 10), decimal(u.USD), decimal(u.Guessed), decimal(u.Worked.Seconds()))
	for _, o := range fleet.Outcomes() {
		row = append(row, strconv.Itoa(u.Outcomes[o]))
	}
	return row
}

// csv are the columns that only categories have.
func (c CategoryUse) csv() []string {
	if c.Category == "" {
		return make([]string, 8)
	}
	ratio := ""
	if c.Entitled > 0 {
		ratio = decimal(c.Ratio())
	}
	return append([]string{decimal(c.Part), decimal(c.Share), decimal(c.Entitled), ratio, string(c.Judgement)}, c.Believed.csv()...)
}

func (e Estimate) csv() []string {
	if e == (Estimate{}) {
		return make([]string, 3)
	}
	return []string{decimal(e.Mean), decimal(e.Low), decimal(e.High)}
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', 4, 64) }

// inert keeps a spreadsheet from computing a name that begins as a formula does.
func inert(name string) string {
	if name != "" && strings.ContainsRune("=+-@\t\r", rune(name[0])) {
		return "'" + name
	}
	return name
}
