#!/usr/bin/env bash
# Measures two hosts with two ranks each, made by scripts/hosts.sh: what the model predicts of their
# messages beside what products take. It writes FOLDER/hosts.json, without a limit of the network, and
# FOLDER/hosts-1gbit.json, over links of 1 Gbit/s. It needs root, bin/gemm with Open MPI, and a host on which
# nothing else runs.
#
#   scripts/hosts-bench.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."

out="$(mkdir -p "${1:?the folder of the records}" && cd "$1" && pwd)"
trap 'scripts/hosts.sh down' EXIT

# measure RECORDS [RATE]
measure() {
	local file="$out/$1"
	shift
	scripts/hosts.sh down
	scripts/hosts.sh up 2 "$@"
	scripts/hosts.sh run mpirun -n 4 --bind-to none bin/gemm mpi --no-tuned --sizes 1024,2048 --threads 1 --time 2s --reps 9 \
		--variants mpi/bcast-rows,mpi/scatter-rows,mpi/scatter-blocks,mpi/summa,mpi/srumma,mpi/cannon,mpi/25d --force --json "$file"
}

measure hosts.json
measure hosts-1gbit.json 1gbit
