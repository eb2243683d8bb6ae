package userkernel

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// function is a __global__ function of a source.
type function struct {
	name       string
	parameters string // as written
	typ        string // f32 or f64 if it has the parameters of a product; otherwise empty
	c          bool   // extern "C"
	at         int    // offset in the source
}

var (
	global    = regexp.MustCompile(`\b__global__\b`)
	word      = regexp.MustCompile(`^[A-Za-z_]\w*`)
	attribute = regexp.MustCompile(`^__\w+__$`)
	linkage   = regexp.MustCompile(`extern\s*"C"`)
	cBlock    = regexp.MustCompile(`extern\s*"C"\s*\{`)
)

// functions returns the __global__ functions that a source defines or declares, macros not expanded: the last of a
// function that is declared and defined.
func functions(source string) []function {
	code := withoutComments(source)
	var out []function
	for _, at := range global.FindAllStringIndex(code, -1) {
		name, parameters, ok := signature(code[at[1]:])
		if !ok {
			continue
		}
		begin := strings.LastIndexAny(code[:at[0]], ";{}") + 1
		f := function{name: name, parameters: strings.Join(strings.Fields(parameters), " "), typ: typeOf(parameters),
			at: at[0], c: linkage.MatchString(code[begin:at[0]]) || insideC(code[:at[0]])}
		if i := slices.IndexFunc(out, func(o function) bool { return o.name == name }); i >= 0 {
			f.c = f.c || out[i].c // the linkage of the first declaration holds
			out[i] = f
			continue
		}
		out = append(out, f)
	}
	return out
}

// withoutComments returns the source with blanks in place of its comments.
func withoutComments(source string) string {
	out := []byte(source)
	for i := 0; i < len(out); i++ {
		rest, end := source[i:], i
		switch {
		case strings.HasPrefix(rest, "//"):
			end = i + len(rest)
			if n := strings.IndexByte(rest, '\n'); n >= 0 {
				end = i + n
			}
		case strings.HasPrefix(rest, "/*"):
			end = i + len(rest)
			if n := strings.Index(rest[2:], "*/"); n >= 0 {
				end = i + n + 4
			}
		case rest[0] == '"' || rest[0] == '\'':
			i = endOfLiteral(source, i)
			continue
		}
		for ; i < end; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	return string(out)
}

// endOfLiteral returns the offset of the mark that ends the literal that begins at i, on its line.
func endOfLiteral(source string, i int) int {
	for j := i + 1; j < len(source) && source[j] != '\n'; j++ {
		switch source[j] {
		case '\\':
			j++
		case source[i]:
			return j
		}
	}
	return i
}

// signature returns the name and the parameters of the function whose declaration goes on with code.
func signature(code string) (name, parameters string, ok bool) {
	for code != "" {
		code = strings.TrimLeft(code, " \t\r\n")
		if w := word.FindString(code); w != "" {
			name, code = w, code[len(w):]
			continue
		}
		if !strings.HasPrefix(code, "(") || name == "" {
			return "", "", false
		}
		end := closing(code)
		if end < 0 {
			return "", "", false
		}
		if !attribute.MatchString(name) { // else of __launch_bounds__
			return name, code[1:end], true
		}
		code = code[end+1:]
	}
	return "", "", false
}

// closing returns the offset of the parenthesis or brace that closes the first one; -1: none does.
func closing(code string) int {
	depth := 0
	for i, c := range code {
		switch c {
		case '(', '{':
			depth++
		case ')', '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// insideC reports whether code ends inside of an extern "C" block.
func insideC(code string) bool {
	return slices.ContainsFunc(cBlock.FindAllStringIndex(code, -1), func(at []int) bool {
		return closing(code[at[1]-1:]) < 0
	})
}

// typeOf returns the type of a product with the parameters; empty if they are others.
func typeOf(parameters string) string {
	var types []string
	for p := range strings.SplitSeq(parameters, ",") {
		types = append(types, typeOfParameter(p))
	}
	const i = "integer"
	for typ, t := range map[string]string{"f32": "float", "f64": "double"} {
		if slices.Equal(types, []string{i, i, i, t, t + "*", t + "*", t, t + "*"}) {
			return typ
		}
	}
	return ""
}

// integers are the types of M, N and K that are accepted. Each argument has 64 bits.
var integers = []string{"int", "unsigned", "unsigned int", "uint", "size_t", "long", "long long", "long int",
	"unsigned long", "unsigned long long", "int32_t", "uint32_t", "int64_t", "uint64_t"}

// typeOfParameter returns the type of a parameter without its name and qualifiers.
func typeOfParameter(p string) string {
	words := slices.DeleteFunc(strings.Fields(strings.ReplaceAll(p, "*", " * ")), func(w string) bool {
		return slices.Contains([]string{"const", "__restrict__", "__restrict", "restrict"}, w)
	})
	if n := len(words); n > 1 && words[n-1] != "*" {
		words = words[:n-1]
	}
	text := strings.ReplaceAll(strings.Join(words, " "), " *", "*")
	if slices.Contains(integers, text) {
		return "integer"
	}
	return text
}

// said is a line of a comment that says how a kernel is launched.
var said = regexp.MustCompile(`(?m)^[ \t/*]*gemm:[ \t]*(--.*?)[ \t]*(\*/)?\r?$`)

// launchAbove returns the launch that the last such line before the offset says.
func launchAbove(source string, at int) (l Launch, err error) {
	all := said.FindAllStringSubmatch(source[:at], -1)
	if len(all) == 0 {
		return l, nil
	}
	words := strings.Fields(strings.ReplaceAll(all[len(all)-1][1], "=", " "))
	for i := 0; i < len(words); i += 2 {
		if i+1 == len(words) {
			return l, fmt.Errorf("the line gemm: %s needs a value", words[i])
		}
		if err := l.set(words[i], strings.Trim(words[i+1], `"'`)); err != nil {
			return l, fmt.Errorf("the line gemm: %w", err)
		}
	}
	return l, nil
}
