package rank

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"strings"
	"testing"

	"stint/internal/testkit/must"
)

// TestProductsAreRounded finds products of floating-point numbers that a compiler may fuse
// with a sum, here or in a function that they are returned to. A product is safe as an
// operand of another product or of a quotient, and once float64 has rounded it.
func TestProductsAreRounded(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"."} {
		files := token.NewFileSet()
		entries := must.Get(os.ReadDir(dir))(t)
		var parsed []*ast.File
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
				continue
			}
			f := must.Get(parser.ParseFile(files, dir+"/"+e.Name(), nil, parser.SkipObjectResolution))(t)
			parsed = append(parsed, f)
		}
		info := types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
		config := types.Config{
			Importer: importer.ForCompiler(files, "source", nil),
			Error:    func(error) {}, // what is wrong elsewhere does not concern the products
		}
		_, _ = config.Check(dir, files, parsed, &info)
		checked := 0
		for _, f := range parsed {
			safe := map[ast.Expr]bool{}
			ast.Inspect(f, func(n ast.Node) bool {
				checked += markSafe(n, safe, &info)
				if e, ok := n.(ast.Expr); ok && isFloatProduct(e, &info) && !safe[e] {
					t.Errorf("%s: write float64(x*y): it may be fused with a sum, and then rounds differently on some processors", files.Position(e.Pos()))
				}
				return true
			})
		}
		if dir == "." && checked < 20 {
			t.Errorf("%s: %d products are marked as safe, want at least 20: the test does not see them", dir, checked)
		}
	}
}

// markSafe notes the products below a node that nothing is added to, and counts them.
func markSafe(n ast.Node, safe map[ast.Expr]bool, info *types.Info) (marked int) {
	var operands []ast.Expr
	switch x := n.(type) {
	case *ast.CallExpr:
		name, converts := x.Fun.(*ast.Ident)
		method, calls := x.Fun.(*ast.SelectorExpr)
		if converts && name.Name == "float64" || calls && types.ExprString(method) == "math.Sqrt" {
			operands = x.Args
		}
	case *ast.BinaryExpr:
		if x.Op == token.MUL || x.Op == token.QUO {
			operands = []ast.Expr{x.X, x.Y}
		}
	case *ast.ParenExpr:
		if safe[x] {
			operands = []ast.Expr{x.X}
		}
	case *ast.UnaryExpr:
		if safe[x] {
			operands = []ast.Expr{x.X}
		}
	}
	for _, e := range operands {
		safe[e] = true
		if isFloatProduct(e, info) {
			marked++
		}
	}
	return marked
}

// isFloatProduct reports whether an expression is a product that is worked out at run time
// in floating point.
func isFloatProduct(e ast.Expr, info *types.Info) bool {
	b, ok := e.(*ast.BinaryExpr)
	if !ok || b.Op != token.MUL {
		return false
	}
	known := info.Types[b]
	basic, ok := types.Unalias(known.Type).Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsFloat != 0 && known.Value == nil
}
