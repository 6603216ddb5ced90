package table

import (
	"embed"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Migration is one step of the schema.
type Migration struct {
	Name, SQL string
	// Compat is the oldest program, by its schema version, that may use a store after this step; 0: as before the step.
	// A step that only adds keeps it. A step that removes something raises it, in a release after the one that stopped
	// using that: "-- compat: N" in its file.
	Compat int
}

// Latest returns the schema's version after all steps. Each command asks for it; reading the steps would take longer.
func Latest() int {
	files, err := migrationFiles.ReadDir("migrations")
	if err != nil {
		panic(err) // it was compiled in
	}
	return len(files)
}

// Migrations returns the schema's steps in order: step n leads to version n+1. They are in SQLite's dialect, without
// comments.
func Migrations() []Migration {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	slices.Sort(names)
	list := make([]Migration, len(names))
	for i, name := range names {
		text, err := migrationFiles.ReadFile(name)
		if err != nil {
			panic(err) // it was compiled in
		}
		list[i] = Migration{Name: name, SQL: bare(string(text))}
		if _, compat, found := strings.Cut("\n"+string(text), "\n-- compat: "); found { // each command looks: a pattern takes 0.3 ms
			compat, _, _ = strings.Cut(compat, "\n")
			if list[i].Compat, err = strconv.Atoi(compat); err != nil {
				panic(err) // as above
			}
		}
	}
	return list
}

// bare removes comments from SQL: SQLite keeps the text of each table, and parsing the comments costs every command 0.5
// ms.
func bare(sql string) string {
	var s strings.Builder
	for line := range strings.Lines(sql) {
		line, _, _ = strings.Cut(line, "--")
		if line = strings.TrimRight(line, " \n"); line != "" {
			s.WriteString(line + "\n")
		}
	}
	return s.String()
}

// FleetColumns lists the columns in the row of fleet that writes change.
func FleetColumns() string { return Fleets().Names() }
