package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"stint/scripts/lab/simulate"
)

// head says what the file is.
const head = `# Outcomes of the policy "stint", run by run: problem, world, quantity and the runs' values, between tabs.
# Made by: scripts/bench-selection -keep >scripts/lab/testdata/outcomes.tsv
`

// key names a series.
type key struct{ problem, world, quantity string }

func (k key) String() string {
	return strings.Join(strings.Fields(k.problem+" "+k.world+" "+k.quantity), " ")
}

// series is one quantity of a world, by run.
type series struct {
	key
	values []float64
}

// outcomes lists the kept outcomes, in the order in which they were played.
type outcomes struct{ list []series }

// add keeps what came of a world.
func (o *outcomes) add(problem, world string, s *simulate.Scenario, runs []simulate.Outcome) {
	for _, q := range []struct {
		name string
		of   func(simulate.Outcome) float64
	}{
		{"reward", func(r simulate.Outcome) float64 { return r.Reward / float64(s.Fires) }}, // per fire
		{"regret", func(r simulate.Outcome) float64 { return r.Regret }},
		{"least n/E", func(r simulate.Outcome) float64 { return r.MinRatio }},
		{"most n/E", func(r simulate.Outcome) float64 { return r.MaxRatio }},
		{"noops", simulate.Outcome.NoopRate},
		{"alarms", func(r simulate.Outcome) float64 { return float64(r.Alarms) }},
	} {
		values := make([]float64, len(runs))
		for i, r := range runs {
			values[i] = q.of(r)
		}
		o.list = append(o.list, newSeries(key{problem, world, q.name}, values))
	}
}

// measured keeps what a problem measures beside.
func (o *outcomes) measured(problem, what string, values []float64) {
	o.list = append(o.list, newSeries(key{problem, "", what}, values))
}

// newSeries rounds values as the file has them, for a comparison to see no more than is kept.
func newSeries(k key, values []float64) series {
	s := series{key: k}
	for _, v := range values {
		short, _ := strconv.ParseFloat(written(v), 64) // it was a number
		s.values = append(s.values, short)
	}
	return s
}

func written(v float64) string { return strconv.FormatFloat(v, 'g', 5, 64) }

func (s series) line() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\t%s\t%s\t", s.problem, s.world, s.quantity)
	for i, v := range s.values {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(written(v))
	}
	return append(b.Bytes(), '\n')
}

func (o *outcomes) text() []byte {
	text := []byte(head)
	for _, s := range o.list {
		text = append(text, s.line()...)
	}
	return text
}

func (o *outcomes) find(k key) (series, bool) {
	for _, s := range o.list {
		if s.key == k {
			return s, true
		}
	}
	return series{}, false
}

func readOutcomes(text []byte) (*outcomes, error) {
	o := &outcomes{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		part := strings.Split(strings.TrimSpace(line), "\t")
		if len(part) != 4 {
			return nil, fmt.Errorf("kept outcomes: want four parts in %.60q", line)
		}
		s := series{key: key{part[0], part[1], part[2]}}
		for _, word := range strings.Fields(part[3]) {
			v, err := strconv.ParseFloat(word, 64)
			if err != nil {
				return nil, fmt.Errorf("kept outcomes of %s: %w", s.key, err)
			}
			s.values = append(s.values, v)
		}
		o.list = append(o.list, s)
	}
	return o, nil
}
