#!/usr/bin/env bash
# Starts Slurm on the hosts of scripts/hosts.sh, which it starts too unless they are there, and
# submits the scripts of examples/mpi to it.
#
#   scripts/slurm.sh up                a controller and a daemon on each host; two hosts by default
#   scripts/slurm.sh run COMMAND…      runs a command on the first host: sbatch, srun, squeue, sinfo
#   scripts/slurm.sh test [ARGUMENT…]  submits each script with these arguments of gemm, and checks that
#                                      every row is ok, that two hosts computed, and that there is a
#                                      report; make build comes first; Slurm is started for it, and
#                                      ended, if it is not there
#   scripts/slurm.sh down              ends Slurm with the hosts
#
# It needs what scripts/hosts.sh needs, and Slurm (Debian: slurm-wlm, munge). Without them up ends
# with status 3 and the reason; test does nothing, or fails if GEMM_TEST_REQUIRE has hosts.
# GEMM_HOSTS is the folder of the hosts; Slurm's files are in
# its sub-folder slurm, and the jobs and their records in slurm/jobs.
set -euo pipefail
cd "$(dirname "$0")/.."

folder="${GEMM_HOSTS:-/run/gemm-hosts}"
[[ "$folder" == /* ]] || folder="$PWD/$folder"
slurm="$folder/slurm"
export GEMM_HOSTS="$folder"

fail() { echo "slurm.sh: $1" >&2; exit 1; }
usage() { sed -n '5,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }

# here HOST COMMAND… runs a command there with Slurm's environment. mpirun takes its hosts
# and its daemons from Slurm, not from the files of scripts/hosts.sh.
here() {
	local host="$1"
	shift
	scripts/hosts.sh on "$host" env -u OMPI_MCA_orte_default_hostfile -u OMPI_MCA_plm -u OMPI_MCA_plm_rsh_agent \
		-u PRTE_MCA_prte_default_hostfile SLURM_CONF="$slurm/slurm.conf" "$@"
}

# write_conf N writes the configuration of N hosts.
#
#   proctrack/linuxproc, task/none   control groups need not be there
#   %n in SlurmdSpoolDir and TmpFS   the daemons share a file system, and may not share the folder of PMIx
#   config_overrides                 a host has 4 processors, whatever this system has
write_conf() {
	cat >"$slurm/slurm.conf" <<-END
		ClusterName=gemm
		SlurmctldHost=host1(10.213.77.1)
		SlurmUser=root
		AuthType=auth/munge
		AuthInfo=socket=$slurm/munge.socket
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		MpiDefault=none
		SelectType=select/cons_tres
		SelectTypeParameters=CR_CPU
		SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
		ReturnToService=2
		StateSaveLocation=$slurm/state
		SlurmdSpoolDir=$slurm/spool.%n
		TmpFS=$slurm/tmp.%n
		SlurmctldPidFile=$slurm/slurmctld.pid
		SlurmdPidFile=$slurm/slurmd.%n.pid
		SlurmctldLogFile=$slurm/slurmctld.log
		SlurmdLogFile=$slurm/slurmd.%n.log
		SlurmdParameters=config_overrides
		NodeName=host[1-$1] NodeAddr=10.213.77.[1-$1] CPUs=4 State=UNKNOWN
		PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
	END
}

# wait_for SECONDS WHAT COMMAND… waits until the command succeeds.
wait_for() {
	local end=$((SECONDS + $1)) what="$2"
	shift 2
	until "$@" 2>/dev/null; do
		[ "$SECONDS" -lt "$end" ] || fail "$what; see the logs in $slurm"
		sleep 0.2
	done
}

idle() { [ "$(here 1 sinfo -h -N -o %t | grep -cx idle)" = "$1" ]; }

# possible ends the script unless there can be hosts with Slurm.
possible() {
	local program
	scripts/hosts.sh possible
	for program in munged slurmctld slurmd sbatch; do
		command -v "$program" >/dev/null || { echo "slurm.sh: there is no $program: install slurm-wlm and munge" >&2; exit 3; }
	done
}

up() {
	local host n
	possible
	scripts/hosts.sh status >/dev/null 2>&1 || scripts/hosts.sh up 2
	[ ! -e "$slurm" ] || fail "Slurm is there; scripts/slurm.sh down first"
	n="$(grep -c slots= "$folder/hostfile")"
	mkdir -p "$slurm"/{state,jobs}
	for ((host = 1; host <= n; host++)); do mkdir "$slurm"/{spool,tmp}."host$host"; done
	write_conf "$n"
	# One daemon of munge serves all hosts: they share the file system in which its socket is.
	(umask 077 && head -c 128 /dev/urandom >"$slurm/munge.key")
	# The daemons close their standard output themselves.
	scripts/hosts.sh on 1 munged --force --socket="$slurm/munge.socket" --key-file="$slurm/munge.key" \
		--pid-file="$slurm/munged.pid" --log-file="$slurm/munged.log" --seed-file="$slurm/munge.seed" >/dev/null 2>&1
	here 1 slurmctld >/dev/null
	for ((host = 1; host <= n; host++)); do here "$host" slurmd >/dev/null; done
	wait_for 60 "the hosts are not idle" idle "$n"
	here 1 sinfo >&2
	echo "Submit jobs by: scripts/slurm.sh run sbatch …" >&2
}

# state JOB prints the state of a job, also after it.
state() { here 1 squeue -h -t all -j "$1" -o %T; }
over() { [[ "$(state "$1")" =~ COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL ]]; }

# check SCRIPT JOB waits for a job, and checks what it left.
check() {
	local out="$slurm/jobs/$2.out" records="$slurm/jobs/ranks-$2.json" rows host
	wait_for 300 "$1 does not end" over "$2"
	[ "$(state "$2")" = COMPLETED ] || { cat "$out" >&2; fail "$1: $(state "$2")"; }
	rows="$(grep -c '"status":' "$records")"
	[ "$(grep -c '"status":"ok"' "$records")" = "$rows" ] || { cat "$out" >&2; fail "$1: not all of $rows rows are ok"; }
	for host in host1 host2; do
		grep -q "\"host\":\"$host\"" "$records" || fail "$1: $host did not compute"
	done
	grep -q mpi/ "$slurm/jobs/ranks-$2/report.html" || fail "$1: there is no report of the rows"
	echo "$1: $rows rows are ok on two hosts; the report is $slurm/jobs/ranks-$2/report.html"
}

run_test() {
	local script job submitted=()
	if ! (possible); then
		case ",${GEMM_TEST_REQUIRE:-}," in *,hosts,*) exit 1 ;; esac
		echo "slurm.sh: left out" >&2
		return
	fi
	[ -x bin/gemm ] || fail "there is no bin/gemm: make build"
	if [ ! -e "$slurm" ]; then
		[ ! -e "$folder" ] || fail "there are hosts without Slurm: scripts/slurm.sh up adds it"
		trap 'scripts/hosts.sh down' EXIT
		up 2>"/dev/null"
	fi
	[ $# -gt 0 ] || set -- --variants mpi/summa --sizes 64 --time 20ms --reps 3
	ln -sfn "$PWD/bin" "$slurm/jobs/bin"
	# Jobs run at the same time. In one folder, what Open MPI removes after one job another is about to use.
	for script in examples/mpi/*run*.sbatch; do # without the one for a GPU
		mkdir "$slurm/jobs/tmp.$(basename "$script")"
		job="$(here 1 env TMPDIR="$slurm/jobs/tmp.$(basename "$script")" sbatch --parsable --chdir="$slurm/jobs" --output="$slurm/jobs/%j.out" \
			--ntasks-per-node=2 --cpus-per-task=1 "$script" "$@")"
		submitted+=("$script $job")
	done
	for script in "${submitted[@]}"; do
		# shellcheck disable=SC2086 # the script and the job
		check $script
	done
}

command="${1:-}"
[ $# -eq 0 ] || shift
case "$command" in
up) up ;;
run) here 1 "$@" ;;
test) run_test "$@" ;;
down) scripts/hosts.sh down ;;
*) usage ;;
esac
