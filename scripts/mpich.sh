#!/usr/bin/env bash
# Builds gemm with MPICH, next to the usual Open MPI, and computes products of mpi/srumma on 3 and 4
# ranks. It uses windows, the part of MPI in which libraries differ most. With these sizes the
# ranks have unequal parts. The script fails if a row is not ok.
#
# Without MPICH (Debian: mpich and libmpich-dev) it prints a message and does nothing, or fails if
# GEMM_TEST_REQUIRE has mpich.
set -euo pipefail
cd "$(dirname "$0")/.."
go="${GO:-go}"

without() {
	echo "mpich.sh: $1; Debian has it in the packages mpich and libmpich-dev" >&2
	case ",${GEMM_TEST_REQUIRE:-}," in *,mpich,*) exit 1 ;; esac
	exit 0
}
pkg-config --exists mpich 2>/dev/null || without "pkg-config finds no mpich"
for mpirun in mpirun.mpich mpiexec.hydra none; do
	if command -v "$mpirun" >/dev/null; then break; fi
done
[ "$mpirun" != none ] || without "there is neither mpirun.mpich nor mpiexec.hydra"

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
# empi asks pkg-config for ompi.
cat >"$scratch/ompi.pc" <<-END
	Name: ompi
	Description: MPICH
	Version: $(pkg-config --modversion mpich)
	Cflags: $(pkg-config --cflags mpich)
	Libs: $(pkg-config --libs mpich)
END
# Go's build cache does not look at what pkg-config says: without the definition it would
# link what was compiled for another MPI.
PKG_CONFIG_PATH="$scratch" CGO_CFLAGS="-g -O2 -DGEMM_MPICH" CGO_ENABLED=1 \
	"$go" build -buildvcs=false -tags mpi -o "$scratch/gemm" ./cmd/gemm

for ranks in 3 4; do
	echo "== $ranks ranks under $("$mpirun" --version | awk '/Version:/ { print $2; exit }')"
	"$mpirun" -n "$ranks" "$scratch/gemm" mpi --variants mpi/srumma --sizes 33,100x7x61 --type f64,f32,gf256 \
		--time 1ms --reps 1 --no-tuned --json "$scratch/$ranks.json" >"$scratch/said" 2>&1 ||
		{ cat "$scratch/said" >&2; exit 1; }
	rows="$(grep -c '"status":' "$scratch/$ranks.json")"
	test "$(grep -c '"status":"ok"' "$scratch/$ranks.json")" = "$rows"
	echo "$rows rows are ok"
done
