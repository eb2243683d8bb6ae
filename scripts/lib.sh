#!/usr/bin/env bash
# Builds libgemm, the library of lib/, and prints nothing but errors.
#
#   scripts/lib.sh FILE [FLAG]...   builds FILE, with further flags of go build, such as -race
#
# The library exports the names of lib/exports.map only. It needs a C compiler. A link next to FILE has
# the name that programs look for, FILE with the number of the interface.
set -euo pipefail
mkdir -p "$(dirname "$1")"
out="$(cd "$(dirname "$1")" && pwd)/$(basename "$1")" # macOS has no realpath -m
shift
cd "$(dirname "$0")/.."

go="${GO:-go}"
if ! command -v "$("$go" env CC)" >/dev/null; then
	echo "lib: there is no C compiler ($("$go" env CC)); install gcc and libc6-dev" >&2
	exit 1
fi
# A library holds no descriptors: lib/_runtime has a poller without any. Go refuses to replace files below its cache
# of modules, where it keeps toolchains that it has downloaded, but not through a link.
overlay="$(mktemp)"
trap 'rm -f "$overlay"' EXIT
echo '{}' >"$overlay"
if [ "$("$go" env GOOS)" = linux ]; then
	root="$("$go" env GOROOT)"
	case "$root/" in
	"$("$go" env GOMODCACHE)"/*)
		export GOROOT GOTOOLCHAIN=local
		GOROOT="$("$go" env GOCACHE)/gemm-goroot"
		ln -sfn "$root" "$GOROOT"
		root="$GOROOT" go="$GOROOT/bin/go"
		;;
	esac
	printf '{"Replace": {"%s/src/runtime/netpoll_epoll.go": "%s/lib/_runtime/netpoll_epoll.go"}}\n' "$root" "$PWD" >"$overlay"
fi
interface=0 # another one if programs must be linked again
link=
case "$("$go" env GOOS)" in
linux | *bsd) link="-extldflags '\"-Wl,--version-script=$PWD/lib/exports.map\" -Wl,-soname,libgemm.so.$interface'" ;;
esac
CGO_ENABLED=1 "$go" build -buildmode=c-shared -overlay "$overlay" "$@" -ldflags "-s $link" -o "$out" ./lib
[ -z "$link" ] || ln -sf "$(basename "$out")" "$out.$interface"
rm -f "${out%.*}.h" # what Go exports to the C files; the interface is lib/gemm.h
