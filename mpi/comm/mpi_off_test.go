//go:build !mpi

package comm

import (
	"errors"
	"strings"
	"testing"

	"gemm"
)

func TestWithoutMPI(t *testing.T) {
	if Built {
		t.Error("this build is said to have MPI")
	}
	_, err := Start()
	if !errors.Is(err, gemm.ErrUnavailable) || !strings.Contains(err.Error(), "-tags mpi") {
		t.Errorf("Start: %v, want ErrUnavailable with the remedy", err)
	}
	c := &Comm{size: 1, numbers: []int{0}, hosts: []int{0}, traffic: &Traffic{}}
	if err := Bcast(c, gemm.NewMatrix[float64](2, 2), 0); !errors.Is(err, gemm.ErrUnavailable) {
		t.Errorf("Bcast: %v", err)
	}
	if _, err := Irecv(c, gemm.NewMatrix[float64](2, 2), 0, 1); !errors.Is(err, gemm.ErrUnavailable) {
		t.Errorf("Irecv: %v", err)
	}
}
