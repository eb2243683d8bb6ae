#!/usr/bin/env bash
# Runs the checks of libgemm in C with detectors of data races: Go's for the part in Go, ThreadSanitizer
# for the part in C. 64 threads call at the same time; processes fork. go test ./lib runs the same checks
# without detectors.
set -euo pipefail
cd "$(dirname "$0")/.."

go="${GO:-go}"
cc="$("$go" env CC)"
if ! command -v "$cc" >/dev/null; then
	echo "lib-test: there is no C compiler ($cc); install gcc and libc6-dev" >&2
	exit 1
fi
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

# checks PROGRAM... runs all checks except signals and errors.
checks() {
	local check
	for check in "threads 64 20" "random 1 200" "fork 1 50"; do
		echo "check $check"
		# shellcheck disable=SC2086 # arguments
		timeout 300 "$@" $check
	done
}

# The detector of Go has no room for the data of a shared library, so the library is linked statically.
echo "== the race detector of Go"
CGO_ENABLED=1 "$go" build -race -buildvcs=false -buildmode=c-archive -o "$scratch/libgemm.a" ./lib
"$cc" -g -O2 -no-pie -Ilib lib/testdata/check.c "$scratch/libgemm.a" -o "$scratch/raced" -lpthread -lm
checks "$scratch/raced"

echo "== ThreadSanitizer"
sanitize="-g -O2 -fsanitize=thread"
CGO_CFLAGS="$sanitize" CGO_LDFLAGS=-fsanitize=thread scripts/lib.sh "$scratch/libgemm.so" -buildvcs=false
# shellcheck disable=SC2086 # a list of options
"$cc" $sanitize -Ilib lib/testdata/check.c -o "$scratch/sanitized" -L"$scratch" -lgemm -lpthread -lm "-Wl,-rpath,$scratch"
# Its memory has fixed places, which may be taken where addresses are random.
fixed=()
if setarch -R true 2>/dev/null; then fixed=(setarch -R); fi
checks "${fixed[@]}" "$scratch/sanitized"
