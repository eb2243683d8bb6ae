package serial

import (
	"testing"

	"gemm"
	"gemm/gemmtest"
	"gemm/internal/kernel"
	"gemm/internal/tuned"
)

// The cutoff of this host is the default, and what is predicted of a product and
// checked of its result goes by it.
func TestTunedCutoff(t *testing.T) {
	t.Cleanup(tuned.Disable)
	f32, f64 := kernel.Best[float32]().Name, kernel.Best[float64]().Name
	entry := func(typ, kernel string, cutoff int) tuned.Tune {
		return tuned.Tune{Type: typ, Kernel: kernel, Values: tuned.Values{Cutoff: cutoff}}
	}
	for _, c := range []struct {
		what  string
		tuned []tuned.Tune
		want  int // 0: the untuned one
	}{
		{"nothing", nil, 0},
		{"both types", []tuned.Tune{entry("f32", f32, 700), entry("f64", f64, 500)}, 700},
		{"one type", []tuned.Tune{entry("f64", f64, 40)}, 40},
		{"blocks alone", []tuned.Tune{entry("f64", f64, 0)}, 0},
		{"another kernel", []tuned.Tune{entry("f64", "none", 40)}, 0},
	} {
		tuned.Use(tuned.Settings{Tuned: c.tuned})
		for name, untuned := range map[string]int{"serial/strassen": strassenCutoff(), "serial/winograd": winogradCutoff()} {
			c, v := c, find(t, name)
			switch {
			case c.want == 0:
				c.want = untuned
			case name == "serial/winograd": // strassen's is what was measured
				c.want = c.want * winogradCutoff() / strassenCutoff()
			}
			p, err := v.Resolve(nil)
			if err != nil || p.Int("cutoff") != c.want {
				t.Errorf("%s, tuned for %s: %v, %v, want a cutoff of %d", name, c.what, p, err, c.want)
			}
			const n = 1000
			asked, err := v.Resolve(gemm.Params{"cutoff": c.want})
			gemmtest.Must(t, err)
			if got, want := v.Model(gemm.Cube(n), p).Workspace, v.Model(gemm.Cube(n), asked).Workspace; got != want {
				t.Errorf("%s, tuned for %s: a workspace of %v is predicted, want %v", name, c.what, got, want)
			}
			m, err := gemm.New[float64](v, nil)
			gemmtest.Must(t, err)
			if got := m.(*recursion[float64]).cutoff; got != c.want {
				t.Errorf("%s, tuned for %s: it halves down to %d, want %d", name, c.what, got, c.want)
			}
		}
		if p, err := find(t, "serial/divide").Resolve(nil); err != nil || p.Int("cutoff") != 128 {
			t.Errorf("serial/divide, tuned for %s: %v, %v", c.what, p, err)
		}
	}
}
