package nvrtc

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"unsafe"

	"gemm/internal/dl"
)

// functions are the functions of the library that are called.
type functions struct {
	version   func(major, minor *int32) int32
	text      func(code int32) string
	create    func(program *uintptr, source, name string, headers int32, texts, names unsafe.Pointer) int32
	build     func(program uintptr, n int32, options unsafe.Pointer) int32
	logSize   func(program uintptr, n *uint64) int32
	log       func(program uintptr, to unsafe.Pointer) int32
	cubinSize func(program uintptr, n *uint64) int32
	cubin     func(program uintptr, to unsafe.Pointer) int32
	destroy   func(program *uintptr) int32
}

func open(name string) (*Library, error) {
	// The library opens another library by name. It is in the same folder in a toolkit; without a toolkit the loader
	// does not find it.
	others, err := filepath.Glob(filepath.Join(filepath.Dir(name), "libnvrtc-builtins.so*"))
	if err != nil {
		return nil, err
	}
	for _, path := range others {
		if _, err := dl.OpenGlobal(path); err != nil {
			return nil, err
		}
	}
	at, err := dl.Open(name)
	if err != nil {
		return nil, err
	}
	l := &Library{File: name}
	err = at.Bind(map[string]any{
		"nvrtcVersion": &l.version, "nvrtcGetErrorString": &l.text, "nvrtcCreateProgram": &l.create,
		"nvrtcCompileProgram":    &l.build,
		"nvrtcGetProgramLogSize": &l.logSize, "nvrtcGetProgramLog": &l.log, "nvrtcGetCUBINSize": &l.cubinSize,
		"nvrtcGetCUBIN":       &l.cubin,
		"nvrtcDestroyProgram": &l.destroy,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: it is no NVRTC from version 11.2 on", err)
	}
	var major, minor int32
	if err := l.failed(l.version(&major, &minor), "nvrtcVersion"); err != nil {
		return nil, err
	}
	l.Major, l.Minor = int(major), int(minor)
	return l, nil
}

func (l *Library) failed(code int32, call string) error {
	if code == 0 {
		return nil
	}
	return fmt.Errorf("nvrtc: %s: %s", call, l.text(code))
}

// cStrings returns the texts as C has them. They are pinned until the compiler has read them.
func cStrings(pin *runtime.Pinner, texts []string) unsafe.Pointer {
	out := make([]*byte, len(texts)+1)
	for i, text := range texts {
		out[i] = unsafe.SliceData(append([]byte(text), 0))
		pin.Pin(out[i])
	}
	return unsafe.Pointer(&out[0])
}

// compile returns the cubin and the compiler's messages, also after an error.
func (l *Library) compile(p Program, options []string) (code []byte, log string, err error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	names := slices.Sorted(maps.Keys(p.Headers))
	var texts []string
	for _, name := range names {
		texts = append(texts, p.Headers[name])
	}
	var program uintptr
	if err := l.failed(l.create(&program, p.Source, p.Name, int32(len(names)), cStrings(&pin, texts),
		cStrings(&pin, names)), "nvrtcCreateProgram"); err != nil {
		return nil, "", err
	}
	defer l.destroy(&program)
	failed := l.failed(l.build(program, int32(len(options)), cStrings(&pin, options)), "nvrtcCompileProgram")
	read := func(size func(uintptr, *uint64) int32, get func(uintptr, unsafe.Pointer) int32, what string) ([]byte, error) {
		var n uint64
		if err := l.failed(size(program, &n), what+"Size"); err != nil || n == 0 {
			return nil, err
		}
		data := make([]byte, n)
		return data, l.failed(get(program, unsafe.Pointer(&data[0])), what)
	}
	text, err := read(l.logSize, l.log, "nvrtcGetProgramLog")
	if failed = cmp.Or(failed, err); failed != nil {
		return nil, string(text), failed
	}
	code, err = read(l.cubinSize, l.cubin, "nvrtcGetCUBIN")
	return code, string(text), err
}
