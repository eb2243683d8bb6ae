// Package listing has what reports show of the suite's own sources: functions, word for word.
package listing

import (
	"fmt"
	"io/fs"
	"strings"
)

// Excerpt is a part of a source file.
type Excerpt struct {
	Family string // whose step from the loops of one thread it shows
	Path   string // from the root of the module
	Text   string
}

// Function returns a function or method of a Go file that gofmt has formatted. The file is called name
// in files, and is in the folder dir of the module.
func Function(files fs.FS, dir, name, function string) (Excerpt, error) {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return Excerpt{}, err
	}
	text := string(data)
	for rest := text; ; {
		_, declared, found := strings.Cut(rest, "\nfunc ")
		if !found {
			return Excerpt{}, fmt.Errorf("listing: %s/%s has no function %s", dir, name, function)
		}
		head, _, _ := strings.Cut(declared, "\n")
		if body, _, ended := strings.Cut(declared, "\n}\n"); ended && strings.Contains(head, " "+function+"(") {
			return Excerpt{Path: dir + "/" + name, Text: "func " + body + "\n}\n"}, nil
		}
		rest = declared
	}
}
