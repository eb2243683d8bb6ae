package launch

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Family is the MPI implementation that a library is or is made from. The ranks of its libraries are started by
// the same programs.
type Family int

// The families.
const (
	Unknown Family = iota
	OpenMPI
	MPICH // and MVAPICH, Intel MPI, Cray MPICH
)

// String returns the name of the family.
func (f Family) String() string { return [...]string{"an unknown MPI", "Open MPI", "MPICH"}[f] }

// target returns the value of MPI with which make build builds for the family.
func (f Family) target() string { return [...]string{"auto", "openmpi", "mpich"}[f] }

// Library is an MPI library, or what belongs to it.
type Library struct {
	Family Family
	Name   string // with the version
	Major  int    // the first number of the version; 0: not known
}

// versionAt finds the first number of a version.
var versionAt = regexp.MustCompile(`\b[vV]?(\d+)\.\d`)

// Of returns the library with the given name and version, as mpi.Version returns them.
func Of(name string) Library {
	l := Library{Name: name}
	switch {
	case strings.Contains(name, "Open MPI"), strings.Contains(name, "Spectrum MPI"):
		l.Family = OpenMPI
	case strings.Contains(name, "MPICH"), strings.Contains(name, "MVAPICH"), strings.Contains(name, "Intel(R) MPI"):
		l.Family = MPICH
	}
	if m := versionAt.FindStringSubmatch(name); m != nil {
		l.Major, _ = strconv.Atoi(m[1])
	}
	return l
}

// Output of launchers with --version: of Open MPI, of MPICH and of Intel MPI.
var (
	mpirunSays = regexp.MustCompile(`\(Open MPI\) (\S+)`)
	hydraSays  = regexp.MustCompile(`(?s)^HYDRA build details:.*?Version:\s+(\S+)`)
	intelSays  = regexp.MustCompile(`Intel\(R\) MPI Library.*Version (\S+)`)
)

// libraryOf returns the library of a program that prints the text as its version.
func libraryOf(text string) Library {
	for format, says := range map[string]*regexp.Regexp{"Open MPI %s": mpirunSays, "MPICH %s": hydraSays,
		"Intel(R) MPI Library %s": intelSays} {
		if m := says.FindStringSubmatch(text); m != nil {
			return Of(fmt.Sprintf(format, m[1]))
		}
	}
	first, _, _ := strings.Cut(text, "\n")
	return Library{Name: strings.TrimSpace(first)}
}
