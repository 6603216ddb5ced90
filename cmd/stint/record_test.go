package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/google/go-cmp/cmp"
	_ "github.com/mattn/go-sqlite3" // scriptSQL opens the store itself
	"github.com/rogpeppe/go-internal/testscript"
)

// scriptJSON compares the value at a path such as runs.0.outcome; text is compared
// without its quotes. Without a value, the path has to be there.
func scriptJSON(ts *testscript.TestScript, args []string) {
	value := lookUp(ts, args[0], args[1])
	if len(args) == 2 {
		return
	}
	got, ok := value.(string)
	if !ok {
		data, err := json.Marshal(value)
		ts.Check(err)
		got = string(data)
	}
	if want := strings.Join(args[2:], " "); got != want {
		ts.Fatalf("%s: %s, want %s", args[1], got, want)
	}
}

// scriptFields compares the names in the object at a path; "." is the whole.
func scriptFields(ts *testscript.TestScript, args []string) {
	object, ok := lookUp(ts, args[0], args[1]).(map[string]any)
	if !ok {
		ts.Fatalf("%s is no object", args[1])
	}
	got, want := slices.Sorted(maps.Keys(object)), slices.Sorted(slices.Values(args[2:]))
	if diff := cmp.Diff(got, want); diff != "" {
		ts.Fatalf("fields of %s (-got +want):\n%s", args[1], diff)
	}
}

// lookUp reads the one JSON value of a file. Standard error holds one a line, of which
// all but the last are log lines.
func lookUp(ts *testscript.TestScript, file, path string) any {
	text := ts.ReadFile(file)
	if lines := strings.Split(strings.TrimSpace(text), "\n"); file == "stderr" {
		for _, line := range lines {
			if !json.Valid([]byte(line)) {
				ts.Fatalf("standard error holds a line that is not JSON: %s", line)
			}
		}
		text = lines[len(lines)-1]
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	ts.Check(decoder.Decode(&value))
	if decoder.More() {
		ts.Fatalf("%s holds more than one JSON value", file)
	}
	if path == "." {
		return value
	}
	for part := range strings.SplitSeq(path, ".") {
		var ok bool
		if value, ok = child(value, part); !ok {
			ts.Fatalf("%s: there is no %s", path, part)
		}
	}
	return value
}

func child(value any, part string) (any, bool) {
	switch v := value.(type) {
	case map[string]any:
		c, ok := v[part]
		return c, ok
	case []any:
		i, err := strconv.Atoi(part)
		if part == "length" {
			return len(v), true
		}
		if err != nil || i < 0 || i >= len(v) {
			return nil, false
		}
		return v[i], true
	}
	return nil, false
}

// scriptSQL changes a store behind the program's back.
func scriptSQL(ts *testscript.TestScript, args []string) {
	ts.Check(execute(context.Background(), ts.MkAbs(args[0]), args[1]))
}

// scriptQuery compares the rows that a query finds, each with its values between spaces.
func scriptQuery(ts *testscript.TestScript, args []string) {
	got, err := queryRows(context.Background(), ts.MkAbs(args[0]), "rw", args[1])
	ts.Check(err)
	if diff := cmp.Diff(got, args[2:]); diff != "" {
		ts.Fatalf("rows (-got +want):\n%s", diff)
	}
}

// scriptWorkersGone waits until no process of a run is left. A run that has ended is not
// yet a worker that has: it gives its lane back and closes the store.
func scriptWorkersGone(ts *testscript.TestScript, args []string) {
	var planned, pids []string
	eventually(ts, func() bool {
		var err error
		planned, err = queryRows(context.Background(), ts.MkAbs(args[0]), "ro", "select id from runs where ended_at is null")
		ts.Check(err)
		pids, err = queryRows(context.Background(), ts.MkAbs(args[0]), "ro", "select pid from runs where pid > 0")
		ts.Check(err)
		alive := slices.ContainsFunc(pids, func(text string) bool {
			pid, err := strconv.Atoi(text)
			ts.Check(err)
			return syscall.Kill(pid, 0) == nil
		})
		return len(planned) == 0 && !alive
	}, func() string { return fmt.Sprintf("the end of all workers: open runs %v, processes %v", planned, pids) })
	// The last worker moves the write-ahead log into the file when it closes the store, unless
	// somebody looks into it at that moment.
	ts.Check(execute(context.Background(), ts.MkAbs(args[0]), "pragma wal_checkpoint(truncate)"))
}

// openBeside opens a store beside the program, in the mode "ro" or "rw".
func openBeside(database, mode string) (*sql.DB, error) {
	return sql.Open("sqlite3", "file:"+database+"?mode="+mode+"&_busy_timeout=15000")
}

// execute changes a store behind the program's back.
func execute(ctx context.Context, database, statement string) error {
	db, err := openBeside(database, "rw")
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statement)
	return errors.Join(err, db.Close())
}

// queryRows returns the rows of a query, a line each.
func queryRows(ctx context.Context, database, mode, query string) (lines []string, err error) {
	db, err := openBeside(database, mode)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintln(values...)))
	}
	return lines, rows.Err()
}

// remembered keys the files as they were.
type remembered struct{}

// scriptRemember takes note of every file and folder of the script.
func scriptRemember(ts *testscript.TestScript, _ []string) {
	*ts.Value(remembered{}).(*map[string]string) = files(ts)
}

// scriptUnchanged fails when a file or folder came, went or changed since.
func scriptUnchanged(ts *testscript.TestScript, _ []string) {
	if diff := cmp.Diff(files(ts), *ts.Value(remembered{}).(*map[string]string)); diff != "" {
		ts.Fatalf("changed (-got +want):\n%s", diff)
	}
}

// files are the modes and contents of the script's tree. SQLite's side files come
// and go with every reader.
func files(ts *testscript.TestScript) map[string]string {
	found := map[string]string{}
	ts.Check(filepath.WalkDir(ts.Getenv("WORK"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || strings.HasSuffix(path, "-wal") || strings.HasSuffix(path, "-shm") {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		text := []byte{}
		if info.Mode().IsRegular() {
			if text, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		found[path] = fmt.Sprintf("%v %q", info.Mode(), text)
		return nil
	}))
	return found
}
