package user

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// usual are the functions that an ABI has under the same name everywhere, by element type.
var usual = map[ABI]map[string]string{
	Fortran: {"f64": "dgemm_", "f32": "sgemm_"},
	CBLAS:   {"f64": "cblas_dgemm", "f32": "cblas_sgemm"},
	Square:  {"f64": "square_dgemm", "f32": "square_sgemm"},
}

// Usual returns the usual function of the ABI for an element type; empty: there is none.
func Usual(abi ABI, typ string) string { return usual[abi][typ] }

// functions chooses the functions of k from the exported names, by element type, and completes its ABI.
func (k *kernel) functions(names []string) (map[string]string, error) {
	if k.Symbol == "" {
		for _, abi := range []ABI{Square, Fortran, CBLAS} {
			if k.ABI != "" && k.ABI != abi {
				continue
			}
			if found := k.usual(abi, names); len(found) > 0 {
				k.ABI = abi
				return found, nil
			}
		}
		if k.ABI == Fortran || k.ABI == CBLAS {
			return nil, fmt.Errorf("it has neither %s nor %s, the functions of the ABI %s: it exports %s",
				usual[k.ABI]["f64"], usual[k.ABI]["f32"], k.ABI, listed(names))
		}
	}
	symbol := k.exported(k.Symbol, names)
	switch stem := k.exported(k.stem(), names); {
	case symbol != "":
	case slices.Contains(names, stem):
		symbol = stem
	case len(names) == 1:
		symbol = names[0]
	default:
		return nil, fmt.Errorf("it exports %s: name the function, as in --bring %s:FUNCTION%s", listed(names), k.Path,
			mangled(names))
	}
	if !slices.Contains(names, symbol) {
		return nil, fmt.Errorf("it has no function %s: it exports %s%s", symbol, listed(names), mangled(names))
	}
	if strings.HasPrefix(symbol, "_Z") || moduleName.MatchString(symbol) {
		return nil, fmt.Errorf("its function is %s%s", symbol, mangled(names))
	}
	if k.ABI == "" {
		k.ABI = abiOf(symbol)
		if k.ABI == RowMajor && k.Language() == "Fortran" && strings.HasSuffix(symbol, "_") {
			return nil, fmt.Errorf("its subroutine %s has no known arguments: declare it bind(C), or bring it with "+
				"=fortran if it has the arguments of DGEMM", strings.TrimSuffix(symbol, "_"))
		}
	}
	return map[string]string{k.typeOf(symbol): symbol}, nil
}

// exported returns the name under which the library exports a function: Fortran's compilers write it in lower case,
// with an underscore behind it.
func (k *kernel) exported(name string, names []string) string {
	other := strings.ToLower(name) + "_"
	if name != "" && k.Language() == "Fortran" && !slices.Contains(names, name) && slices.Contains(names, other) {
		return other
	}
	return name
}

// usual returns the functions of the ABI that are among the names, by type.
func (k *kernel) usual(abi ABI, names []string) map[string]string {
	found := map[string]string{}
	for typ, symbol := range usual[abi] {
		if slices.Contains(names, symbol) && (k.Type == "" || k.Type == typ) {
			found[typ] = symbol
		}
	}
	return found
}

// abiOf returns the ABI that the name of a function means.
func abiOf(symbol string) ABI {
	for _, abi := range []ABI{Fortran, CBLAS, Square} {
		for _, name := range usual[abi] {
			if name == symbol {
				return abi
			}
		}
	}
	return RowMajor
}

// typeOf returns the element type of the function: what the user says, or what its name means.
func (k *kernel) typeOf(symbol string) string {
	switch {
	case k.Type != "":
		return k.Type
	case k.ABI == Fortran || k.ABI == CBLAS || symbol == usual[Square]["f32"]:
		if strings.Contains(symbol, "sgemm") {
			return "f32"
		}
	}
	return "f64"
}

// moduleName matches the name of a procedure in a module of Fortran.
var moduleName = regexp.MustCompile(`^__\w+_MOD_|^_QM`)

// mangled returns a remedy for names as C++ and modules of Fortran make them, and "" if there are none.
func mangled(names []string) string {
	switch {
	case slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "_Z") }):
		return `, a name of C++: declare the function extern "C"`
	case slices.ContainsFunc(names, moduleName.MatchString):
		return `, a name of a module of Fortran: declare the procedure bind(C)`
	}
	return ""
}
