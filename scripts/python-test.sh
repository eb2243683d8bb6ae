#!/usr/bin/env bash
# Checks the Python package: its format and types, and its tests on the wheel that make wheel built.
#
# The tests run in an environment in .cache/python with NumPy of a fixed version. It sees the
# packages of python3, so if PyTorch is installed there, the tests with tensors run too. A test
# that is skipped says what it needs. GEMM_TEST_REQUIRE=torch,cuda makes such a skip a failure.
#
#   OUT=folder scripts/python-test.sh gpu [WHEEL]
#
# checks and measures it on a host with an NVIDIA GPU, PyTorch and cuda-bindings; neither Go nor a network is needed.
# It writes to the folder, as it goes: tests.txt, sgemm.txt and sgemm.json (the table of python -m gemm_suite.sgemm),
# and overhead.txt (a call compared with the time of its kernel).
set -euo pipefail
cd "$(dirname "$0")/.."

wheels=("${2:-}")
[ -n "${wheels[0]}" ] || wheels=(bin/gemm_suite-*.whl)
[ -e "${wheels[0]}" ] || { echo "python-test: there is no ${wheels[0]}; make wheel builds it on a host with Go" >&2; exit 1; }

if [ "${1:-}" = gpu ]; then
	mkdir -p "${OUT:=report}"
	out="$(realpath "$OUT")"
	scratch="$(mktemp -d)"
	trap 'rm -rf "$scratch"' EXIT
	python3 -m pip install -q --disable-pip-version-check --no-index --no-deps --target "$scratch" "${wheels[@]}"
	export PYTHONPATH="$scratch" PYTHONUNBUFFERED=1
	status=0
	(cd python && GEMM_TEST_REQUIRE=torch,cuda python3 -m unittest discover -v -t . -s tests) 2>&1 | tee "$out/tests.txt" || status=1
	python3 python/bench/overhead.py 2>&1 | tee "$out/overhead.txt" || status=1
	(cd "$out" && python3 -m gemm_suite.sgemm --device cuda --json sgemm.json) 2>&1 | tee "$out/sgemm.txt" || status=1
	exit "$status"
fi

environment=.cache/python
python="$environment/bin/python"
[ -e "$environment/done" ] || {
	rm -rf "$environment"
	python3 -m venv --system-site-packages "$environment" >&2 || {
		rm -rf "$environment"
		echo "python-test: python3 has no module venv: install python3-venv" >&2
		exit 1
	}
	touch "$environment/done"
}
"$python" -m pip install -q --disable-pip-version-check -r python/tests/requirements.txt
"$python" -m pip install -q --disable-pip-version-check --no-deps --force-reinstall "${wheels[@]}"
cd python
python="../$python"
"$python" -m ruff check -q .
"$python" -m ruff format -q --check . || { echo "python-test: ruff format is due for python/" >&2; exit 1; }
"$python" -m mypy --no-error-summary
"$python" -m unittest discover -t . -s tests
