#!/usr/bin/env bash
# Runs every rung of the ladder on the GPU of this host under NVIDIA's compute-sanitizer: memcheck (addresses), racecheck
# (shared memory), synccheck (barriers) and initcheck (memory that is read before it is written), at ragged shapes. The
# exit status is 1 if a tool finds an error or a result is wrong.
#
# scripts/sanitize.sh [DEVICE.TEST]   a test program that was built on another host; without it, it is built here
#
# Kernels are compiled first, by several processes, into the user's cache: the checkers would slow down the compiler.
set -u
program=${1:+$(realpath "$1")}
cd "$(dirname "$0")/.." || exit 1
tools="memcheck racecheck synccheck initcheck"
only=(-test.run '^TestRagged$' -test.count 1 -test.v)

checker=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
[ -n "$checker" ] || { echo "sanitize: there is no compute-sanitizer: install the CUDA toolkit, or put it on PATH" >&2; exit 1; }
out=$(mktemp -d) || exit 1
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$out"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if [ -z "$program" ]; then
	program=$out/device.test
	flags=$(CUDA=yes scripts/cuda.sh) || exit 1
	eval "$flags ${GO:-go} test -c -tags cuda -o '$program' ./cuda/device" || exit 1
fi
export GEMM_TEST_REQUIRE=cuda

# The settings of a rung are counted from 0; no rung has more than a dozen.
for setting in $(seq 0 11); do
	GEMM_TEST_SETTING=$setting "$program" "${only[@]}" >"$out/plain$setting" 2>&1 &
	pids[setting]=$!
done
bad=0
for setting in $(seq 0 11); do
	wait "${pids[setting]}" || { cat "$out/plain$setting" >&2; bad=1; }
done
[ $bad = 0 ] || { echo "sanitize: a rung is wrong without a checker already" >&2; exit 1; }

begin=$SECONDS
echo "compiled and right without a checker, $begin s"
for tool in $tools; do
	# Copies between host and GPU take what lies between the rows with them, which nothing has written.
	more=()
	[ "$tool" != initcheck ] || more=(--check-api-memory-access no)
	("$checker" --tool "$tool" "${more[@]}" --error-exitcode 9 "$program" "${only[@]}" >"$out/$tool" 2>&1
		echo $? $SECONDS >"$out/$tool.status") &
done
wait
for tool in $tools; do
	read -r status ended <"$out/$tool.status"
	summary=$(grep -E 'SUMMARY' "$out/$tool" | tail -1)
	echo "$tool, $((ended - begin)) s: ${summary#========= }"
	[ "$status" = 0 ] || {
		# What is found, under the name of its test.
		awk '/^=== RUN/ { test = $0; next } /^=========|_test.go/ { if (test) print test; test = ""; print }' "$out/$tool" |
			head -100 >&2
		bad=1
	}
done
exit $bad
