package user

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gemm/gemmtest"
)

func TestParse(t *testing.T) {
	odd := filepath.Join(t.TempDir(), "a,b=c:d.so")
	gemmtest.Must(t, os.WriteFile(odd, nil, 0o600))
	for text, want := range map[string]Kernel{
		"dgemm.c":               {Path: "dgemm.c", Name: "dgemm"},
		"./libmine.so.3":        {Path: "./libmine.so.3", Name: "mine"},
		"/a=b/x.so:f":           {Path: "/a=b/x.so", Symbol: "f", Name: "f"},
		"x.so=fortran":          {Path: "x.so", ABI: Fortran, Name: "x"},
		"x.so:f=cuda:f64":       {Path: "x.so", Symbol: "f", ABI: CUDA, Type: "f64", Name: "f"},
		"x.so:f_=square:f32":    {Path: "x.so", Symbol: "f_", ABI: Square, Type: "f32", Name: "f_"},
		"a,b.cpp:f=rowmajor":    {Path: "a,b.cpp", Symbol: "f", ABI: RowMajor, Name: "f"},
		"lib.so":                {Path: "lib.so", Name: "kernel"},
		odd:                     {Path: odd, Name: "a,b=c:d"},
		odd + ":g=cblas:f64":    {Path: odd, Symbol: "g", ABI: CBLAS, Type: "f64", Name: "g"},
		"/tmp/../kernels/sgemm": {Path: "/tmp/../kernels/sgemm", Name: "sgemm"},
		"ann=dgemm.c":           {Path: "dgemm.c", Name: "ann", Named: true},
		"张-1=hw/x.c:f=square":   {Path: "hw/x.c", Symbol: "f", ABI: Square, Name: "张-1", Named: true},
		"x=square":              {Path: "x", ABI: Square, Name: "x"},
		"x=square:f32":          {Path: "x", ABI: Square, Type: "f32", Name: "x"},
		"x=./square":            {Path: "./square", Name: "x", Named: true},
		"./a=b/x.so:f":          {Path: "./a=b/x.so", Symbol: "f", Name: "f"},
		"b\x1b[m\n.so":          {Path: "b\x1b[m\n.so", Name: `b\x1b[m`},
	} {
		got, err := Parse(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %+v, %v; want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"x.c=foo": `ABI "foo" is unknown: it must be one of square, rowmajor, fortran, cblas`,
		"x.c=":    `ABI "" is unknown`, "x.c=square:f16": "must be f64 or f32",
		"x.c=cuda": "ABI cuda of x.c", "x.cu=square": "ABI square of x.cu", "x.c:1f": `function "1f"`, "x.c:": `function ""`,
		"": "the path is empty", "x=": "the path is empty", ":f": "the path is empty", "=square": "the path is empty",
	} {
		if k, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %+v, %v; want %q", text, k, err, want)
		}
	}
}

func TestKinds(t *testing.T) {
	for path, want := range map[string]string{
		"a.c": "C source", "a.C": "C source", "a.cc": "C++ source", "a.cpp": "C++ source", "a.cxx": "C++ source",
		"a.f": "Fortran source", "a.f90": "Fortran source", "a.F90": "Fortran source", "a.f95": "Fortran source", "a.so": "",
		"a.cu": "cuda", "a.CU": "cuda", "c": "",
	} {
		k := Kernel{Path: path}
		got := k.Language()
		if k.IsSource() {
			got += " source"
		}
		if k.CUDA() {
			got += "cuda"
		}
		if got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
}

func TestDistinct(t *testing.T) {
	names := func(texts ...string) (string, error) {
		var kernels []Kernel
		for _, text := range texts {
			k, err := Parse(text)
			gemmtest.Must(t, err)
			kernels = append(kernels, k)
		}
		kernels, err := Distinct(kernels)
		var out []string
		for _, k := range kernels {
			out = append(out, k.Name)
		}
		return strings.Join(out, " "), err
	}
	for want, texts := range map[string][]string{
		"a b": {"a.c", "b.c"}, "f g": {"a.c:f", "a.c:g"}, "a-f b-f c": {"a.c:f", "b.c:f", "c.c"},
		"f a-f": {"f.c", "a.c:f"}, "x-a y-a b": {"x/a.c", "y/a.c", "b.c"}, "a-c a-f90": {"x/a.c", "x/a.f90"},
		"ann-src-a bob-src-a": {"ann/src/a.c", "bob/src/a.c"}, "x-a-f y-a-f": {"x/a.c:f", "y/a.c:f"},
		"x-a-c x-a-f90 y-a-c": {"x/a.c", "x/a.f90", "y/a.c"}, "ann a-c a": {"ann=x/a.c", "y/a.c", "a=z/b.c"},
	} {
		if got, err := names(texts...); got != want || err != nil {
			t.Errorf("%q are %q, %v; want %q", texts, got, err, want)
		}
	}
	for want, texts := range map[string][]string{
		"x/a.c and x/a.c are both called user/a: name one, as in --bring NAME=x/a.c":   {"x/a.c", "x/a.c"},
		"x/a.c and y/a.c are both called user/ann: name one, as in --bring NAME=y/a.c": {"ann=x/a.c", "ann=y/a.c"},
	} {
		if got, err := names(texts...); err == nil || err.Error() != want {
			t.Errorf("%q are %q, %v; want %q", texts, got, err, want)
		}
	}
}

// TestFunctions chooses functions of libraries.
func TestFunctions(t *testing.T) {
	const f32, both = "f32", "f64 f32"
	for _, test := range []struct {
		kernel, exports string
		abi             ABI
		want            string // functions by type, in the order f64, f32
		fault           string
	}{
		{"x.c", "square_dgemm other", Square, "square_dgemm", ""},
		{"x.c", "cblas_dgemm cblas_sgemm dgemm_ sgemm_ zgemm_", Fortran, "dgemm_ sgemm_", ""},
		{"x.c=cblas", "cblas_dgemm cblas_sgemm dgemm_ sgemm_", CBLAS, "cblas_dgemm cblas_sgemm", ""},
		{"x.c=cblas:f32", "cblas_dgemm cblas_sgemm", CBLAS, "-cblas_sgemm", ""},
		{"x.c", "sgemm_ helper", Fortran, "-sgemm_", ""},
		{"libx.so", "x helper", RowMajor, "x", ""},
		{"libx.so", "mine", RowMajor, "mine", ""},
		{"x.c=rowmajor:f32", "mine", RowMajor, "-mine", ""},
		{"x.c:g", "f g", RowMajor, "g", ""},
		{"x.c:square_sgemm", "square_sgemm", Square, "-square_sgemm", ""},
		{"x.c:my_sgemm=fortran", "my_sgemm", Fortran, "-my_sgemm", ""},
		{"x.c:dgemm_", "dgemm_ sgemm_", Fortran, "dgemm_", ""},
		{"x.c:f=square", "f square_dgemm", Square, "f", ""},
		{"x.c:h", "f g", "", "", "it has no function h: it exports f, g"},
		{"x.c", "f g", "", "", "it exports f, g: name the function, as in --bring x.c:FUNCTION"},
		{"x.c", "", "", "", "it exports no function"},
		{"x.c=fortran", "f", "", "",
			"it has neither dgemm_ nor sgemm_, the functions of the ABI fortran: it exports f"},
		{"x.cpp", "_Z1fv", "", "", `declare the function extern "C"`},
		{"x.cpp:f", "_Z1fv", "", "",
			`it has no function f: it exports _Z1fv, a name of C++: declare the function extern "C"`},
		{"x.f90", "dgemm_ sgemm_", Fortran, "dgemm_ sgemm_", ""},
		{"x.f90", "square_dgemm", Square, "square_dgemm", ""},
		{"x.f90", "x", RowMajor, "x", ""},
		{"x.f90:Mine=fortran", "mine_ other_", Fortran, "mine_", ""},
		{"x.F=fortran:f64", "dgemm_ mine_", Fortran, "dgemm_", ""},
		{"x.f90", "x_ y_", "", "", "its subroutine x has no known arguments: declare it bind(C), or bring it with =fortran"},
		{"x.f90", "__linalg_MOD_mine", "", "", "its function is __linalg_MOD_mine, a name of a module of Fortran: declare " +
			"the procedure bind(C)"},
		{"x.so", "a b c d e f g h i j k l m n", "", "", "k, l and 2 more"},
	} {
		parsed, err := Parse(test.kernel)
		gemmtest.Must(t, err)
		k := &kernel{Kernel: parsed}
		got, err := k.functions(strings.Fields(test.exports))
		if test.fault != "" {
			if err == nil || !strings.Contains(err.Error(), test.fault) {
				t.Errorf("%s of %s: %v, %v; want %q", test.kernel, test.exports, got, err, test.fault)
			}
			continue
		}
		want := map[string]string{}
		if first, ok := strings.CutPrefix(test.want, "-"); ok {
			want[f32] = first
		} else {
			for i, name := range strings.Fields(test.want) {
				want[strings.Fields(both)[i]] = name
			}
		}
		if err != nil || !maps.Equal(got, want) || k.ABI != test.abi {
			t.Errorf("%s of %s: %v, ABI %s, %v; want %v, %s", test.kernel, test.exports, got, k.ABI, err, want,
				test.abi)
		}
	}
}
