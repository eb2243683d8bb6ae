#!/usr/bin/env bash
# Builds libgemm, the library of lib/, and prints nothing but errors.
#
#   scripts/lib.sh FILE [FLAG]...   builds FILE, with further flags of go build, such as -race
#
# The library exports the names of lib/exports.map only. It needs a C compiler. A link next to FILE has
# the name that programs look for, FILE with the number of the interface.
set -euo pipefail
out="$(realpath -m "$1")"
shift
cd "$(dirname "$0")/.."

go="${GO:-go}"
if ! command -v "$("$go" env CC)" >/dev/null; then
	echo "lib: there is no C compiler ($("$go" env CC)); install gcc and libc6-dev" >&2
	exit 1
fi
interface=0 # another one if programs must be linked again
link=
case "$("$go" env GOOS)" in
linux | *bsd) link="-extldflags '\"-Wl,--version-script=$PWD/lib/exports.map\" -Wl,-soname,libgemm.so.$interface'" ;;
esac
mkdir -p "$(dirname "$out")"
CGO_ENABLED=1 "$go" build -buildmode=c-shared "$@" -ldflags "$link" -o "$out" ./lib
[ -z "$link" ] || ln -sf "$(basename "$out")" "$out.$interface"
rm -f "${out%.*}.h" # what Go exports to the C files; the interface is lib/gemm.h
