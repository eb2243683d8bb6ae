#!/usr/bin/env bash
# Names the system packages that are missing, and installs them if permitted.
#
#   scripts/deps.sh [run|test|install|lib|python|peers|hosts|lint|report]...
#
# run     the libraries of the family reference; Open MPI and a C compiler, to build and
#         run gemm on several ranks
# test    needed by make test and .ci/run in addition: a C compiler, pip, NumPy, MPICH and qemu
# lib     needed by examples/lib/run.sh in addition: Octave and a Fortran compiler
# python  needed by make wheel and make python-test: pip, a C compiler and Python's module venv
# peers   needed by make peers in addition: pip, a C compiler and libxsmm
# install needed by make slow-tests ONLY=install in addition: man, pkg-config and bash-completion
# hosts   needed by make hosts in addition
# lint    needed by make lint in addition: shellcheck
# report  needed by make check-report: a browser and TeX
#
# gemm builds and runs without all of them: the row of a missing library says that it is missing.
# Packages are installed if the script runs as root or sudo needs no password. Otherwise it prints
# the command to type. It uses the configured package sources, and always exits with 0, so that a
# host without a network can continue. DEPS=no skips everything.
set -euo pipefail

# grep -q ends before its input does, so the writer would fail.
library() { { ldconfig -p || /sbin/ldconfig -p; } 2>/dev/null | grep "$1" >/dev/null; }
program() { command -v "$1" >/dev/null; }
module() { program pkg-config && pkg-config --exists "$1"; }
# A toolkit has what pip fetches for gemm-cuda, which a host without a driver has no use for.
toolkit() { ! library libcuda\.so || [ -e "${CUDA_HOME:-/usr/local/cuda}/include/cuda.h" ] || pipped; }
headers() { program gcc && gcc -E -x c - <<<'#include <stdlib.h>' >/dev/null 2>&1; }
pipped() { program python3 && python3 -m pip --version >/dev/null 2>&1; }
environments() { program python3 && python3 -c 'import ensurepip' 2>/dev/null; }
xsmm() { [ -e /usr/lib/libxsmm.a ] || compgen -G "/usr/lib/*/libxsmm.a" >/dev/null; }
numpy() { python3 -c 'import numpy' 2>/dev/null || /usr/bin/python3 -c 'import numpy' 2>/dev/null; }
texfile() { program kpsewhich && [ -n "$(kpsewhich "$1")" ]; }

# One line a need: group | Debian and Ubuntu package | how to see that it is there | what it is for
needs='run|libopenblas0-pthread|library libopenblas\.so|reference/openblas
run|libblis4-pthread|library libblis\.so|reference/blis
run|libopenmpi-dev|module ompi|the family mpi, to build it
run|openmpi-bin|program mpirun|the family mpi, to run it
run|pkg-config|program pkg-config|the family mpi, to build it
run|libscalapack-openmpi2.2|library libscalapack-openmpi\.so|reference/scalapack
run|gcc|program gcc|libraries in processes of their own, loops in C beside our loops, go test -race, the families mpi and cuda
run|libc6-dev|headers|libraries in processes of their own, go test -race, the families mpi and cuda
run|python3-pip|toolkit|the family cuda, to fetch the headers that a CUDA toolkit has
test|python3-pip|pipped|scripts/nvrtc.sh and scripts/cuda.sh, the compiler of CUDA kernels and the headers of gemm-cuda
test|python3-numpy|numpy|the tests of libgemm with NumPy
test|qemu-user-static|program qemu-aarch64-static|the tests of the kernels for arm64 on an emulated processor
test|libc6-arm64-cross|[ -e /usr/aarch64-linux-gnu/lib/libc.so.6 ]|gemm of make dist on an emulated processor
test|mpich|program mpiexec.hydra|the tests of the family mpi on the ranks of MPICH
test|libmpich-dev|module mpich|the tests of the family mpi with MPICH, to build them
python|gcc|program gcc|make wheel, for the library in the Python package
python|libc6-dev|headers|make wheel, for the library in the Python package
python|python3-pip|pipped|make wheel
python|python3-venv|environments|make python-test
lib|octave|program octave-cli|examples/lib/product.m
lib|gfortran|program gfortran|examples/lib/product.f90
peers|python3-pip|pipped|make peers, libraries to compare with
peers|gcc|program gcc|make peers, to link libxsmm
peers|libxsmm-dev|xsmm|reference/libxsmm
install|man-db|program man|make slow-tests, the manual page
install|groff-base|program groff|the tests of the manual page
install|pkg-config|program pkg-config|make slow-tests, a program with the installed libgemm
install|bash-completion|[ -e /usr/share/bash-completion/bash_completion ]|make slow-tests, completion in bash
hosts|iproute2|program tc|scripts/hosts.sh, network namespaces and limits of links
hosts|util-linux|program nsenter|scripts/hosts.sh, to run in namespaces
hosts|slurm-wlm|program sbatch|scripts/slurm.sh, to submit the scripts of examples/mpi
hosts|munge|program munged|scripts/slurm.sh, by which its daemons trust each other
lint|shellcheck|program shellcheck|the scripts
report|chromium|program chromium|the look at report.html
report|texlive-xetex|program xelatex|the compilation of report.tex
report|texlive-latex-recommended|texfile booktabs.sty|the compilation of report.tex
report|texlive-fonts-recommended|texfile pzdr.tfm|links in report.tex
report|texlive-lang-chinese|texfile ctex.sty|the compilation of reports in Chinese
report|fonts-lmodern|texfile lmroman10-regular.otf|the compilation of report.tex'

say() { echo "deps: $*" >&2; }

# missing prints the needs of the groups asked for that are not met.
missing() {
	local group package there purpose
	while IFS='|' read -r group package there purpose; do
		case " $groups " in *" $group "*) $there || echo "$package|$purpose" ;; esac
	done <<<"$needs"
}

# apt runs apt-get so that it neither asks nor hangs.
apt() {
	timeout 240 ${sudo:+sudo -n} env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
		-o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 \
		-o DPkg::Lock::Timeout=60 "$@" </dev/null 2>&1
}

# known prints the packages that the sources have.
known() {
	local package
	for package in "$@"; do
		if apt-get -s install "$package" >/dev/null 2>&1; then echo "$package"; fi
	done
}

groups="${*:-run}"
if [ "${DEPS:-yes}" = no ]; then
	say "DEPS=no: skipped"
	exit 0
fi
if [ "$(uname)" = Darwin ]; then
	say "skipped: the names are Debian's. brew install open-mpi pkg-config adds the family mpi, brew install openblas a peer"
	exit 0
fi
lacking="$(missing)"
if [ -z "$lacking" ]; then
	say "nothing is missing"
	exit 0
fi
while IFS='|' read -r package purpose; do say "$package is missing; it serves $purpose"; done <<<"$lacking"
mapfile -t packages < <(cut -d'|' -f1 <<<"$lacking")

by_hand() {
	say "$1; going on without. To install by hand:"
	say "    sudo apt-get update && sudo apt-get install --no-install-recommends ${packages[*]}"
	exit 0
}

program apt-get || by_hand "there is no apt-get (the names are Debian's and Ubuntu's)"
sudo=
if [ "$(id -u)" != 0 ]; then
	if program sudo && sudo -n true 2>/dev/null; then
		sudo=yes
	else
		by_hand "neither root nor sudo without a password"
	fi
fi

log="$(mktemp)"
trap 'rm -f "$log"' EXIT
mapfile -t have < <(known "${packages[@]}")
if [ "${#have[@]}" -lt "${#packages[@]}" ]; then
	say "reading the package lists"
	apt update >"$log" || { tail -n 3 "$log" >&2; say "apt-get update failed"; }
	mapfile -t have < <(known "${packages[@]}")
fi
if [ "${#have[@]}" -gt 0 ]; then
	say "installing ${have[*]}"
	if ! apt install --no-install-recommends "${have[@]}" >"$log"; then
		# The lists may be older than the archive.
		{ apt update && apt install --no-install-recommends "${have[@]}"; } >"$log" || tail -n 5 "$log" >&2
	fi
fi
hash -r
lacking="$(missing)"
if [ -n "$lacking" ]; then
	mapfile -t packages < <(cut -d'|' -f1 <<<"$lacking")
	by_hand "could not be installed: ${packages[*]}"
fi
