package reference

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// place is a process that a library is loaded into: this one, or one of the library's own. Errors are one line.
type place interface {
	// Setenv sets a variable in the environment that libraries of the place see, and in no other.
	Setenv(name, value string) error
	// Open opens the library that the other methods mean from then on, by its path or by its name among the system's.
	Open(name string) error
	// OpenGlobal opens another one, whose symbols libraries are to find.
	OpenGlobal(name string) error
	// Unload unloads the library.
	Unload() error
	// Find returns the address of a symbol in that process, under any of its decorated
	// names; the methods below find theirs so too.
	Find(symbol string) (uintptr, error)
	// Integer calls a function with one integer argument or none and returns its int. Text does the same for a function
	// that returns a string, and Buffer for one that writes a string, void f(char *, int).
	Integer(symbol string, argument ...int) (int, error)
	Text(symbol string, argument ...int) (string, error)
	Buffer(symbol string) (string, error)
	// first computes a product of 1×1 matrices by the routine, dgemm_ at its address.
	first(dgemm uintptr) error
	// expendable reports whether a library may end the process: it is started again.
	expendable() bool
	// Maps returns the name of the file that says what the process has mapped.
	Maps() string
}

// set sets the first of the names in the environment of the libraries of p, unless one of the names
// is set already. It reports whether it did.
func set(p place, value string, names ...string) bool {
	if slices.ContainsFunc(names, func(name string) bool { _, ok := os.LookupEnv(name); return ok }) {
		return false
	}
	return p.Setenv(names[0], value) == nil
}

// mapped returns the files that p has mapped whose base name begins with the prefix, sorted by
// address. It returns none if the system has no such list.
func mapped(p place, prefix string) []string {
	maps, err := os.Open(p.Maps())
	if err != nil {
		return nil
	}
	defer maps.Close()
	var out []string
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		if _, file, ok := strings.Cut(lines.Text(), "/"); ok {
			file = "/" + file
			if strings.HasPrefix(filepath.Base(file), prefix) && !slices.Contains(out, file) {
				out = append(out, file)
			}
		}
	}
	return out
}
