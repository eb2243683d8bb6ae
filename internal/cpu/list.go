package cpu

import (
	"slices"
	"strconv"
	"strings"
)

// List formats processors, or other integers, in their order and with ranges, like the kernel: "0-3,8".
func List(processors []int) string {
	var parts []string
	for i := 0; i < len(processors); {
		j := i
		for j+1 < len(processors) && processors[j+1] == processors[j]+1 {
			j++
		}
		part := strconv.Itoa(processors[i])
		if j > i {
			part += "-" + strconv.Itoa(processors[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// SortedList is List in ascending order.
func SortedList(processors []int) string { return List(slices.Sorted(slices.Values(processors))) }

// MaxProcessors is a number of processors that Linux cannot exceed.
const MaxProcessors = 8192

// ParseList returns the processors of a list in this form; none if it is malformed, or has more than MaxProcessors.
func ParseList(list string) []int {
	var out []int
	if list == "" {
		return nil
	}
	for span := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(span, "-")
		lo, err := strconv.Atoi(from)
		hi := lo
		if err == nil && isRange {
			hi, err = strconv.Atoi(to)
		}
		if err != nil || lo < 0 || hi >= MaxProcessors || len(out) > MaxProcessors {
			return nil
		}
		for i := lo; i <= hi; i++ {
			out = append(out, i)
		}
	}
	return out
}
