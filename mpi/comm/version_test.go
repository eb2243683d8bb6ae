package comm

import "testing"

func TestNamed(t *testing.T) {
	for text, want := range map[string]string{
		"Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4":    "Open MPI v4.1.4",
		"MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7\n":  "MPICH 4.0.2",
		"MPICH Version:      5.0.0\nMPICH Release date: x":          "MPICH 5.0.0",
		"MVAPICH2 Version      :\t2.3.7\nMVAPICH2 Release date : x": "MVAPICH2 2.3.7",
		"Intel(R) MPI Library 2021.10 for Linux* OS\n":              "Intel(R) MPI Library 2021.10",
		"MPI VERSION    : CRAY MPICH version 8.1.9.31\nMPI BUILD":   "CRAY MPICH version 8.1.9.31",
		"IBM Spectrum MPI v10.4, package: x":                        "IBM Spectrum MPI v10.4",
		"":                                                          "",
	} {
		if got := named(text); got != want {
			t.Errorf("of %q it is %q, want %q", text, got, want)
		}
	}
}
