package user

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// machines are the processors of ELF files, by the architectures of Go.
var machines = map[string]elf.Machine{
	"386": elf.EM_386, "amd64": elf.EM_X86_64, "arm": elf.EM_ARM, "arm64": elf.EM_AARCH64,
	"loong64": elf.EM_LOONGARCH, "ppc64le": elf.EM_PPC64, "riscv64": elf.EM_RISCV, "s390x": elf.EM_S390,
}

// library is what the file of a shared library says.
type library struct {
	exports  []string // functions, sorted
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
		const wanted = "it must be a shared library, or a source that ends in .c, .cc, .cpp, .cxx, .f, .f90 or .cu"
		return nil, fmt.Errorf("%s is %s: %s", path, kindOf(path, err), wanted)
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
	if want := machines[runtime.GOARCH]; f.Machine != want || (f.Class == elf.ELFCLASS64) != is64() {
		return nil, fmt.Errorf("%s is for %s, this gemm is for %s: compile it for this processor", path,
			architecture(f), runtime.GOARCH)
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

// is64 reports whether this program has addresses of 64 bits.
func is64() bool { return ^uintptr(0)>>32 != 0 }

// architecture returns the architecture of Go that a file is for, or the name of its processor.
func architecture(f *elf.File) string {
	for name, m := range machines {
		if f.Machine == m && (name == "386" || name == "arm") == (f.Class == elf.ELFCLASS32) {
			return name
		}
	}
	machine, bits := strings.TrimPrefix(f.Machine.String(), "EM_"), strings.TrimPrefix(f.Class.String(), "ELFCLASS")
	return machine + " with " + bits + " bits"
}

// kindOf says what a file is that cannot be read as a library, as the error says.
func kindOf(path string, err error) string {
	f, openErr := os.Open(path)
	if openErr != nil {
		return "a file that cannot be read (" + openErr.Error() + ")"
	}
	defer f.Close()
	head := make([]byte, 8)
	if n, readErr := io.ReadFull(f, head); n == 0 && readErr != nil {
		return "empty"
	}
	switch magic := binary.LittleEndian.Uint32(head); {
	case strings.HasPrefix(string(head), "!<arch>"):
		return "a static library"
	case magic == 0xfeedfacf, magic == 0xfeedface, magic == 0xbebafeca:
		return "a library of macOS"
	case strings.HasPrefix(string(head), "MZ"):
		return "a library of Windows"
	case strings.HasPrefix(string(head), "\x7fELF"):
		return "damaged (" + err.Error() + ")"
	}
	return "not a shared library"
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
