#!/usr/bin/env bash
# Runs the examples of libgemm, those that this host has the programs for, and names the others. make
# lib has built the library. Products of NumPy, Octave and R must reach it.
set -euo pipefail
cd "$(dirname "$0")"
root="$(cd ../.. && pwd)"
library="$root/bin/lib/libgemm.so"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
[ -e "$library" ] || { echo "examples/lib: there is no bin/lib/libgemm.so; run make lib" >&2; exit 1; }

link=(-L"$root/bin/lib" -lgemm "-Wl,-rpath,$root/bin/lib")
begin() { printf '\n== %s\n' "$1"; }
absent() { printf '\n== %s: left out, %s is not installed\n' "$1" "$2"; }
numpy() { for p in python3 /usr/bin/python3; do if "$p" -c 'import numpy' 2>/dev/null; then echo "$p"; return; fi; done; false; }

# preloaded PROGRAM... runs a program with the library preloaded. It fails unless the program has called it.
preloaded() {
	LD_DEBUG=bindings LD_DEBUG_OUTPUT="$scratch/bindings" LD_PRELOAD="$library" "$@"
	grep -q 'to .*/libgemm\.so .*dgemm' "$scratch"/bindings.* || { echo "$1 did not call libgemm" >&2; exit 1; }
	rm -f "$scratch"/bindings.*
}

if command -v gcc >/dev/null; then
	begin "product.c"
	gcc -Wall -Werror product.c -I"$root/lib" "${link[@]}" -o "$scratch/product"
	"$scratch/product"
else
	absent product.c gcc
fi
if command -v gfortran >/dev/null; then
	begin "product.f90"
	gfortran -Wall product.f90 "${link[@]}" -o "$scratch/product"
	"$scratch/product"
else
	absent product.f90 gfortran
fi
if python="$(numpy)"; then
	begin "product.py"
	"$python" product.py "$library"
	begin "NumPy's own product"
	preloaded "$python" -c 'import numpy; a = numpy.random.rand(99, 99); assert abs((a @ a)[9, 8] - sum(a[9] * a[:, 8])) < 1e-12'
else
	absent product.py "python3-numpy"
fi
if command -v octave-cli >/dev/null; then
	begin "product.m"
	preloaded octave-cli --quiet --no-history product.m
else
	absent product.m octave
fi
if command -v Rscript >/dev/null; then
	begin "product.R"
	preloaded Rscript product.R
else
	absent product.R "r-base-core"
fi
