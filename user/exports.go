package user

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// library is what the file of a shared library says.
type library struct {
	exports  []string // functions, sorted
	imports  []string // symbols that other libraries have
	threaded bool     // it may start threads, itself or by another library
}

// single matches libraries that start threads only on request.
var single = regexp.MustCompile(
	`^(libc|libm|libmvec|libgcc_s|libstdc\+\+|libdl|libpthread|ld-linux[^.]*|libgfortran|libquadmath)\.so`)

// starts matches the functions that start threads, and the functions of OpenMP.
var starts = regexp.MustCompile(`^(pthread_create|thrd_create|GOMP_|__kmpc_|omp_)`)

// examine reads the file of a shared library. The error says what the file is if it is no shared library
// for this processor.
func examine(path string) (*library, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file: it must be a shared library or a source", path)
	}
	f, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s is not a shared library (%w): it must be one, or a source that ends in .c, .cc, "+
			".cpp, .cxx, .f, .f90 or .cu", path, err)
	}
	defer f.Close()
	if f.Type == elf.ET_REL {
		return nil, fmt.Errorf("%s is an object file: link it by cc -shared -o NAME.so %[1]s, or bring its source",
			path)
	}
	flags, _ := f.DynValue(elf.DT_FLAGS_1) // a file without them is no program
	program := func(flag uint64) bool { return elf.DynFlag1(flag)&elf.DF_1_PIE != 0 }
	if f.Type != elf.ET_DYN || slices.ContainsFunc(flags, program) {
		return nil, fmt.Errorf("%s is a program, not a shared library: link it by cc -shared -fPIC", path)
	}
	self, err := ownHeader()
	if err != nil {
		return nil, err
	}
	if f.Machine != self.Machine || f.Class != self.Class {
		return nil, fmt.Errorf("%s is for %v %v, this gemm is for %v %v: compile it for this processor", path,
			f.Machine, f.Class, self.Machine, self.Class)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	out := &library{}
	needed, err := f.ImportedLibraries()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	out.threaded = slices.ContainsFunc(needed, func(name string) bool { return !single.MatchString(name) })
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF {
			out.imports = append(out.imports, s.Name)
			out.threaded = out.threaded || starts.MatchString(s.Name)
			continue
		}
		kind, bind := elf.ST_TYPE(s.Info), elf.ST_BIND(s.Info)
		function := kind == elf.STT_FUNC || kind == elf.STT_GNU_IFUNC
		if function && bind != elf.STB_LOCAL && s.Name != "_init" && s.Name != "_fini" {
			out.exports = append(out.exports, s.Name)
		}
	}
	slices.Sort(out.exports)
	out.exports = slices.Compact(out.exports)
	return out, nil
}

// ownHeader returns the header of this program's file, which has the processor of this host.
func ownHeader() (h elf.FileHeader, err error) {
	path, err := os.Executable()
	if err != nil {
		return h, err
	}
	f, err := elf.Open(path)
	if err != nil {
		return h, err
	}
	return f.FileHeader, f.Close()
}

// listed returns at most a dozen names, and how many more there are.
func listed(names []string) string {
	const most = 12
	if len(names) == 0 {
		return "no function"
	}
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
