package table

import (
	"embed"
	"io/fs"
	"slices"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Migration is a step of the schema.
type Migration struct{ Name, SQL string }

// Migrations are the schema's steps in order: step n leads to version n+1. They are written as
// SQLite has them.
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
		list[i] = Migration{name, string(text)}
	}
	return list
}
