#!/usr/bin/env bash
# Prints the arguments that this host has: features of GEMM_TEST_REQUIRE, needs of .ci/steps and of documents.
set -euo pipefail
cd "$(dirname "$0")/.."

library() { { ldconfig -p || /sbin/ldconfig -p; } 2>/dev/null | grep "$1" >/dev/null; } # grep -q would end ldconfig
processor() {
	local flags flag
	flags=" $(sed -n '/^flags/ { s/.*: //p; q }' /proc/cpuinfo) "
	for flag in "$@"; do [[ "$flags" == *" $flag "* ]] || return 1; done
}

has() {
	case "$1" in
	mpi) [ "$(scripts/mpi.sh)" != no ] ;;
	mpich) pkg-config --exists mpich && command -v mpiexec.hydra ;;
	hosts) [ "$(scripts/mpi.sh)" != no ] && scripts/hosts.sh possible ;;
	openblas | blis) library "lib$1\.so" ;;
	scalapack) library libscalapack-openmpi\.so ;;
	libgemm) [ -e bin/lib/libgemm.so ] ;;
	numpy) python3 -c 'import numpy' || /usr/bin/python3 -c 'import numpy' ;;
	nvrtc) [ -n "${GEMM_NVRTC:-}" ] ;;
	avx512) processor avx512f avx512bw avx512dq avx512vl fma ;;
	avx2) processor avx2 fma gfni ;;
	avx2-nogfni) processor avx2 fma ;;
	ssse3) processor ssse3 ;;
	libc6-arm64-cross) [ -e /usr/aarch64-linux-gnu/lib/libc.so.6 ] ;;
	gcc | gfortran | octave-cli | Rscript | bash | zsh | fish | groff | qemu-aarch64-static) command -v "$1" ;;
	*) false ;; # a need of documents that CI does not have: a GPU, much time
	esac
}
for word in "$@"; do if has "$word" >/dev/null 2>&1; then echo "$word"; fi; done
