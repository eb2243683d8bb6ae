#!/bin/sh
# Prints yes if gemm is built with MPI: pkg-config finds Open MPI, and there are a C compiler and
# mpirun. Otherwise it prints no, and the reason to standard error. MPI=yes and MPI=no set the
# answer without a check.
case "${MPI:-}" in yes | no) echo "$MPI" && exit ;; esac

without() {
	echo "without MPI, for $1; make deps names the packages" >&2
	echo no
	exit
}
pkg-config --exists ompi 2>/dev/null || without "pkg-config finds no ompi"
command -v "$("${GO:-go}" env CC)" >/dev/null || without "there is no C compiler"
command -v mpirun >/dev/null || without "there is no mpirun"
echo yes
