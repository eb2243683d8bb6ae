package comm

import (
	"regexp"
	"strings"
)

// versioned matches the version texts of MPICH and MVAPICH.
var versioned = regexp.MustCompile(`^(\S+) Version\s*:\s*(\S+)`)

// named returns the name and version in the text of MPI_Get_library_version. It may have many lines, for instance
//
//	Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022
//	MPICH Version:	4.0.2
//	Intel(R) MPI Library 2021.10 for Linux* OS
//	MPI VERSION    : CRAY MPICH version 8.1.9.31 (ANL base 3.4a2)
func named(text string) string {
	first, _, _ := strings.Cut(strings.TrimRight(text, "\x00"), "\n")
	first, _, _ = strings.Cut(first, ",")
	first, _, _ = strings.Cut(first, " for Linux")
	if m := versioned.FindStringSubmatch(first); m != nil {
		return m[1] + " " + m[2]
	}
	if label, rest, ok := strings.Cut(first, ":"); ok && strings.HasPrefix(label, "MPI VERSION") {
		first = rest
	}
	return strings.TrimSpace(first)
}
