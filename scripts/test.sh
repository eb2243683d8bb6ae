#!/usr/bin/env bash
# Runs every test of the module: plain; under the race detector, where there is a C
# compiler for it; and, of the packages whose code GEMM_CPU chooses, once for each
# instruction set that this processor has.
set -euo pipefail

go="${GO:-go}"
sets="avx512 avx2 avx2-nogfni ssse3 generic"
chosen="./internal/... ./serial ./parallel ./blas ./compare"

title() { printf '\n== %s\n' "$*"; }

title "go test ./..."
"$go" test ./...

if command -v "$("$go" env CC)" >/dev/null; then
	title "go test -race ./..."
	CGO_ENABLED=1 "$go" test -race ./...
else
	title "go test -race: left out, it needs a C compiler; install gcc and libc6-dev"
fi

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
CGO_ENABLED=0 "$go" build -buildvcs=false -o "$scratch/gemm" ./cmd/gemm
for set in $sets; do
	if ! answer="$(GEMM_CPU="$set" "$scratch/gemm" info 2>&1)" && [[ "$answer" == *"this processor lacks it"* ]]; then
		title "GEMM_CPU=$set: left out, this processor lacks it"
		continue
	fi
	title "GEMM_CPU=$set go test -count=1 $chosen"
	# The cache of results may not see a variable that is read before the tests begin.
	# shellcheck disable=SC2086 # a list of patterns
	GEMM_CPU="$set" "$go" test -count=1 $chosen
done
