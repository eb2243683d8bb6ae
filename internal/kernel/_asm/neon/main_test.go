package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestWords disassembles each word of the generated files, and plants an error in each bit of it.
func TestWords(t *testing.T) {
	written := regexp.MustCompile(`WORD \$(0x[0-9a-f]{8}) // (.+)\n`)
	for _, name := range []string{"neon_arm64.s", "f16/convert_arm64.s"} {
		data, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		words := written.FindAllStringSubmatch(string(data), -1)
		if n := strings.Count(string(data), "WORD"); n != len(words) || n == 0 {
			t.Errorf("%s has %d words, and the instructions of %d", name, n, len(words))
		}
		for _, w := range words {
			bits, err := strconv.ParseUint(w[1], 0, 32)
			if err == nil {
				err = check(uint32(bits), w[2])
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for bit := range 32 {
				if check(uint32(bits)^1<<bit, w[2]) == nil {
					t.Errorf("%s: %s with bit %d changed is also %s", name, w[1], bit, w[2])
				}
			}
		}
	}
}
