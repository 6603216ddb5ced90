package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/install"
	"stint/internal/plain"
	"stint/internal/rank"
)

// importGrades has the sessions count that an older fleet had.
func (s *setup) importGrades(ctx context.Context, c *config.Config) error {
	if s.o.grades == "" {
		return nil
	}
	in, name := s.Stdin, "standard input"
	if s.o.grades != "-" {
		file, err := os.Open(s.o.grades)
		if err != nil {
			return usage(err)
		}
		defer file.Close()
		in, name = file, s.o.grades
	}
	list, err := readGrades(in, name, c, s.Now())
	if err != nil {
		return usage(err)
	}
	what, done := plain.Plural(len(list), "grade")+" of "+name, "imported"
	if !s.dryRun {
		db, err := s.openStore(ctx, c, writing)
		if err != nil {
			return err
		}
		already, err := db.Import(ctx, list)
		if err = errors.Join(err, db.Close()); err != nil {
			return err
		}
		if already > 0 {
			what, done = plain.Plural(already, "grade")+" of an earlier import", install.Kept
		}
	}
	s.did(what, done)
	return nil
}

// readGrades reads a JSON object from each line that is not empty. An error names the line.
func readGrades(in io.Reader, name string, c *config.Config, now time.Time) (list []rank.Session, err error) {
	lines, n := bufio.NewScanner(in), 1
	for ; lines.Scan(); n++ {
		if text := bytes.TrimSpace(lines.Bytes()); len(text) > 0 {
			x, err := readGrade(text, c, now)
			if err != nil {
				return nil, fleet.WithHint(fmt.Errorf("%s, line %d: %w", name, n, err), "no grade was imported; correct the line, and run the command again")
			}
			list = append(list, x)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s, line %d: %w", name, n, err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no grades", name)
	}
	return list, nil
}

func readGrade(text []byte, c *config.Config, now time.Time) (x rank.Session, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&x); err != nil {
		return x, err
	}
	_, after := d.Token()
	_, known := c.Categories[x.Category]
	switch {
	case !errors.Is(after, io.EOF):
		return x, errors.New("there is more than one object")
	case !known:
		return x, fmt.Errorf("category %q is not in %s", x.Category, c.Path)
	case x.Grade == nil || *x.Grade < 0 || *x.Grade > 1:
		return x, errors.New("grade must be a number from 0 to 1")
	case x.At.IsZero() || x.At.After(now):
		return x, errors.New("at must be a time in the past, as in 2026-06-26T12:00:00Z")
	}
	return x, nil
}
