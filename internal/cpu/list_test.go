package cpu

import (
	"slices"
	"strings"
	"testing"
)

func TestList(t *testing.T) {
	for want, processors := range map[string][]int{
		"": nil, "5": {5}, "0-1": {0, 1}, "0-3,8,10-11": {0, 1, 2, 3, 8, 10, 11}, "2,0,4-5,1": {2, 0, 4, 5, 1},
	} {
		if got := List(processors); got != want {
			t.Errorf("List(%v) = %q, want %q", processors, got, want)
		}
	}
}

func TestParseList(t *testing.T) {
	for list, want := range map[string][]int{
		"": nil, "0": {0}, "0-2": {0, 1, 2}, "0-1,8,10-11": {0, 1, 8, 10, 11}, "x": nil, "1-": nil, "1,,2": nil, "3-2": nil,
		"0-99999999": nil, "8192": nil, "8191": {8191}, strings.Repeat("0-8191,", 9) + "1": nil,
	} {
		if got := ParseList(list); !slices.Equal(got, want) {
			t.Errorf("ParseList(%q) = %v, want %v", list, got, want)
		}
	}
}
