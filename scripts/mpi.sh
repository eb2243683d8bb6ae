#!/bin/sh
# Prints yes where gemm is to be built with MPI, and otherwise no and, to standard
# error, why: yes where pkg-config finds Open MPI and there are a C compiler and mpirun.
# MPI=yes and MPI=no decide it without a look; any other value has it looked.
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
