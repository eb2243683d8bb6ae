#!/usr/bin/env bash
# Runs every test of the module once, and lists the slowest.
#
#   plain   most packages. Packages of kernels repeat their tests for each instruction set of this processor.
#   raced   packages whose code starts goroutines: under the race detector, in a build without MPI, next to the plain ones
#   both    of these, packages whose tests are too slow for that: plain, and under the race detector with -short
#   ranks   mpi, mpi/comm and what has limits of seconds, after the others, because ranks need the processors
#
# scripts/test.sh mpich (make slow-tests ONLY=mpich) runs instead every test on ranks with MPICH, on fewer numbers of ranks.
# With the argument short, which .ci/run adds, it leaves out four ranks and most faults of ranks.
# MPI=no leaves MPI out; without a C compiler all packages run plain.
set -euo pipefail
cd "$(dirname "$0")/.."

go="${GO:-go}"
module="$("$go" list -m)"
starts='(^|[^[:alnum:]_."])go (func\(|[[:alnum:]_.]+\()|\.Go\(|[ .(]pool\.(New|Run|For)' # what starts goroutines
both="^$module/(internal/peak|shard|lapack|mpi|parallel)\$"
# The first two run the tests named below; other packages have the products of tune and gemmtest; a report and the
# commands have one goroutine; compare/grade would have all reports compiled again (make slow-tests ONLY=race).
never="^$module/(blas|compare/verify|cmd/gemm|compare/report|gemmtest|cmd/tune|compare/grade)\$"
named='^Test(ComplexAllocates|ComplexProducts|Concurrent|OneValue|PlanFromManyGoroutines|SharedVectors|VectorsAllocate|Workers)$'
named+='|^Test(PlantedFaultsFloat|ReferenceIsTheSameOnAnyNumberOfProcessors|WideField)$|^Example'
ranks="^$module/mpi(/comm)?\$"
limited='^TestHungRanks$' # of cmd/gemm: rows with limits of seconds, which other tests would exceed

logs="$(mktemp -d)"
summary() { "$go" run gotest.tools/gotestsum@v1.13.0 "$@"; }
trap 'wait; [ -z "$(ls "$logs")" ] || cat "$logs"/?????? | summary tool slowest --threshold 2s --num 20; rm -rf "$logs"' EXIT
processors="$(getconf _NPROCESSORS_ONLN)" lists=yes
summary --version >/dev/null 2>&1 || { lists=no; echo "test.sh: gotestsum cannot be fetched; the slowest tests are not listed" >&2; }

# tests ARGUMENT... is go test, one more package at a time than there are processors, because some tests wait. make lint
# runs go vet on all packages.
tests() {
	printf '\n== go test %.100s\n' "$*"
	local test=("$go" test -vet=off -timeout 20m -p $((processors + 1)))
	[ "$lists" = yes ] || { "${test[@]}" "$@"; return; }
	summary --format pkgname --format-hide-empty-pkg --hide-summary skipped --jsonfile "$(mktemp "$logs/XXXXXX")" --raw-command -- \
		"${test[@]}" -json "$@"
}

if [ "${1:-}" = mpich ]; then
	[ -n "$(scripts/has.sh mpich)" ] || { echo "test.sh: left out, there is no MPICH; install mpich and libmpich-dev" >&2; exit; }
	eval "export $(MPI=mpich scripts/mpi.sh env)"
	skip='^TestScaLAPACK(Lacking)?$' # the ScaLAPACK here is Open MPI's
	run="^($(sed -n 's/^func \(Test[A-Za-z0-9]*\)(.*/\1/p' cmd/gemm/ranks_test.go | paste -sd'|' -))\$"
	[ "${2:-}" != short ] || skip+='|^TestConformance$/^4$' run='^Test(Ranks|WrongLauncher|KilledRank|InterruptedRanks)$'
	tests -p 1 -tags mpi -short -skip "$skip" ./mpi/comm ./mpi
	tests -tags mpi -run "$run" ./cmd/gemm
	exit
fi

plain="$("$go" list ./...)" tags=()
if [ "$(scripts/mpi.sh)" != no ]; then
	eval "export $(scripts/mpi.sh env)"
	plain="$(grep -vE "$ranks" <<<"$plain")" tags=(-tags mpi)
fi
if command -v "$("$go" env CC)" >/dev/null; then
	# shellcheck disable=SC2016 # a template
	raced="$("$go" list -f '{{$dir := .Dir}}{{range .GoFiles}}{{$dir}}/{{.}}{{"\n"}}{{end}}' ./... |
		xargs grep -lE "$starts" | xargs -n 1 dirname | sort -u | sed "s|^$PWD|$module|" | grep -vE "$never")"
	once="$(grep -vE "$both" <<<"$raced")" twice="$(grep -E "$both" <<<"$raced")"
	[ "$(wc -l <<<"$once")" -gt 7 ] || { echo "test.sh: only ${raced//$'\n'/ } start goroutines?" >&2; exit 1; }
	plain="$(grep -vxFf <(echo "$once") <<<"$plain")"
fi
# shellcheck disable=SC2086 # lists of packages
raced() {
	renice -n 5 -p "${BASHPID:-$$}"
	export CGO_ENABLED=1
	tests -race -p "$processors" $once
	tests -race -p "$processors" -short $twice
	tests -race -p "$processors" -short -run "$named" ./blas ./compare/verify
}
status=0
[ -z "${once:-}" ] || { raced >"$logs/raced" 2>&1 & }
# shellcheck disable=SC2086
tests ${tags[@]+"${tags[@]}"} -parallel $((processors + 1)) -skip "$limited" $plain || status=$?
[ -z "${once:-}" ] || { wait $! || status=$?; cat "$logs/raced"; }
[ "$status" = 0 ] && [ "${#tags[@]}" -gt 0 ] || exit "$status"
tests -tags mpi -run "$limited" ./cmd/gemm
tests -tags mpi ./mpi/comm ./mpi
