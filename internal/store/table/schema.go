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

// Migration is a step of the schema.
type Migration struct {
	Name, SQL string
	// Compat is the oldest program, by the version of the schema that it knows, that may use a store
	// after this step; 0: that of the step before. A step that only adds leaves it; one that takes away
	// raises it, in a release after the one that no longer needs what goes: "-- compat: N" in its file.
	Compat int
}

// Latest is the schema's version after all of its steps. Each command asks for it; reading the steps takes longer.
func Latest() int {
	files, err := migrationFiles.ReadDir("migrations")
	if err != nil {
		panic(err) // it was compiled in
	}
	return len(files)
}

// Migrations are the schema's steps in order: step n leads to version n+1. They are written as
// SQLite has them, and come without comments.
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

// bare is SQL without comments: SQLite keeps the text of each table, and every command parses it again, which takes
// it 0.5 ms more with them.
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

// FleetColumns are the columns of the one row of fleet that a write changes.
func FleetColumns() string { return Fleets().Names() }
