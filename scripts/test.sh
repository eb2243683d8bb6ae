#!/usr/bin/env bash
# Runs every test of the module once, in the form that finds most faults. Packages whose code
# depends on GEMM_CPU run once more for each instruction set of this processor.
#
#   ranks   mpi and mpi/comm, if MPI is there: after the others, because ranks need the processors
#   raced   packages with goroutines whose tests all run under the race detector: with it, in a
#           build without MPI
#   plain   the others; those that start goroutines, such as parallel, run also under the race
#           detector, with -short
#
# GEMM_TEST_SHORT=yes (make test SHORT=yes) leaves out some tests of cmd/gemm that take long, the conformance suite on 5
# and 9 ranks, the race detector for packages in which tests alone start goroutines or whose goroutines share nothing but
# results, and a build without cgo.
#
# scripts/test.sh mpich (make slow-tests ONLY=mpich) runs instead every test on ranks with MPICH, on fewer numbers of ranks.
# GEMM_TEST_REQUIRE=mpich wants MPICH.
#
# MPI=no leaves MPI out. Without a C compiler there is no race detector, and all run plain. make lint
# runs go vet on all packages, so go test does not. make slow-tests has the slow checks of the pointers
# that ranks pass to C.
set -euo pipefail

go="${GO:-go}"
sets="avx512 avx2 avx2-nogfni ssse3 generic"
chosen="./internal/cpu ./internal/kernel/... ./internal/block ./internal/tuned ./serial ./parallel ./blas"
named="./internal/cpu ./internal/kernel/..." # what differs where the kernels do not
fields="$named ./internal/block ./serial" # what differs where the kernels of the field alone do
module="$("$go" list -m)"
packages_at_a_time=$(($(getconf _NPROCESSORS_ONLN) + 1)) # one more than processors: some tests wait
ranks="^$module/mpi(/comm)?\$"
limited='^TestHungRanks$' # of cmd/gemm: rows with limits of seconds, which other tests would exceed
raced="^$module/(compare|reference)\$" # the plain run would take as long and find nothing else
starts='(^|[^[:alnum:]_."])go (func\(|[[:alnum:]_.]+\()|\.Go\(|\.Parallel\(\)' # what starts a goroutine
# Those whose tests run in parallel and share nothing, or start the program, which has no race detector.
apart="^$module/(cmd/gemm|serial|compare/report)\$"

title() { printf '\n== %s\n' "$*"; }

# with_mpich runs the tests on ranks with MPICH: with -short each at least once, on up to 6 ranks. The ScaLAPACK here is
# Open MPI's.
with_mpich() {
	if ! pkg-config --exists mpich 2>/dev/null || ! command -v mpiexec.hydra >/dev/null; then
		title "MPI=mpich: left out, there is no MPICH; install mpich and libmpich-dev"
		case ",${GEMM_TEST_REQUIRE:-}," in *,mpich,*) exit 1 ;; esac
		return
	fi
	title "MPI=mpich go test -tags mpi ./mpi/comm ./mpi ./cmd/gemm"
	local tests jobs
	eval "export $(MPI=mpich scripts/mpi.sh env)"
	tests="$(mktemp -d)"
	# shellcheck disable=SC2064 # the folder of now
	trap "rm -rf '$tests'" EXIT
	"$go" test -c -vet=off -tags mpi -o "$tests/" ./mpi/comm ./mpi ./cmd/gemm
	jobs="$(sed -n 's/^func \(Test[A-Za-z0-9]*\)(.*/\1/p' cmd/gemm/ranks_test.go | paste -sd'|')"
	# on_ranks FOLDER ARGUMENT... runs the linked tests of a folder.
	on_ranks() {
		local folder="$1" begun="$SECONDS"
		shift
		(cd "$folder" && "$tests/$(basename "$folder").test" -test.timeout=20m "$@")
		echo "$folder: $((SECONDS - begun)) s"
	}
	on_ranks mpi/comm -test.short
	on_ranks mpi -test.short -test.skip='^TestScaLAPACK(Lacking)?$'
	on_ranks cmd/gemm -test.run="^($jobs)\$"
}

# goroutines prints the packages that start goroutines, in their code or in their tests.
goroutines() {
	local package folder
	"$go" list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}' ./... |
		while read -r package folder; do
			if grep -qE "$starts" "$folder"/*.go; then echo "$package"; fi
		done | grep -vE "$apart"
}

if [ "${1:-}" = mpich ]; then with_mpich; exit; fi
if [ -n "${GEMM_TEST_SHORT:-}" ]; then
	raced="^$module/compare\$"
	# Those whose tests alone start goroutines, or whose goroutines share nothing but results. Of mpi, few tests need no ranks.
	apart="$apart|^$module/(blas|compare/verify|internal/(block|cpu|gemmtest)|lib|mpi|mpi/comm|reference|user)\$"
	# Those of blas that start goroutines, or whose products have several workers.
	blas='^Test(ComplexAllocates|ComplexProducts|Concurrent|OneValue|PlanFromManyGoroutines|SharedVectors|VectorsAllocate|Workers)$|^Example'
fi

race=no
if command -v "$("$go" env CC)" >/dev/null; then race=yes; fi
plain="$("$go" list ./...)"
if [ "$race" = yes ]; then plain="$(grep -vE "$raced" <<<"$plain")"; fi
mpi="$(scripts/mpi.sh)"
if [ "$mpi" != no ]; then
	eval "export $(scripts/mpi.sh env)"
	plain="$(grep -vE "$ranks" <<<"$plain")"
	title "go test -tags mpi, of $(wc -l <<<"$plain") packages"
	# shellcheck disable=SC2086 # a list of packages
	CGO_ENABLED=1 "$go" test -vet=off -p "$packages_at_a_time" -timeout 20m -tags mpi -skip "$limited" $plain
	title "go test -tags mpi ./mpi ./mpi/comm, and what has limits of seconds"
	CGO_ENABLED=1 "$go" test -vet=off -tags mpi ./mpi ./mpi/comm
	CGO_ENABLED=1 "$go" test -vet=off -tags mpi -run "$limited" ./cmd/gemm
else
	title "go test, of $(wc -l <<<"$plain") packages"
	# shellcheck disable=SC2086 # a list of packages
	"$go" test -vet=off -p "$packages_at_a_time" -timeout 20m $plain
fi

# What -short leaves out is the same under the race detector and for each choice of kernels.
if [ "$race" = yes ]; then
	mapfile -t concurrent < <(goroutines)
	[ "${#concurrent[@]}" -gt 9 ] || { echo "test.sh: only ${concurrent[*]} start goroutines?" >&2; exit 1; }
	title "go test -race -short, of ${#concurrent[@]} packages"
	# These two take longest, and are begun first.
	CGO_ENABLED=1 "$go" test -vet=off -p "$packages_at_a_time" -race -short ./compare ./parallel "${concurrent[@]}"
	[ -z "${GEMM_TEST_SHORT:-}" ] || CGO_ENABLED=1 "$go" test -vet=off -race -short -run "$blas" ./blas
else
	title "go test -race: left out, it needs a C compiler; install gcc and libc6-dev"
fi

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
pure=(CGO_ENABLED=0) # as on a host without a C compiler; nearly all is compiled again
[ -z "${GEMM_TEST_SHORT:-}" ] || pure=()
env "${pure[@]}" "$go" build -buildvcs=false -o "$scratch/gemm" ./cmd/gemm
# kernels prints the micro-kernels of packed products, in an environment of its arguments.
kernels() { env "$@" "$scratch/gemm" info --json - | grep -o '"kernel": "[^"]*"' | paste -sd' '; }

# The tests are linked once for all sets, into files with the last part of the package's name.
mkdir "$scratch/tests"
# shellcheck disable=SC2086 # a list of patterns
"$go" test -c -vet=off -o "$scratch/tests/" $chosen ./reference

# run_linked SET PATTERNS ARGUMENT... runs the linked tests of the packages for a set of instructions, as many
# packages at a time as there are processors. It prints what fails, and the time of what does not.
run_linked() {
	local set="$1" patterns="$2"
	shift 2
	# shellcheck disable=SC2016,SC2086 # the inner shell expands; a list of patterns
	"$go" list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' $patterns | sed '/^$/d' |
		GEMM_CPU="$set" xargs -P "$(getconf _NPROCESSORS_ONLN)" -I{} bash -c '
			tests="$1" folder="$2"
			shift 2
			cd "$folder"
			if said="$("$tests/$(basename "$folder").test" -test.timeout=10m "$@" 2>&1)"; then
				echo "ok  $(basename "$folder")  $SECONDS s"
			else
				printf "%s\nFAIL  %s\n" "$said" "$folder"
				exit 1
			fi' linked "$scratch/tests" {} "$@"
}

tested=("$(kernels)")
for set in $sets; do
	if ! answer="$(GEMM_CPU="$set" "$scratch/gemm" info 2>&1)" && [[ "$answer" == *"this processor lacks it"* ]]; then
		title "GEMM_CPU=$set: left out, this processor lacks it"
		continue
	fi
	packages="$chosen"
	case "$set" in avx2-nogfni | ssse3) packages="$fields" ;; esac
	choice="$(kernels GEMM_CPU="$set")"
	for other in "${tested[@]}"; do
		if [ "$choice" = "$other" ]; then packages="$named"; fi
	done
	tested+=("$choice")
	title "GEMM_CPU=$set, the short tests of $packages"
	run_linked "$set" "$packages" -test.short
	# Of reference, the codes alone have kernels that GEMM_CPU chooses.
	if [ "$packages" != "$named" ]; then run_linked "$set" ./reference -test.run '^TestReedSolomon'; fi
done
