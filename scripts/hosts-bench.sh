#!/usr/bin/env bash
# Measures products over two hosts, made by scripts/hosts.sh, next to the times that the model predicts. It writes
# FOLDER/hosts.json, without a limit of the network, and FOLDER/hosts-1gbit.json, over links of 1 Gbit/s. Each
# host has one rank, so two processors are enough. It needs root, bin/gemm with Open MPI, and a host on which nothing
# else runs.
#
#   scripts/hosts-bench.sh FOLDER   a path from the repository on
set -euo pipefail
cd "$(dirname "$0")/.."

out="${1:?the folder of the records, from the repository on}"
mkdir -p "$out"
variants=mpi/bcast-rows,mpi/scatter-rows,mpi/scatter-blocks,mpi/summa,mpi/srumma,mpi/cannon,mpi/25d
trap 'scripts/hosts.sh down' EXIT

# measure RECORDS [RATE]
measure() {
	local file="$out/$1"
	shift
	scripts/hosts.sh down
	scripts/hosts.sh up 2 "$@"
	scripts/hosts.sh run mpirun -n 2 --map-by ppr:1:node --bind-to none bin/gemm mpi --no-tuned --variants "$variants" \
		--sizes 512,1024,2048 --threads 1 --time 2s --reps 9 --force --json "$file"
}

measure hosts.json
measure hosts-1gbit.json 1gbit
