package user

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"
)

// Starter is a correct and slow kernel in one language, the source that a user begins with.
type Starter struct {
	Language string // as the command line has it: c or cuda
	Title    string
	File     string // that is written unless the user names another
	text     string
}

//go:embed sources/kernel.c
var textC string

//go:embed sources/kernel.cu
var textCUDA string

// Starters returns all.
func Starters() []Starter {
	return []Starter{
		{"c", "a kernel in C for a processor", "kernel.c", textC},
		{"cuda", "a kernel in CUDA C++ for an NVIDIA GPU", "kernel.cu", textCUDA},
	}
}

// commandMark begins the line of a source with the command that measures it.
const commandMark = "//   gemm "

// Source returns the source for a file of that path, as a shell needs it, and the command that measures it.
func (s Starter) Source(path string) (source, command string) {
	source = strings.ReplaceAll(s.text, "NAME", path)
	_, rest, _ := strings.Cut(source, commandMark)
	line, _, _ := strings.Cut(rest, "\n")
	return source, "gemm " + line
}

// Check returns an error unless the file has the ending of the language.
func (s Starter) Check(path string) error {
	if want := filepath.Ext(s.File); filepath.Ext(path) != want {
		return fmt.Errorf("%s: the name must end in %s, such as %s", path, want, s.File)
	}
	return nil
}
