#!/usr/bin/env bash
# Measures the comparison of docs/full: serial, parallel, MPI and CUDA on one host. It needs bin/gemm
# with MPI, bin/gemm-cuda, mpirun and a GPU; it needs neither Go nor a network.
#
#   OUT=folder [FROM=results.json] scripts/full.sh [STEP...]
#
# The steps share one record, OUT/full/results.json, which is complete after each row, and is
# compressed after each step. FROM is a record to continue from; so is the one in OUT. Each step ends
# after LIMIT seconds (530), with the rows that it has: run it again for the rest. The estimates are
# for 16 cores and an H100 or H200.
#
#   figures  21 min   figures 15 and 21 to 23 of the 2024 report: run it three times
#   counters  3 min   every rung and cuBLAS at 2048 in f32 and f64, with the counters of NVIDIA's profiler
#   gpu       5 min   every rung and cuBLAS at other sizes, and experiments
#   codes     1 min   Reed–Solomon codes
#   ladder    6 min   every variant in f64, up to 2048; the plain loops at 1024
#   course    4 min   the tables that courses ask for
#   ranks     2 min   all variants on 4 and 16 ranks, with timelines
#   threads   2 min   schedules, chunks and scaling at 512
#
# Steps with folders of their own may run at the same time, on the same processors: their number is part of a host's
# identity. pack joins their records: see results/README.md.
# Without arguments it runs all of them. After each command it prints how many rows have which status.
set -euo pipefail
cd "$(dirname "$0")/.."
out="${OUT:?set OUT to a folder for the record}"
limit="${LIMIT:-530}"
folder="$out/full"
record="$folder/results.json"
status=0

# counts prints how many rows of the record have which status.
counts() {
	[ -e "$record" ] || return 0
	{ grep -o '"status": *"[a-z]*"' "$record" || true; } | sed 's/.*"\([a-z]*\)"$/\1/' | sort | uniq -c |
		awk -v at="$SECONDS" '{ n += $1; line = line ", " $1 " " $2 } END { printf "full: %4d s, %d rows: %s\n", at, n, substr(line, 3) }'
}

# gemm runs bin/gemm with the arguments, until the step's time is over. Ctrl-C reaches it, and ends the script.
gemm() {
	local left=$((until - SECONDS)) ended=0
	[ "$left" -gt 0 ] || return 0
	echo "full: gemm $*" | tee -a "$folder/log.txt"
	timeout --foreground -k 20 -s INT "$left" bin/gemm "$@" >>"$folder/log.txt" 2>&1 || ended=$?
	case "$ended" in
	0) ;;
	124) echo "full: stopped after $limit s: run the step again for the rest" ;;
	130) echo "full: interrupted: run the step again for the rest" >&2 && exit 130 ;;
	*) tail -n 1 "$folder/log.txt" >&2 && status=1 ;;
	esac
	counts
}

# compare adds a profile to the record, and removes the report: it is made of the whole record later.
compare() {
	gemm compare --resume --out "$folder" --profile "$@"
	find "$folder" -mindepth 1 ! -name 'results.json*' ! -name log.txt -delete
}

# The variants that spread the operands.
spread=mpi/p2p-rows-overlap,mpi/grid-blocks,mpi/bcast-rows,mpi/summa,mpi/srumma,mpi/cannon,mpi/25d,reference/scalapack

# serial adds rows of slow loops to the record, with as many samples as the arguments request.
serial() { gemm serial --time 1s --timeout 3m --json "$record" --resume "$@"; }

# step measures what a step is made of.
step() {
	until=$((SECONDS + limit))
	case "$1" in
	figures)
		# Ranks vary: where a product takes less than a second, more samples narrow the intervals.
		compare figures --families mpi --sizes 128,256,512 --reps 15 --time 1s
		compare figures --families mpi
		compare figures --families parallel,reference
		;;
	counters)
		gemm cuda --variants all,cuda/cublas,cuda/cublas-tf32 --type f32,f64 --sizes 2048 --time 100ms --counters \
			--json "$record" --resume
		;;
	gpu) compare cuda --families cuda --sizes 512,1024,2048,4096,4096x4096x1024 ;;
	codes) compare gf256 --families cuda ;;
	ladder)
		# First, since the profile leaves out what takes long, and a row is measured once.
		serial --variants serial/naive,serial/unrolled --sizes 1024 --reps 3
		compare quick --type f64 --np 16
		;;
	course) compare course --families serial,parallel,reference,cuda ;;
	ranks) compare mpi --sizes 1024,2048 --np 4,16 --variants "$spread" ;;
	threads) compare parallel --sizes 512 ;;
	esac
}

all=(figures counters gpu codes ladder course ranks threads)
steps=("$@")
[ "$#" -gt 0 ] || steps=("${all[@]}")
for name in "${steps[@]}"; do
	[[ " ${all[*]} " = *" $name "* ]] || { echo "full: there is no step $name: must be one of ${all[*]}" >&2; exit 2; }
done
mkdir -p "$folder"
[ -z "${FROM:-}" ] || cp "$FROM" "$record"
for name in "${steps[@]}"; do
	echo "full: step $name"
	step "$name"
	gzip -kf "$record"
done
exit "$status"
