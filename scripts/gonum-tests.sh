#!/usr/bin/env bash
# Usage: scripts/gonum-tests.sh [PACKAGE]...
#
# Runs gonum's own tests of its matrices and of its LAPACK with our BLAS, and the tests of its matrices
# with our LAPACK too, or the tests of other packages, such as stat/mds. The module cache is read-only, so a copy of
# gonum's module replaces it. The file blas/testdata/main_test.go is added to the copy. It selects gemm/blas and
# gemm/lapack, and fails if a routine of gemm/blas was not called, unless packages are named.
set -euo pipefail
cd "$(dirname "$0")/.."

go="${GO:-go}"
gonum=gonum.org/v1/gonum
packages="${*:-mat lapack/gonum}"
every=true
if [ $# -gt 0 ]; then
	every=false
fi

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

"$go" mod download "$gonum"
cp -R "$("$go" list -m -f '{{.Dir}}' "$gonum")" "$scratch/gonum"
chmod -R u+w "$scratch/gonum"
cp go.mod go.sum "$scratch"
"$go" mod edit -replace "$gonum=$scratch/gonum" "$scratch/go.mod"

tested=()
for package in $packages; do
	sed -e "s/^package gonum_test\$/package ${package##*/}_test/" -e "s/^const every = true/const every = $every/" \
		blas/testdata/main_test.go \
		>"$scratch/gonum/$package/main_test.go"
	tested+=("$gonum/$package")
done
"$go" test -mod=mod -modfile "$scratch/go.mod" -count=1 "${tested[@]}"
