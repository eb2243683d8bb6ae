package number

import (
	"math"
	"testing"
)

func TestNumbers(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, test := range []struct{ got, want string }{
		{Revision("80094f7c3d2b1a09f8e7d6c5b4a3928170fedcba+dirty"), "80094f7c3d2b+dirty"}, {Revision("abc"), "abc"},
		{Revision(""), ""},
		{Significant(0), "0"}, {Significant(nan), "—"}, {Significant(inf), "—"}, {Significant(-inf), "—"},
		{Significant(1), "1.00"}, {Significant(9.999), "10.0"}, {Significant(99.96), "100"}, {Significant(1234), "1230"},
		{Significant(0.12345), "0.123"}, {Significant(0.001), "0.00100"}, {Significant(0.0009994), "9.99e-04"},
		{Significant(0.00099996), "0.00100"}, {Significant(999500), "1.00e+06"}, {Significant(-2.5), "-2.50"},
		{Significant(1.11e-16), "1.11e-16"},
		{Seconds(0), "0 s"}, {Seconds(nan), "—"}, {Seconds(inf), "—"}, {Seconds(1.5e-9), "1.50 ns"},
		{Seconds(2.344e-5), "23.4 µs"},
		{Seconds(9.999e-4), "1.00 ms"}, {Seconds(0.9996), "1.00 s"}, {Seconds(12.34), "12.3 s"}, {Seconds(4321), "4320 s"},
		{ByteSize(0), "0 B"}, {ByteSize(512), "512 B"}, {ByteSize(1024), "1 KiB"}, {ByteSize(1000), "0.977 KiB"},
		{ByteSize(48 << 10), "48 KiB"}, {ByteSize(1.5 * 1024 * 1024), "1.5 MiB"}, {ByteSize(3 << 40), "3 TiB"},
		{ByteSize(nan), "—"},
		{Extent(1, 2, Significant), "1.00 – 2.00"}, {Extent(1.2801, 1.2804, Significant), "1.28"},
		{Share(0.25), "25.0 %"}, {Share(0), "0 %"}, {Share(1), "100 %"}, {Share(1.004), "100 %"}, {Share(1.52), "—"},
		{Share(5.04), "—"}, {Share(-1.49), "—"}, {Share(nan), "—"}, {Extent(nan, 2, Significant),
			"—"}, {Extent(1, inf, Significant), "—"},
		{Percent(0.125), "12.5 %"}, {Percent(nan), "—"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}
