#!/usr/bin/env bash
# Prints the variables with which go build compiles the CUDA worker, in one line for a shell:
#
#   eval "$(scripts/cuda.sh) go build -tags cuda -o bin/ ./cmd/gemm-cuda"
#
# If the worker cannot be compiled, it prints no, and the reason to standard error.
#
#   scripts/cuda.sh [13|12|11]
#
# cuda.h is taken from the first of these places: CUDA_HOME; the usual folders of a toolkit; the
# paths of pkg-config or the compiler; NVIDIA's package for pip. The package is fetched into .cuda
# and compared with its checksum. A number selects this package and its version. The program is
# linked with a replacement of libcuda that has the functions of cuda.h. So it can be built on a
# host without driver and GPU, and runs on hosts that have them.
#
# CUDA=no: print no. CUDA=auto: fetch nothing if there is no driver either. CUDA=yes: fail instead
# of printing no.
set -euo pipefail
cd "$(dirname "$0")/.."
shim="$PWD/cuda/device/include"
oldest=11080 # CUDA_VERSION of 11.8

without() {
	echo "without CUDA, for $1" >&2
	echo no
	[ "${CUDA:-}" != yes ] || exit 1
	exit 0
}

# version FLAG... prints the CUDA_VERSION of the cuda.h that the compiler finds with them.
version() { "$cc" -E -P -x c "$@" - <<<$'#include <cuda.h>\nCUDA_VERSION' 2>/dev/null | tail -n 1; }

# toolkit prints the folder of the toolkit's cuda.h, nothing where the compiler finds it by
# itself; it fails where there is none.
toolkit() {
	local folder
	if [ -n "${CUDA_HOME:-}" ]; then
		[ -e "$CUDA_HOME/include/cuda.h" ] && echo "$CUDA_HOME/include"
		return
	fi
	for folder in /usr/local/cuda/include /opt/cuda/include $(described); do
		if [ -e "$folder/cuda.h" ]; then
			echo "$folder"
			return
		fi
	done
	[ -n "$(version)" ]
}

# described prints the folders that pkg-config names, of the newest toolkit first.
described() {
	local name
	for name in $(pkg-config --list-all 2>/dev/null | awk '$1 ~ /^cuda(-[0-9.]+)?$/ { print $1 }' | sort -rV); do
		pkg-config --variable=includedir "$name" 2>/dev/null
	done
}

# package prints the folder of the cuda.h of NVIDIA's package, which it fetches where it
# is not there and $fetch is yes.
package() {
	local package sum headers folder scratch wheel
	case "$1" in
	13)
		package=nvidia-cuda-runtime==13.0.96
		sum=7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548
		headers=nvidia/cu13/include
		;;
	12)
		package=nvidia-cuda-runtime-cu12==12.9.79
		sum=25bba2dfb01d48a9b59ca474a1ac43c6ebf7011f1b0b8cc44f54eb6ac48a96c3
		headers=nvidia/cuda_runtime/include
		;;
	11)
		package=nvidia-cuda-runtime-cu11==11.8.89
		sum=92d04069a987e1fbc9213f8376d265df0f7bb42617d44f5eda1f496acea7f2d1
		headers=nvidia/cuda_runtime/include
		;;
	esac
	folder="$PWD/.cuda/$package"
	if [ ! -e "$folder/$headers/cuda.h" ]; then
		[ "$fetch" = yes ] || return 1
		[ "$(uname -m)" = x86_64 ] || {
			echo "cuda: the package is for x86-64; set CUDA_HOME to a toolkit" >&2
			return 1
		}
		mkdir -p .cuda
		scratch="$(mktemp -d .cuda/new.XXXXXX)"
		if timeout 120 python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary=:all: -d "$scratch" "$package" >&2 &&
			wheel="$(echo "$scratch"/*.whl)" &&
			sha256sum --quiet -c - <<<"$sum  $wheel" >&2 &&
			python3 -m zipfile -e "$wheel" "$scratch/whole"; then
			rm -rf "$folder"
			mv "$scratch/whole" "$folder"
		fi
		rm -rf "$scratch"
		[ -e "$folder/$headers/cuda.h" ] || return 1
	fi
	echo "$folder/$headers"
}

# stand_in FLAG... makes a libcuda whose functions, which are those that cuda.h declares,
# say that there is no device, and prints its folder.
stand_in() {
	local folder scratch
	folder="$PWD/.cuda/stand-in-$(version "$@")"
	mkdir -p "$folder"
	scratch="$(mktemp -d .cuda/new.XXXXXX)"
	"$cc" -E -P -x c "$@" - <<<'#include <cuda.h>' | tr '\n' ' ' |
		grep -oE 'CUresult +cu[A-Z][A-Za-z0-9_]* *\(' | sort -u |
		sed -E 's/CUresult +([A-Za-z0-9_]+).*/int \1(void) { return 100; }/' >"$scratch/libcuda.c"
	"$cc" -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$scratch/libcuda.so" "$scratch/libcuda.c"
	mv "$scratch/libcuda.so" "$folder"
	ln -sf libcuda.so "$folder/libcuda.so.1"
	rm -rf "$scratch"
	echo "$folder"
}

fetch=yes
case "${CUDA:-}" in
no) without "CUDA=no" ;;
auto) [ -n "${1:-}" ] || { ldconfig -p || /sbin/ldconfig -p; } 2>/dev/null | grep 'libcuda\.so' >/dev/null || fetch=no ;;
esac
case "${1:-}" in
'' | 11 | 12 | 13) ;;
*)
	echo "usage: $0 [13|12|11]" >&2
	exit 2
	;;
esac
[ "$(uname -s)" = Linux ] || without "this is not Linux"
cc="$("${GO:-go}" env CC)"
command -v "$cc" >/dev/null || without "there is no C compiler; make deps names the packages"

if [ -n "${1:-}" ]; then
	headers="$(package "$1")" || without "the headers of CUDA $1 are not to be had by pip"
elif ! headers="$(toolkit)"; then
	[ -z "${CUDA_HOME:-}" ] || without "CUDA_HOME=$CUDA_HOME has no include/cuda.h"
	headers="$(package 13)" || without "there is no cuda.h; install a CUDA toolkit, set CUDA_HOME to one, or fetch the headers by CUDA=yes"
fi
flags=("-I$shim" ${headers:+"-I$headers"})
found="$(version ${headers:+"-I$headers"})"
[ "${found:-0}" -ge "$oldest" ] || without "the cuda.h in ${headers:-/usr/include} is of version ${found:-unknown}, and the oldest that is supported of $oldest (11.8)"
library="$(stand_in "${flags[@]}")"
echo "CGO_ENABLED=1 CGO_CPPFLAGS='${flags[*]}' CGO_LDFLAGS='-O2 -g -L$library'"
