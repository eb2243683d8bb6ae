package kernels

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
)

// Constants are the statements at the beginning of lines of a source that the numbers of a tile decide about: macros,
// constants, assertions and the conditions round them.
type Constants []statement

type statement struct {
	kind  string // if, elif, else, endif, define, or the text of an assertion
	name  string // that is defined
	value ast.Expr
}

// Values are the constants of a source for the macros that the host sets.
type Values struct {
	macros  map[string]int
	defined map[string]ast.Expr
	// Fails is the first assertion that does not hold, empty if all do.
	Fails string
}

var (
	comments  = regexp.MustCompile(`//.*|\\\n`)
	statesOne = regexp.MustCompile(`(?m)^# *(ifdef|ifndef|if|elif|else|endif|define)\b *(.*)$|` +
		`^constexpr int ([^;]*);|^static_assert\(((?s:.*?)),\s*"([^"]*)"\);`)
)

// ConstantsOf returns the constants of a source.
func ConstantsOf(source string) Constants {
	var out Constants
	for _, m := range statesOne.FindAllStringSubmatch(comments.ReplaceAllString(source, ""), -1) {
		s := statement{kind: m[1]}
		switch name, value, _ := strings.Cut(m[2], " "); {
		case m[5] != "":
			s.kind, s.value = m[5]+": "+strings.Join(strings.Fields(m[4]), " "), parse(m[4])
		case m[3] != "":
			name, value, _ = strings.Cut(m[3], " =")
			s = statement{"define", name, parse(value)}
		case m[1] == "ifdef" || m[1] == "ifndef":
			s.kind, s.value = "if", parse(map[string]string{"ifndef": "!"}[m[1]]+"defined("+name+")")
		case m[1] == "define":
			s.name, s.value = name, parse(value)
		default:
			s.value = parse(m[2])
		}
		out = append(out, s)
	}
	return out
}

// Of returns the values for the macros.
func (c Constants) Of(macros map[string]int) *Values {
	v := &Values{macros: macros, defined: map[string]ast.Expr{}}
	type branch struct{ now, taken bool } // of an if: whether this part of it counts, and whether one did
	open := []branch{{true, true}}
	for _, s := range c {
		last := &open[len(open)-1]
		switch s.kind {
		case "if":
			now := last.now && v.holds(s.value)
			open = append(open, branch{now, now || !last.now})
		case "elif", "else":
			last.now = !last.taken && (s.kind == "else" || v.holds(s.value))
			last.taken = last.taken || last.now
		case "endif":
			open = open[:len(open)-1]
		case "define":
			if last.now {
				v.defined[s.name] = s.value
			}
		default:
			if last.now && v.Fails == "" && !v.holds(s.value) {
				v.Fails = s.kind + v.numbers(s.value)
			}
		}
	}
	return v
}

// Int returns a value by its name, and whether there is one.
func (v *Values) Int(name string) (int, bool) {
	n, ok := constant.Int64Val(v.of(ast.NewIdent(name)))
	return int(n), ok
}

// holds reports whether a condition has a value, which is true.
func (v *Values) holds(x ast.Expr) bool {
	is := v.of(x)
	return is.Kind() == constant.Bool && constant.BoolVal(is)
}

// of returns the value of an expression, Unknown if there is none.
func (v *Values) of(x ast.Expr) (value constant.Value) {
	defer func() {
		if recover() != nil {
			value = constant.MakeUnknown()
		}
	}()
	return v.eval(x)
}

// numbers says what the names in an expression stand for.
func (v *Values) numbers(x ast.Expr) (says string) {
	ast.Inspect(x, func(node ast.Node) bool {
		if name, ok := node.(*ast.Ident); ok {
			if one := fmt.Sprintf(", %s = %v", name.Name, v.of(name)); !strings.Contains(says, one) {
				says += one
			}
		}
		return true
	})
	return says
}

// conditional is c ? x : y with no others in it.
var (
	conditional = regexp.MustCompile(`\(([^()?:]*)\?([^()?:]*):([^()?:]*)\)`)
	defined     = regexp.MustCompile(`defined\((\w+)\)`)
)

// parse returns an expression of C++ as one of Go, in which pick{c, x, y} is c ? x : y, and *name is defined(name).
// Others have no value. The sources have no expressions whose operators bind otherwise in Go.
func parse(text string) ast.Expr {
	text = defined.ReplaceAllString(text, "(*$1)")
	for conditional.MatchString(text) {
		text = conditional.ReplaceAllString(text, "pick{$1,$2,$3}")
	}
	x, err := parser.ParseExpr(text)
	if err != nil {
		return &ast.BadExpr{}
	}
	return x
}

// eval returns the value of an expression. It panics, as package constant does, if there is none.
func (v *Values) eval(x ast.Expr) constant.Value {
	switch x := x.(type) {
	case *ast.BasicLit:
		return constant.MakeFromLiteral(x.Value, x.Kind, 0)
	case *ast.Ident:
		if n, ok := v.macros[x.Name]; ok {
			return constant.MakeInt64(int64(n))
		}
		return v.eval(v.defined[x.Name])
	case *ast.ParenExpr:
		return v.eval(x.X)
	case *ast.StarExpr: // the name in defined(name)
		name := x.X.(*ast.Ident).Name
		_, set := v.macros[name]
		_, has := v.defined[name]
		return constant.MakeBool(set || has)
	case *ast.CompositeLit:
		if constant.BoolVal(v.eval(x.Elts[0])) {
			return v.eval(x.Elts[1])
		}
		return v.eval(x.Elts[2])
	case *ast.UnaryExpr:
		return constant.UnaryOp(x.Op, v.eval(x.X), 0)
	case *ast.BinaryExpr:
		a := v.eval(x.X)
		if x.Op == token.LOR && constant.BoolVal(a) || x.Op == token.LAND && !constant.BoolVal(a) {
			return a
		}
		switch b := v.eval(x.Y); {
		case x.Op.Precedence() == token.EQL.Precedence():
			return constant.MakeBool(constant.Compare(a, x.Op, b))
		case x.Op == token.QUO:
			return constant.BinaryOp(a, token.QUO_ASSIGN, b) // of whole numbers
		default:
			return constant.BinaryOp(a, x.Op, b)
		}
	}
	panic("no expression of the preamble of a kernel")
}
