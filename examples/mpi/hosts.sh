#!/usr/bin/env bash
# Runs gemm on the hosts of a host file. First comes strong scaling from one rank to all
# slots, one rank a core. Then comes the hybrid run, one rank a host and one thread a
# processor. Arguments after the file are passed to gemm.
#
#   examples/mpi/hosts.sh hosts --sizes 4096
set -euo pipefail

file="${1:?usage: hosts.sh HOSTFILE [ARGUMENT...]}"
shift
records="ranks-hosts.json"
slots="$(awk '
	!/^[ \t]*(#|$)/ { n = 1; for (i = 2; i <= NF; i++) if (sub(/^slots=/, "", $i)) n = $i; all += n }
	END { print all + 0 }' "$file")"

for ((ranks = 1; ranks < 2 * slots; ranks *= 2)); do
	if ((ranks > slots)); then ranks="$slots"; fi
	mpirun --hostfile "$file" -n "$ranks" --map-by node --bind-to none \
		bin/gemm mpi --sizes 2048,8192 --json "$records" --resume "$@"
done
mpirun --hostfile "$file" --map-by ppr:1:node --bind-to none \
	bin/gemm mpi --sizes 2048,8192 --threads 0 --json "$records" --resume "$@"
bin/gemm report --in "$records" --out ranks-hosts
