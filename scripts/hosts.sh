#!/usr/bin/env bash
# Makes several hosts of this one, to run ranks as on a cluster.
#
#   scripts/hosts.sh up N [RATE]        N hosts on one switch; RATE limits each link, in both
#                                       directions, as tc has it: 1gbit
#   scripts/hosts.sh run COMMAND…       runs a command on the first host, ready for mpirun, for
#                                       mpiexec.hydra, and for Open MPI 5
#   scripts/hosts.sh on HOST COMMAND…   the same on another host: 1, 2, …
#   scripts/hosts.sh env                prints the environment of run as lines for a shell
#   scripts/hosts.sh status             prints the hosts, their processes, and the files for MPI
#   scripts/hosts.sh idle [HOST]        succeeds if nothing runs there
#   scripts/hosts.sh possible           succeeds if hosts can be made here
#   scripts/hosts.sh cut HOST           disconnects a host; mend HOST connects it again
#   scripts/hosts.sh down               ends the hosts with all that runs there
#
# An example, with the same binary on all hosts:
#
#   make build && sudo scripts/hosts.sh up 2 1gbit
#   sudo scripts/hosts.sh run mpirun -n 4 bin/gemm mpi --sizes 1024
#   sudo scripts/hosts.sh down
#
# A host has a network, a name, processes, /etc/hosts and /dev/shm of its own: namespaces of the
# kernel. It shares processors, other files and users with this one, and reaches the other hosts,
# not the internet. The script needs root, ip, tc, nsenter and unshare (Debian: iproute2,
# util-linux). Without them up ends with status 3 and the reason.
#
# GEMM_HOSTS=FOLDER   where the files are; the default is /run/gemm-hosts. Another folder has other hosts,
#                     on a network of their own: it is private, 10.213.77.0/24 in each.
#
# Files in the folder:
#   agent       in place of ssh, as mpirun and mpiexec.hydra call it
#   hostfile    hosts for mpirun --hostfile, with 2 slots each
#   machines    hosts for mpiexec.hydra -f, with 2 ranks each
#   env         what scripts/hosts.sh env prints
set -euo pipefail

folder="${GEMM_HOSTS:-/run/gemm-hosts}"
[[ "$folder" == /* ]] || folder="$PWD/$folder"
network=10.213.77

fail() { echo "hosts.sh: $1" >&2; exit 1; }
usage() { sed -n '4,15s/^# \{0,1\}//p' "$0" >&2; exit 2; }
without() { echo "hosts.sh: $1" >&2; exit 3; }

# possible ends the script unless this host lets it make namespaces.
possible() {
	local program
	[ "$(id -u)" = 0 ] || without "it needs root, to make hosts of namespaces"
	for program in ip tc nsenter unshare; do
		command -v "$program" >/dev/null || without "there is no $program: install iproute2 and util-linux"
	done
	unshare --net --uts --ipc --mount --pid --fork mount -t proc proc /proc 2>/dev/null || without "namespaces are not permitted here"
	unshare --net sh -c 'ip link add switch type bridge && ip link add port1 type veth peer name port2' 2>/dev/null ||
		without "a bridge and virtual interfaces cannot be made here"
}

# holder HOST prints the first process of a host, which holds its namespaces; the switch is host 0. After
# a crash of this system, its number may be another's: its words say that it is ours.
holder() {
	local pid
	pid="$(cat "$folder/$1.pid" 2>/dev/null)" || return 1
	[[ "$({ tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null)" == "gemm-host $folder/$1 "* ]] && echo "$pid"
}

# processes HOST prints the numbers of the other processes there.
processes() {
	local pid starter network
	pid="$(holder "$1")" || return 0
	read -r _ _ _ starter _ <"/proc/$pid/stat"
	network="$(readlink "/proc/$pid/ns/net")"
	network="${network//[^0-9]/}"
	{ find /proc -maxdepth 3 -path '/proc/[0-9]*/ns/net' -lname "*\[$network\]" 2>/dev/null || true; } |
		cut -d/ -f3 | grep -vx -e "$pid" -e "$starter" || true
}

# hosts prints the numbers of the hosts that are there.
hosts() {
	local file host
	for file in "$folder"/*.pid; do
		host="$(basename "$file" .pid)"
		if [ "$host" != 0 ] && holder "$host" >/dev/null; then echo "$host"; fi
	done | sort -n
}

# inside HOST COMMAND… runs a command in the network of a host or of the switch.
inside() {
	local pid
	pid="$(holder "$1")" || fail "there is no host $1; scripts/hosts.sh up starts hosts"
	shift
	nsenter --target "$pid" --net "$@"
}

# all are the namespaces of a host. The UCX of Open MPI and of MPICH assumes one host, and shares memory, where ranks
# share processes or memory of System V.
all=(--net --uts --ipc --mount --pid)

# begin HOST starts the first process of a host, which reaps orphans, and waits for it. The
# processes of the other hosts are children of the first host, where the agent runs.
begin() {
	local inside=()
	[ "$1" -lt 2 ] || inside=(nsenter --target "$(holder 1)" --mount --pid)
	# shellcheck disable=SC2016 # the shell in the namespaces evaluates it
	"${inside[@]}" setsid unshare "${all[@]}" --fork bash -c '
		set -e
		read -r pid _ </proc/self/stat # as the first host sees it
		[ "$2" = 0 ] || hostname "host$2"
		mount -t proc proc /proc
		mount -t tmpfs -o mode=1777 tmpfs /dev/shm
		mount --bind "$1/hosts" /etc/hosts
		ip link set lo up
		echo "$pid" >"$1/$2.seen"
		exec 3<>"$1/never"
		exec -a "gemm-host $1/$2" bash -c "while :; do read -r _ <&3; done"' begin "$folder" "$1" </dev/null >>"$folder/log" 2>&1 &
	local starter=$! words="gemm-host $folder/$1" file
	disown
	until [ -n "$(holder "$1")" ]; do
		kill -0 "$starter" 2>/dev/null || fail "host $1 does not start: $(tail -n 1 "$folder/log")"
		sleep 0.02
		for file in $({ grep -alsz "^$words$" /proc/[0-9]*/cmdline || true; } | cut -d/ -f3); do
			echo "$file" >"$folder/$1.pid"
		done
	done
}

# connect HOST RATE plugs a host into the switch.
connect() {
	local ends end
	ip link add eth0 netns "$(holder "$1")" type veth peer name "port$1" netns "$(holder 0)"
	inside "$1" ip address add "$network.$1/24" dev eth0
	inside "$1" ip link set eth0 up
	inside 0 ip link set "port$1" master switch up
	[ -n "$2" ] || return 0
	# What may pass at once is one segment as TCP hands it to an interface, or the kernel would cut it.
	ends=("$1 eth0" "0 port$1")
	for end in "${ends[@]}"; do
		inside "${end% *}" tc qdisc add dev "${end#* }" root tbf rate "$2" burst 64kb limit 1mb ||
			fail "the rate $2 is not one of tc's, as 1gbit or 100mbit, or this kernel has no tbf"
	done
}

# write_files N writes what MPI needs to start ranks on N hosts.
write_files() {
	local host
	for ((host = 1; host <= $1; host++)); do
		echo "$network.$host slots=2" >>"$folder/hostfile"
		echo "$network.$host:2" >>"$folder/machines"
		echo "$network.$host host$host" >>"$folder/hosts"
	done
	echo "127.0.0.1 localhost" >>"$folder/hosts"

	# As sshd does, enter starts with an empty environment: what a rank needs there, MPI has to pass on.
	cat >"$folder/agent" <<-END
		#!/bin/bash
		# Stands in for ssh: [OPTION…] HOST COMMAND…
		while [[ "\$1" == -* ]]; do
			case "\$1" in -[bcDEeFIiJLlmOopQRSWw]) shift ;; esac
			shift
		done
		host="\${1#*@}" host="\${host#host}" host="\${host##*.}"
		shift
		exec nsenter --target "\$(cat "$folder/\$host.seen")" ${all[*]} setsid \\
			env -i HOME="\$HOME" USER=root LOGNAME=root SHELL=/bin/bash LANG=C.UTF-8 \\
			PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin bash -c "cd; \$*"
	END
	chmod +x "$folder/agent"

	# plm: another launcher, which the environment may name, would start all ranks on the first host.
	# mpi_yield_when_idle: with more ranks than processors a rank that waits would keep the
	# processor from the one that it waits for.
	# Ranks are not bound: the hosts have the same processors, and the first rank of each would get the first one.
	cat >"$folder/env" <<-END
		export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
		export OMPI_MCA_plm=rsh OMPI_MCA_plm_rsh_agent=$folder/agent OMPI_MCA_orte_default_hostfile=$folder/hostfile
		export OMPI_MCA_btl_tcp_if_include=$network.0/24 OMPI_MCA_oob_tcp_if_include=$network.0/24
		export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_rmaps_base_oversubscribe=1
		export OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none
		export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
		export PRTE_MCA_plm_ssh_agent=$folder/agent PRTE_MCA_prte_default_hostfile=$folder/hostfile
		export PRTE_MCA_prte_tmpdir_base=$folder
		export PRTE_MCA_prte_if_include=$network.0/24 PRTE_MCA_rmaps_default_mapping_policy=node:oversubscribe
		export HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC=$folder/agent HYDRA_HOST_FILE=$folder/machines HYDRA_IFACE=eth0
	END
}

up() {
	local n="${1:-}" rate="${2:-}" host
	[[ "$n" =~ ^[1-9][0-9]?$ ]] || usage
	possible
	if [ -n "$(hosts)" ]; then
		status >&2
		[ "$(cat "$folder/made" 2>/dev/null)" = "$n hosts${rate:+, $rate}" ] || fail "these hosts are there: scripts/hosts.sh down first"
		return
	fi
	down
	mkdir -p "$folder"
	mkfifo "$folder/never"
	trap down EXIT
	write_files "$n"
	begin 0
	inside 0 ip link add switch type bridge
	inside 0 ip link set switch up
	for ((host = 1; host <= n; host++)); do
		begin "$host"
		connect "$host" "$rate"
	done
	for ((host = 2; host <= n; host++)); do reach "$host"; done
	trap - EXIT
	echo "$n hosts${rate:+, $rate}" >"$folder/made"
	status >&2
	echo "Run ranks there by: scripts/hosts.sh run mpirun -n $((2 * n)) bin/gemm mpi" >&2
}

# reach HOST waits until a host answers the first one, if only that the port is closed.
reach() {
	local try
	for ((try = 0; try < 100; try++)); do
		if [[ "$(inside 1 timeout 1 bash -c "exec 3<>/dev/tcp/$network.$1/9" 2>&1)" == *refused* ]]; then return; fi
		sleep 0.1
	done
	fail "the first host does not reach host $1"
}

# down also ends what another call has begun.
down() {
	local file pid
	for file in "$folder"/*.pid; do
		# The other processes of a host are killed with its first one.
		pid="$(holder "$(basename "$file" .pid)")" || continue
		kill -KILL "$pid"
		while [ -e "/proc/$pid/ns/net" ]; do sleep 0.02; done
	done
	rm -rf "$folder"
}

# on HOST COMMAND… runs a command on a host, in this folder and with this environment and the
# one for MPI.
on() {
	local pid
	[ $# -ge 2 ] || usage
	pid="$(holder "$1")" || fail "there is no host $1; scripts/hosts.sh up starts hosts"
	shift
	# shellcheck disable=SC1091
	. "$folder/env"
	# shellcheck disable=SC2016 # the shell on the host evaluates it
	# If nsenter is ended, which is the parent of the command, it would not end with it.
	exec nsenter --target "$pid" "${all[@]}" setpriv --pdeathsig TERM sh -c 'cd "$0" && exec "$@"' "$PWD" "$@"
}

status() {
	local host all state
	[ -n "$(hosts)" ] || fail "there are no hosts in $folder; scripts/hosts.sh up starts them"
	echo "$(cat "$folder/made" 2>/dev/null || echo "some hosts") in $folder"
	for host in $(hosts); do
		all="$(processes "$host" | paste -sd,)"
		state="connected"
		inside 0 ip -o link show "port$host" | grep -q ',UP' || state="cut off"
		echo "host$host, $network.$host: $state, $([ -n "$all" ] || echo "no ")processes${all:+:}"
		[ -z "$all" ] || ps -o '    %p %U %a' --no-headers -p "$all" || true
	done
}

command="${1:-}"
[ $# -eq 0 ] || shift
case "$command" in
up) up "$@" ;;
run) on 1 "$@" ;;
on) on "$@" ;;
env) cat "$folder/env" 2>/dev/null || fail "there are no hosts; scripts/hosts.sh up starts them" ;;
status) status ;;
cut) inside 0 ip link set "port${1:?}" down ;;
mend) inside 0 ip link set "port${1:?}" up ;;
idle) [ -z "$(for host in ${1:-$(hosts)}; do processes "$host"; done)" ] ;;
possible) possible ;;
down) down ;;
*) usage ;;
esac
