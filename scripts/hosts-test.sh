#!/usr/bin/env bash
# Runs gemm mpi on two hosts, which are network namespaces of this one, connected by a pair of
# virtual interfaces. It tests products of mpi/srumma over TCP, with and without windows. It also
# tests that all processes end when one host is cut off in the middle of a product.
#
# It needs root, ip, nsenter, unshare and Open MPI (Debian: iproute2, util-linux, openmpi-bin,
# libopenmpi-dev). Without them it prints a message and does nothing, or fails if
# GEMM_TEST_REQUIRE has hosts.
set -euo pipefail
cd "$(dirname "$0")/.."
go="${GO:-go}"

without() {
	echo "hosts-test.sh: $1" >&2
	case ",${GEMM_TEST_REQUIRE:-}," in *,hosts,*) exit 1 ;; esac
	exit 0
}
[ "$(id -u)" = 0 ] || without "it needs root, to make network namespaces"
for program in ip nsenter unshare; do
	command -v "$program" >/dev/null || without "there is no $program: install iproute2 and util-linux"
done
[ "$(scripts/mpi.sh)" = openmpi ] || without "there is no Open MPI to build with"

name="gemm$$"
one="$name-1" two="$name-2" # the hosts
address1=10.213.77.1 address2=10.213.77.2
scratch="$(mktemp -d)"
mkdir "$scratch/tmp"
ends() {
	for host in "$one" "$two"; do
		# Only what runs in the namespaces of this script.
		ip netns pids "$host" 2>/dev/null | xargs -r kill -KILL || true
		ip netns delete "$host" 2>/dev/null || true
	done
	# The ranks of the host that was cut off leave segments, whose names have the host's.
	rm -rf "$scratch" /dev/shm/vader_segment."$one".* /dev/shm/vader_segment."$two".*
}
trap ends EXIT
ip netns add "$one" 2>/dev/null || without "network namespaces are not permitted here"
ip netns add "$two"
ip link add "${name}a" netns "$one" type veth peer name "${name}b" netns "$two"
up() { # HOST INTERFACE ADDRESS
	ip -n "$1" link set lo up
	ip -n "$1" address add "$3/24" dev "$2"
	ip -n "$1" link set "$2" up
}
up "$one" "${name}a" "$address1"
up "$two" "${name}b" "$address2"

# on HOST COMMAND… runs a command there, where the host has a name of its own.
cat >"$scratch/on" <<-'END'
	#!/bin/sh
	host="$1"
	shift
	exec nsenter --net=/var/run/netns/"$host" unshare -u sh -c 'hostname "$0" && exec "$@"' "$host" "$@"
END
# The agent stands in for ssh: mpirun gives it an address and a line for a shell.
cat >"$scratch/agent" <<-END
	#!/bin/sh
	shift
	exec "$scratch/on" "$two" sh -c "\$*"
END
chmod +x "$scratch/on" "$scratch/agent"
cat >"$scratch/hosts" <<-END
	$address1 slots=2
	$address2 slots=2
END
CGO_ENABLED=1 "$go" build -buildvcs=false -tags mpi -o "$scratch/gemm" ./cmd/gemm

export TMPDIR="$scratch/tmp" # of mpirun on both hosts, and of gemm
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_plm_rsh_agent="$scratch/agent" OMPI_MCA_orte_default_hostfile="$scratch/hosts"
export OMPI_MCA_btl_tcp_if_include="$address1/24" OMPI_MCA_oob_tcp_if_include="$address1/24"
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_rmaps_base_oversubscribe=1

# right FILE fails unless all rows are ok and were measured on both hosts.
right() {
	local rows
	rows="$(grep -c '"status":' "$1")"
	test "$(grep -c '"status":"ok"' "$1")" = "$rows"
	grep -q "\"host\":\"$two\"" "$1"
	echo "$rows rows are ok"
}
sizes=(--sizes "33,100x7x61,300" --type "f64,f32,gf256" --time 20ms --reps 3 --no-tuned)

echo "== mpi/srumma over TCP, by messages of the owners of panels"
OMPI_MCA_osc=^ucx,rdma,pt2pt,sm "$scratch/on" "$one" mpirun -n 4 "$scratch/gemm" mpi --variants mpi/srumma "${sizes[@]}" --json "$scratch/sent.json" >"$scratch/said" 2>&1 || { cat "$scratch/said" >&2; exit 1; }
right "$scratch/sent.json"
grep -q '"owners send their panels' "$scratch/sent.json"

for osc in default '^ucx'; do
	echo "== mpi/srumma over TCP, components for windows: $osc"
	set --
	[ "$osc" = default ] || set -- --mca osc "$osc"
	"$scratch/on" "$one" mpirun "$@" -n 4 "$scratch/gemm" mpi --variants mpi/srumma "${sizes[@]}" --json "$scratch/$osc.json" >"$scratch/said" 2>&1 || { cat "$scratch/said" >&2; exit 1; }
	right "$scratch/$osc.json"
	if grep -q '"owners send their panels' "$scratch/$osc.json"; then echo "owners send"; else echo "windows"; fi
done

# How long after its limit the last process may end: the grace of a rank, and what a busy host
# takes to notice.
limit=10 grace=15 slack=20

# ranks HOST prints the ranks there.
ranks() {
	local pid
	for pid in $(ip netns pids "$1"); do
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" != gemm ] || echo "$pid"
	done
}

# until_true SECONDS WHAT COMMAND… waits until the command succeeds.
until_true() {
	local end=$((SECONDS + $1)) what="$2"
	shift 2
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || { echo "not in time: $what" >&2; cat "$scratch/said" >&2; exit 1; }
		sleep 0.2
	done
}

# measuring: rank 0 of the ranks that gemm started has begun with the first case.
measuring() { cat "$scratch"/tmp/gemm-ranks-*/messages 2>/dev/null | grep -q '"now":0'; }
# announced: the ranks that mpirun started have said where they run, and begin to measure.
announced() { grep -q 'gemm mpi: rank 3: ' "$scratch/said"; }
idle() { [ -z "$(ranks "$1")" ]; }
ended() { ! kill -0 "$job" 2>/dev/null; }

# The local variant is slow: the product takes longer than its limit.
slow=(mpi --variants mpi/summa --local serial/naive --sizes 5000 --timeout "${limit}s" --no-tuned)
cut() { ip -n "$one" link set "${name}a" down; cut=$SECONDS; }
# reaches FROM ADDRESS: a host answers from there, if only that nobody listens.
reaches() { [[ "$("$scratch/on" "$1" timeout 1 bash -c "exec 3<>/dev/tcp/$2/9" 2>&1)" == *refused* ]]; }
mend() {
	ip -n "$one" link set "${name}a" up
	ip -n "$one" neighbour flush all
	ip -n "$two" neighbour flush all
	until_true 10 "the first host, from the second" reaches "$two" "$address1"
	until_true 10 "the second host, from the first" reaches "$one" "$address2"
}

echo "== one host is cut off from ranks that gemm started"
"$scratch/on" "$one" "$scratch/gemm" "${slow[@]}" --np 4 --json "$scratch/cut.json" >"$scratch/said" 2>&1 &
job=$!
until_true 60 "the first case" measuring
sleep 2 # into its product
cut
until_true $((limit + grace + slack)) "the end of gemm" ended
echo "gemm ended $((SECONDS - cut)) s after the cut"
until_true $((cut + limit + grace + slack - SECONDS)) "the end of the ranks on the host that was cut off" idle "$two"
echo "the last rank ended $((SECONDS - cut)) s after the cut"
if wait "$job"; then
	echo "a row without its ranks is said to be right" >&2
	exit 1
fi
grep -qE '"status":"(timeout|failed)"' "$scratch/cut.json"
if ip netns pids "$one" | grep .; then
	echo "these processes are left on the first host" >&2
	exit 1
fi
mend

echo "== one host is cut off from ranks that mpirun started"
"$scratch/on" "$one" mpirun -n 4 "$scratch/gemm" "${slow[@]}" >"$scratch/said" 2>&1 &
disown # it waits without end for the host that is cut off, and is killed at the end
until_true 60 "the ranks" announced
sleep 2 # into the product
cut
for host in "$one" "$two"; do
	until_true $((cut + limit + grace + slack - SECONDS)) "the end of the ranks on $host" idle "$host"
done
echo "the last rank ended $((SECONDS - cut)) s after the cut"
