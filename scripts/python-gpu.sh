#!/usr/bin/env bash
# Checks and measures the Python package on a host with an NVIDIA GPU, PyTorch and cuda-bindings.
# It needs neither Go nor a network: the wheel is built elsewhere, by make wheel.
#
#   OUT=folder scripts/python-gpu.sh [WHEEL]
#
# writes to the folder, as it goes: tests.txt, sgemm.txt and sgemm.json (the table of
# python -m gemm_suite.sgemm), and overhead.txt (a call compared with the time of its kernel).
set -euo pipefail
cd "$(dirname "$0")/.."
out="${OUT:-report}"
mkdir -p "$out"
out="$(realpath "$out")"
wheels=("${1:-}")
[ -n "${wheels[0]}" ] || wheels=(bin/gemm_suite-*.whl)
[ -e "${wheels[0]}" ] || {
	echo "python-gpu: there is no ${wheels[0]}; make wheel builds it on a host with Go" >&2
	exit 1
}
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
python3 -m pip install -q --disable-pip-version-check --no-index --no-deps --target "$scratch" "${wheels[@]}"
export PYTHONPATH="$scratch" PYTHONUNBUFFERED=1

status=0
run() {
	local file="$1"
	shift
	echo "===== $*"
	"$@" 2>&1 | tee "$out/$file" || status=1
}
(cd python && GEMM_TEST_REQUIRE=torch,cuda python3 -m unittest discover -v -t . -s tests) 2>&1 | tee "$out/tests.txt" || status=1
run overhead.txt python3 python/bench/overhead.py
run sgemm.txt python3 -m gemm_suite.sgemm --device cuda --json "$out/sgemm.json"
exit "$status"
