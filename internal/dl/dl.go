// Package dl opens shared libraries at run time. It is the one place that does, and that
// says what to do about a library that is not there.
package dl

import "fmt"

// Library is a library that is open in this process.
type Library struct {
	name   string
	handle uintptr
}

// Open opens the library of that path, or of that name among the system's. The error is one
// line. Other libraries do not see its symbols.
func Open(name string) (*Library, error) { return open(name, local) }

// OpenGlobal opens a library whose symbols the libraries opened later find.
func OpenGlobal(name string) (*Library, error) { return open(name, global) }

// Handle returns what the functions of dlfcn.h know the library by.
func (l *Library) Handle() uintptr { return l.handle }

// Bind has each function, a pointer to a variable of a function type, call the symbol of the library that it is under.
func (l *Library) Bind(functions map[string]any) error {
	for symbol, f := range functions {
		address, err := l.Symbol(symbol)
		if err != nil {
			return err
		}
		Register(f, address)
	}
	return nil
}

// lacks says that l has no such symbol.
func (l *Library) lacks(symbol string) error { return fmt.Errorf("%s has no %s", l.name, symbol) }
