package ladder

import "testing"

// TestServe has patterns whose passes NVIDIA's documents say.
func TestServe(t *testing.T) {
	for _, test := range []struct {
		what                            string
		bytes                           int
		address                         func(lane int) int
		passes, least, lanes, different int
	}{
		{"4 bytes side by side", 4, func(l int) int { return 4 * l }, 1, 1, 32, 32},
		{"4 bytes, all the same", 4, func(int) int { return 64 }, 1, 1, 32, 1},
		{"4 bytes, every other word", 4, func(l int) int { return 8 * l }, 2, 1, 32, 32},
		{"4 bytes down a column of 32", 4, func(l int) int { return 128 * l }, 32, 1, 32, 32},
		{"4 bytes down a column of 33", 4, func(l int) int { return 132 * l }, 1, 1, 32, 32},
		{"8 bytes side by side", 8, func(l int) int { return 8 * l }, 2, 2, 32, 32},
		{"8 bytes, neighbours the same", 8, func(l int) int { return 8 * (l / 2) }, 1, 1, 32, 16},
		{"16 bytes side by side", 16, func(l int) int { return 16 * l }, 4, 4, 32, 32},
		{"16 bytes, every other quad", 16, func(l int) int { return 32 * l }, 8, 4, 32, 32},
		{"16 bytes, lanes i and i^1 the same", 16, func(l int) int { return 16 * (l / 2) }, 2, 2, 32, 16},
		{"16 bytes, lanes i and i^2 the same", 16, func(l int) int { return 16 * (l/4*2 + l%2) }, 2, 2, 32, 16},
		{"16 bytes, lanes i and i^4 the same", 16, func(l int) int { return 16 * (l % 4) }, 4, 4, 32, 4},
		{"half of the lanes", 4, func(l int) int {
			if l%2 == 1 {
				return -1
			}
			return 4 * l
		}, 1, 1, 16, 16},
		{"no lane", 4, func(int) int { return -1 }, 0, 0, 0, 0},
	} {
		addresses := make([]int, 32)
		for lane := range addresses {
			addresses[lane] = test.address(lane)
		}
		passes, least, lanes, different := serve(addresses, test.bytes)
		if passes != test.passes || least != test.least || lanes != test.lanes || different != test.different {
			t.Errorf("%s: %d passes, %d without conflicts, %d lanes for %d addresses", test.what, passes, least,
				lanes, different)
		}
	}
}
