//go:build !(linux && !android && (amd64 || arm64))

package nvrtc

// functions: there are none.
type functions struct{}

// Open opens the library of that name or path.
func Open(string) (*Library, error) { return nil, errNoLoader() }

func (*Library) compile(string, string, []string) (code []byte, log string, err error) {
	return nil, "", errNoLoader()
}
