package cli

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"stint/internal/testkit/must"
	"stint/internal/view"
)

var update = flag.Bool("update", false, "write what the code says into topics/json.md")

// TestJSONTopic compares the help topic with the types that make the objects: each schema of
// the program has its section, and each section the fields, types and comments of the code.
func TestJSONTopic(t *testing.T) {
	t.Parallel()
	tree := readTypes(t)
	const path = "topics/json.md"
	head, sections := splitSections(topicText(t, "json.md"))
	for _, name := range tree.twice {
		t.Errorf("%s is the schema of several types", name)
	}
	for _, name := range slices.Sorted(maps.Keys(tree.schemas)) {
		if tree.schemas[name].pkg == "cli" {
			t.Errorf("%s is of a type in package cli, want one in package wire", name)
		}
		if _, ok := sections[name]; !ok {
			t.Errorf("%s has no section %s", path, name)
		}
	}
	var b strings.Builder
	b.WriteString(head)
	views := views(t)
	if n := len(tree.schemas) + len(views); n < 50 {
		t.Fatalf("found only %d schemas", n)
	}
	for name := range views {
		if _, ok := sections[name]; !ok {
			t.Errorf("%s has no section %s", path, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sections)) {
		rows := tree.expanded(views[name])
		if expr, ok := tree.schemas[name]; ok {
			rows = append(rows, tree.rows(expr, "", name)...)
		}
		if len(rows) == 0 {
			t.Errorf("%s describes %s, which is nowhere in the program", path, name)
			continue
		}
		fmt.Fprintf(&b, "## %s\n\n%s\n\n%s\n", name, sections[name], block(rows))
	}
	want := strings.TrimSuffix(b.String(), "\n")
	if *update {
		must.Do(t, os.WriteFile(path, []byte(want), 0o600))
		return
	}
	if topicText(t, "json.md") != want {
		t.Errorf("%s is not what the types say: go test ./internal/cli -run TestJSONTopic -update", path)
	}
}

// views are the objects that package view describes, by their schemas.
func views(t *testing.T) map[string][]view.Row {
	t.Helper()
	all := map[string][]view.Row{}
	for _, rows := range [][]view.Row{
		view.Audit().Rows(), view.Budget().Rows(), view.Claim().Rows(), view.Claims().Rows(), view.Fire().Rows(), view.Fires().Rows(),
		view.Hosts(time.Time{}).Rows(), view.LandedList().Rows(), view.Lessons().Rows(), view.Ranking(nil, nil).Rows(), view.Replay().Rows(), view.Report("").Rows(),
		view.Reset(false).Rows(), view.Run().Rows(), view.RunDetail().Rows(), view.Runs().Rows(), view.Spending("", nil).Rows(), view.Status("").Rows(),
		view.Task().Rows(), view.Tasks().Rows(),
	} {
		all[rows[0].About] = rows
	}
	for _, path := range must.Get(filepath.Glob("../view/*.go"))(t) {
		text := must.Get(os.ReadFile(path))(t)
		for _, m := range regexp.MustCompile(`(?:Schema\[\S+\]|List)\("(stint/[^"]+)"`).FindAllStringSubmatch(string(text), -1) {
			if all[m[1]] == nil {
				t.Errorf("%s: this test does not know %s", path, m[1])
			}
		}
	}
	return all
}

// expanded puts the fields of the Go types that rows name below them.
func (tree *types) expanded(rows []view.Row) (list []view.Row) {
	for _, r := range rows {
		name := regexp.MustCompile(`selector\.\w+`).FindString(r.Kind)
		r.Kind = strings.Replace(r.Kind, cmp.Or(name, "object"), "object", 1)
		list = append(list, r)
		if name != "" {
			indent := r.Name[:len(r.Name)-len(strings.TrimLeft(r.Name, " "))]
			list = append(list, tree.rows(tree.all[name], indent+"  ", "")...)
		}
	}
	return list
}

// TestJSONTopicNamesCommands finds, for every object that a script looks at, the command that
// printed it in the object's section.
func TestJSONTopicNamesCommands(t *testing.T) {
	t.Parallel()
	_, sections := splitSections(topicText(t, "json.md"))
	printed := regexp.MustCompile(`(?m)^exits 0 stint (.*--json.*)\n(?:(?:fields|!|stdout).*\n)*json stdout schema (stint/[a-z-]+@\d+)$`)
	root := newRoot(&app{Surroundings: Process()}, nil)
	scripts := must.Get(filepath.Glob("../../testdata/script/*.txtar"))(t)
	found := 0
	for _, path := range scripts {
		text := must.Get(os.ReadFile(path))(t)
		for _, m := range printed.FindAllStringSubmatch(string(text), -1) {
			c, _, err := root.Find(strings.Fields(m[1]))
			must.Do(t, err)
			found++
			if !strings.Contains(strings.Join(strings.Fields(sections[m[2]]), " "), c.CommandPath()) {
				t.Errorf("%s: %s prints %s, whose section does not name it", filepath.Base(path), c.CommandPath(), m[2])
			}
		}
	}
	if found < 15 {
		t.Errorf("read only %d objects in the scripts", found)
	}
}

// splitSections takes the topic apart: the text before the first section, and what a person
// wrote below the name of each schema.
func splitSections(text string) (head string, sections map[string]string) {
	sections = map[string]string{}
	head, rest, _ := strings.Cut(text, "\n## stint/")
	for part := range strings.SplitSeq("\n## stint/"+rest, "\n## stint/") {
		if name, body, ok := strings.Cut(part, "\n"); ok {
			body, _, _ = strings.Cut(body, "\n\n    ")
			sections["stint/"+name] = strings.TrimSpace(body)
		}
	}
	return head + "\n", sections
}

// named is a type as one package writes it.
type named struct {
	pkg  string
	expr ast.Expr
}

// types are the types of the program, by package and name, and the objects among them that
// have a schema.
type types struct {
	all     map[string]named
	schemas map[string]named
	of      map[string]string // the schema of a type
	twice   []string          // schemas of more than one type that the program prints
}

// readTypes reads the shipped files of all packages.
func readTypes(t *testing.T) *types {
	t.Helper()
	tree := &types{all: map[string]named{}, schemas: map[string]named{}, of: map[string]string{}}
	consts, made := map[string]string{}, map[string]bool{}
	var files []*ast.File
	set := token.NewFileSet()
	paths := must.Get(filepath.Glob("../*/*.go"))(t)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f := must.Get(parser.ParseFile(set, path, nil, parser.ParseComments))(t)
		files = append(files, f)
		for _, d := range f.Decls {
			d, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					tree.all[f.Name.Name+"."+s.Name.Name] = named{f.Name.Name, s.Type}
				case *ast.ValueSpec:
					for i, v := range s.Values {
						if lit, ok := v.(*ast.BasicLit); ok {
							consts[f.Name.Name+"."+s.Names[i].Name] = lit.Value
						}
					}
				}
			}
		}
	}
	for _, f := range files {
		pkg := f.Name.Name
		// An object that is only compared is one that is read, and may be a part of what is printed.
		note := func(object, value ast.Expr, makes bool) {
			text := ""
			switch v := value.(type) {
			case *ast.BasicLit:
				text = v.Value
			case *ast.Ident:
				text = consts[pkg+"."+v.Name]
			}
			text, err := strconv.Unquote(text)
			if err != nil || object == nil || !strings.HasPrefix(text, "stint/") || !strings.Contains(text, "@") {
				return
			}
			before, now := tree.nameOf(tree.schemas[text]), tree.nameOf(named{pkg, object})
			if before != "" && made[text] && makes && before != now {
				tree.twice = append(tree.twice, text)
			}
			if _, known := tree.schemas[text]; known && !makes {
				return
			}
			delete(tree.of, before)
			tree.schemas[text], made[text] = named{pkg, object}, makes
			if now != "" {
				tree.of[now] = text
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit: // Object{Schema: "stint/object@1", …}, or without the name
				if len(n.Elts) == 0 {
					return true
				}
				if pair, ok := n.Elts[0].(*ast.KeyValueExpr); !ok {
					note(n.Type, n.Elts[0], true)
				} else if key, ok := pair.Key.(*ast.Ident); ok && key.Name == "Schema" {
					note(n.Type, pair.Value, true)
				}
			case *ast.AssignStmt: // object.Schema = "stint/object@1"
				note(declared(n.Lhs[0]), n.Rhs[0], true)
			case *ast.BinaryExpr: // object.Schema != schemaObject
				note(declared(n.X), n.Y, false)
			}
			return true
		})
	}
	return tree
}

// declared is the type of the variable of which an expression is the field Schema, or nil.
func declared(e ast.Expr) ast.Expr {
	field, ok := e.(*ast.SelectorExpr)
	if !ok || field.Sel.Name != "Schema" {
		return nil
	}
	if variable, ok := field.X.(*ast.Ident); ok && variable.Obj != nil {
		switch d := variable.Obj.Decl.(type) {
		case *ast.Field:
			return d.Type
		case *ast.ValueSpec:
			return d.Type
		}
	}
	return nil
}

// nameOf is the name of a type that is not written out.
func (tree *types) nameOf(n named) string {
	switch e := n.expr.(type) {
	case *ast.Ident:
		if _, ok := tree.all[n.pkg+"."+e.Name]; ok {
			return n.pkg + "." + e.Name
		}
	case *ast.SelectorExpr:
		return e.X.(*ast.Ident).Name + "." + e.Sel.Name
	}
	return ""
}

// structure is the struct that a type stands for.
func (tree *types) structure(n named) (*ast.StructType, string) {
	for range 4 {
		if s, ok := n.expr.(*ast.StructType); ok {
			return s, n.pkg
		}
		n = tree.all[tree.nameOf(n)]
	}
	return nil, ""
}

// rows are the fields of an object.
func (tree *types) rows(n named, indent, schema string) (list []view.Row) {
	s, pkg := tree.structure(n)
	for _, f := range s.Fields.List {
		about := strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")
		if len(f.Names) == 0 {
			embedded := named{pkg, f.Type}
			if of := tree.of[tree.nameOf(embedded)]; of != "" {
				list = append(list, view.Row{Name: indent + "…", Kind: "", About: "all fields of " + of})
			} else {
				list = append(list, tree.rows(embedded, indent, schema)...)
			}
			continue
		}
		if f.Tag == nil || !f.Names[0].IsExported() {
			continue
		}
		tag, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			panic(err)
		}
		name, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		if name == "-" || name == "" {
			continue
		}
		if name == "schema" && indent == "" && schema != "" {
			list = append(list, view.Row{Name: name, Kind: "text", About: schema})
			continue
		}
		kind, inner := tree.kind(named{pkg, f.Type})
		kind = cmp.Or(reflect.StructTag(tag).Get("view"), kind)
		if strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero") {
			kind += ", may be absent"
		}
		list = append(list, view.Row{Name: indent + name, Kind: kind, About: about})
		if inner != nil {
			list = append(list, tree.rows(*inner, indent+"  ", schema)...)
		}
	}
	return list
}

// kind is a type in words, and the object whose fields follow, if it is described there.
func (tree *types) kind(n named) (kind string, inner *named) {
	switch e := n.expr.(type) {
	case *ast.StarExpr:
		kind, inner = tree.kind(named{n.pkg, e.X})
		return kind + " or null", inner
	case *ast.ArrayType:
		kind, inner = tree.kind(named{n.pkg, e.Elt})
		return "list: " + kind, inner
	case *ast.MapType:
		kind, inner = tree.kind(named{n.pkg, e.Value})
		return "by name: " + kind, inner
	case *ast.StructType:
		return "object", &n
	case *ast.InterfaceType:
		return "any", nil
	}
	name := tree.nameOf(n)
	if s, _ := tree.structure(n); s != nil && name != "wire.Estimate" {
		if schema := tree.of[name]; schema != "" {
			return schema, nil
		}
		return "object", &n
	}
	if under, ok := tree.all[name]; ok && name != "wire.Estimate" {
		return tree.kind(under)
	}
	words := map[string]string{
		"string": "text", "bool": "boolean", "int": "integer", "int32": "integer", "int64": "integer", "uint64": "integer",
		"float64": "number", "time.Time": "text", "json.RawMessage": "any", "any": "any",
		"wire.Estimate": "object: mean, ci95", // for short: ten of them stand in one object
	}
	if id, ok := n.expr.(*ast.Ident); ok && name == "" {
		name = id.Name
	}
	return cmp.Or(words[name], "? "+name), nil
}

// block writes rows as the topics write code, with lines that fit.
func block(rows []view.Row) string {
	var b strings.Builder
	names, kinds := 0, 0
	for _, r := range rows {
		names, kinds = max(names, len([]rune(r.Name))), max(kinds, min(len(r.Kind), 20))
	}
	for _, r := range rows {
		line := fmt.Sprintf("    %-*s  %-*s ", names, r.Name, kinds, r.Kind)
		for word := range strings.FieldsSeq(r.About) {
			if len([]rune(line))+1+len([]rune(word)) > 96 {
				b.WriteString(line + "\n")
				line = strings.Repeat(" ", 4+names+2+kinds+1)
			}
			line += " " + word
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}
