#!/bin/sh
# Prints the MPI that gemm is built with: openmpi, mpich or no.
#
#   scripts/mpi.sh        the name; the reason for "no" goes to standard error
#   scripts/mpi.sh env    the variables of go build for it, in one line for a shell
#   scripts/mpi.sh build  the same, and go build with its tag
#
# MPI=auto (the default) chooses Open MPI if it can be used, otherwise MPICH, otherwise no. To use an
# MPI takes its file for pkg-config (ompi or mpich), what starts its ranks, and a C compiler.
# MPI=openmpi, MPI=mpich and MPI=no choose without a check, and MPI=yes never chooses no.
#
# empi asks pkg-config for ompi. For MPICH it gets scripts/mpich/ompi.pc, which requires mpich. Go's
# build cache does not see what pkg-config says: without a macro of its own, a build would link what was
# compiled for another MPI.
folder="$(cd "$(dirname "$0")" && pwd)"

lacks() { echo "without MPI, for $1; make deps names the packages" >&2; }
has() { for program in "$@"; do ! command -v "$program" >/dev/null || return 0; done; return 1; }
openmpi() { pkg-config --exists ompi 2>/dev/null && has mpirun mpirun.openmpi; }
mpich() { pkg-config --exists mpich 2>/dev/null && has mpiexec.hydra mpirun.mpich; }

case "${MPI:-auto}" in
no | openmpi | mpich) mpi="$MPI" ;;
auto | yes)
	mpi=no
	if ! has "$("${GO:-go}" env CC)"; then
		reason="there is no C compiler"
	elif openmpi; then
		mpi=openmpi
	elif mpich; then
		mpi=mpich
	else
		reason="pkg-config finds no ompi with an mpirun, and no mpich with an mpiexec.hydra"
	fi
	if [ "$mpi" = no ]; then
		if [ "${MPI:-auto}" = yes ]; then mpi=openmpi; else lacks "$reason"; fi
	fi
	;;
*)
	echo "MPI=$MPI: must be auto, yes, no, openmpi or mpich" >&2
	exit 2
	;;
esac

[ -n "${1:-}" ] || { echo "$mpi"; exit; }
path="${PKG_CONFIG_PATH:-}"
[ "$mpi" != mpich ] || path="$folder/mpich${path:+:$path}"
macro="GEMM_MPI_$(PKG_CONFIG_PATH="$path" pkg-config --cflags --libs ompi 2>/dev/null | cksum | cut -d' ' -f1)"
if [ "$mpi" = no ]; then
	variables="CGO_ENABLED=0" tag=
elif [ -z "$path" ]; then # the system's Open MPI, as go build -tags mpi takes it without this script
	variables="CGO_ENABLED=1" tag=" -tags mpi"
else
	variables="CGO_ENABLED=1 PKG_CONFIG_PATH='$path' CGO_CFLAGS='${CGO_CFLAGS:--g -O2} -D$macro'" tag=" -tags mpi"
fi
if [ "$1" = build ]; then echo "$variables ${GO:-go} build$tag"; else echo "$variables"; fi
