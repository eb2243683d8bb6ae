#!/usr/bin/env bash
# Usage: scripts/gonum-tests.sh [PACKAGE]...
#        scripts/gonum-tests.sh --bench FILE [FOLDER]...
#
# Runs gonum's own tests of its packages mat and lapack, or of others, such as stat/mds, with our BLAS and LAPACK. A copy
# of its module gets blas/testdata/main_test.go, which fails if a routine was not called, unless packages are named.
#
# --bench runs the benchmarks of gonum's mat and stat on one processor, or of the module in each FOLDER, which must
# compile with gonum v0.17: with gonum's routines and with ours, alternating, from one binary, and once with none,
# which ends those that call a routine. FILE gets the least times, and keeps those that it has if they are less.
set -euo pipefail
cd "$(dirname "$0")/.."

go="${GO:-go}" root="$PWD" scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
"$go" mod download gonum.org/v1/gonum

# prepare FOLDER EVERY PACKAGE... copies a module, and lets packages of it call this one.
prepare() {
	cp -R --no-preserve=mode "$1" "$scratch/module"
	own="$("$go" list -m)"
	(cd "$scratch/module" && "$go" mod edit -go 1.26 -require "$own@v0.0.0" -replace "$own=$root")
	for package in "${@:3}"; do
		name="$(cd "$scratch/module/$package" && "$go" list -mod=mod -f '{{.Name}}' .)"
		sed -e "s/^package gonum_test\$/package ${name}_test/" -e "s/^const every = true/const every = $2/" \
			blas/testdata/main_test.go >"$scratch/module/$package/main_test.go"
	done
}

original="$("$go" list -m -f '{{.Dir}}' gonum.org/v1/gonum)"
if [ "${1-}" != --bench ]; then
	every=false
	[ $# -gt 0 ] || { every=true && set -- mat lapack/gonum; }
	prepare "$original" "$every" "$@"
	(cd "$scratch/module" && "$go" test -mod=mod -count=1 "${@/#/./}")
	exit
fi

# Benchmarks of github.com/james-bowman/sparse that take seconds to minutes each, most of them without BLAS.
slow='Mul/mat.Dense=.*(CS|DOK)|BLASMulMatMat/xCOO|Chol(GoNum(3200|6400|12800)|Simple)|Add/0.40.*mat.Dense=.*CS'
touch "$2" && file="$(realpath "$2")" packages=(.)
[ $# -gt 2 ] || { set -- "$@" "$original" && packages=(mat stat); }
for folder in "${@:3}"; do
	prepare "$folder" false "${packages[@]}"
	for package in "${packages[@]}"; do
		cd "$scratch/module/$package" && "$go" test -c -mod=mod -o "$scratch/test" .
		name="$("$go" list -mod=mod -f '{{.Name}}' .)"
		bench() { # BY PATTERN TIME
			GOMAXPROCS=1 "$scratch/test" -by "$1" -test.run '^$' -test.bench "$2" -test.benchtime "$3" -test.cpu 1 \
				-test.skip "$slow" 2>/dev/null | sed -n "s|^Benchmark\([^ \t]*\)|Benchmark$name/\1/by=$1-1|p" >>"$file"
		}
		for by in {1..9}{gonum,gemm}; do bench "${by:1}" . 5ms; done
		sed -n "s|^Benchmark$name/\(.*\)/by=gonum-1.*|\1|p" "$file" | sort -u | sed -e 's/[][().*+^$]/\\&/g' -e 's|/|$/^|g' |
			while read -r one; do bench none "^Benchmark$one\$" 1x </dev/null || true; done
	done
	cd "$root" && rm -rf "$scratch/module"
done
awk '!($1 in t) || $3 < t[$1] { t[$1] = $3 } END { for (name in t) print name, 1, t[name], "ns/op" }' "$file" |
	sort >"$scratch/least" && cp "$scratch/least" "$file"
