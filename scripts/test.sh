#!/usr/bin/env bash
# Runs every test of the module: plain, with MPI where it can; under the race detector,
# where there is a C compiler for it, in a build without MPI; and, of the packages whose
# code GEMM_CPU chooses, once for each choice of micro-kernels that this processor has.
# MPI=no leaves MPI out.
set -euo pipefail

go="${GO:-go}"
sets="avx512 avx2 avx2-nogfni ssse3 generic"
chosen="./internal/cpu ./internal/kernel/... ./internal/block ./internal/tuned ./serial ./parallel ./blas ./reference"
named="./internal/cpu ./internal/kernel/..." # what differs where the kernels do not
single='/(gf256|serial|compare/report(/.*)?|internal/matfile|mpi/plan)$' # packages of one goroutine

title() { printf '\n== %s\n' "$*"; }

if [ "$(scripts/mpi.sh)" = yes ]; then
	title "go test -tags mpi ./..."
	CGO_ENABLED=1 "$go" test -tags mpi ./...
	title "GOEXPERIMENT=cgocheck2 go test -short -tags mpi ./mpi ./mpi/comm"
	CGO_ENABLED=1 GOEXPERIMENT=cgocheck2 "$go" test -short -tags mpi ./mpi ./mpi/comm
else
	title "go test ./..."
	"$go" test ./...
fi

# What -short leaves out is the same under the race detector and for each choice of kernels.
if command -v "$("$go" env CC)" >/dev/null; then
	mapfile -t raced < <("$go" list ./... | grep -vE "$single")
	title "go test -race -short, of ${#raced[@]} packages"
	CGO_ENABLED=1 "$go" test -race -short "${raced[@]}"
else
	title "go test -race: left out, it needs a C compiler; install gcc and libc6-dev"
fi

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
CGO_ENABLED=0 "$go" build -buildvcs=false -o "$scratch/gemm" ./cmd/gemm
# kernels prints the micro-kernels of packed products, in an environment of its arguments.
kernels() { env "$@" "$scratch/gemm" info --json - | grep -o '"kernel": "[^"]*"' | paste -sd' '; }

tested=("$(kernels)")
for set in $sets; do
	if ! answer="$(GEMM_CPU="$set" "$scratch/gemm" info 2>&1)" && [[ "$answer" == *"this processor lacks it"* ]]; then
		title "GEMM_CPU=$set: left out, this processor lacks it"
		continue
	fi
	packages="$chosen"
	choice="$(kernels GEMM_CPU="$set")"
	for other in "${tested[@]}"; do
		if [ "$choice" = "$other" ]; then packages="$named"; fi
	done
	tested+=("$choice")
	title "GEMM_CPU=$set go test -short -count=1 $packages"
	# The cache of results may not see a variable that is read before the tests begin.
	# shellcheck disable=SC2086 # a list of patterns
	GEMM_CPU="$set" "$go" test -short -count=1 $packages
done
