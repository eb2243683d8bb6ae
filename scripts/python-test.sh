#!/usr/bin/env bash
# Checks the Python package: its format and types, and its tests on the wheel that make wheel built.
#
# The tests run in an environment in .cache/python with NumPy of a fixed version. It sees the
# packages of python3, so if PyTorch is installed there, the tests with tensors run too. A test
# that is skipped says what it needs. GEMM_TEST_REQUIRE=torch,cuda makes such a skip a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

wheels=(bin/gemm_suite-*.whl)
[ -e "${wheels[0]}" ] || {
	echo "python-test: there is no bin/gemm_suite-*.whl; make wheel builds it" >&2
	exit 1
}
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
"$python" -m ruff format -q --check . || {
	echo "python-test: ruff format is due for python/" >&2
	exit 1
}
"$python" -m mypy --no-error-summary
"$python" -m unittest discover -t . -s tests
