package output

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// mark is in temporary names, between the final name and 16 random digits; a dot begins them.
const mark = ".gemm-"

// temporary returns a temporary name for the file called target, in its folder.
func temporary(target string) string {
	dir, base := filepath.Split(target)
	return dir + "." + base + mark + digits()
}

// IsTemporary reports whether a file called base, without its folder, is a temporary one.
func IsTemporary(base string) bool {
	_, ok := finalName(base)
	return ok
}

func finalName(temporary string) (base string, ok bool) {
	i := strings.LastIndex(temporary, mark)
	if i < 2 || temporary[0] != '.' || !isDigits(temporary[i+len(mark):]) {
		return "", false
	}
	return temporary[1:i], true
}

// digits returns 16 random digits of names.
func digits() string { return fmt.Sprintf("%016x", rand.Uint64()) }

func isDigits(s string) bool {
	return len(s) == 16 && strings.Trim(s, "0123456789abcdef") == ""
}

// Sweep removes the temporary files that killed processes left of the file called name.
func Sweep(name string) {
	target, _, err := resolve(name)
	if err != nil {
		return // nor can it be written, which will say why
	}
	SweepFolder(filepath.Dir(target), func(base string) bool { return base == filepath.Base(target) })
}

// SweepFolder removes the temporary files that killed processes left in the folder of files whose names are accepted.
func SweepFolder(dir string, accepts func(base string) bool) {
	began := time.Now()
	entries, _ := os.ReadDir(dir) // if it cannot be read, nothing is removed
	for _, entry := range entries {
		base, ok := finalName(entry.Name())
		if !ok || !accepts(base) {
			continue
		}
		name := filepath.Join(dir, entry.Name())
		if lock := abandoned(name, began); lock != nil {
			_ = os.Remove(name)
			release(lock)
		}
	}
}
