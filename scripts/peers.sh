#!/usr/bin/env bash
# Puts libraries to compare with into bin/peers, where bin/gemm finds them.
#
# pip fetches the libraries of scripts/peers.txt and compares each file with its checksum. A complete folder
# of the same list is left alone. If something fails, the folder that was there stays, and the
# script exits with 1. Debian has libxsmm as a static library only: it is linked to a shared one.
set -euo pipefail
cd "$(dirname "$0")/.."

list=scripts/peers.txt
folder=bin/peers

# libxsmm links the shared library if the static one is there. Without a BLAS, it computes small
# products only.
libxsmm() {
	local static
	[ ! -e "$folder/lib/libxsmm.so" ] || return 0
	for static in /usr/lib/libxsmm.a "/usr/lib/$(gcc -print-multiarch 2>/dev/null)/libxsmm.a"; do
		if [ -e "$static" ]; then
			mkdir -p "$folder/lib"
			gcc -shared -o "$folder/lib/libxsmm.so.new" -Wl,--whole-archive "$static" "${static%.a}noblas.a" \
				-Wl,--no-whole-archive -lpthread -lrt -ldl -lm
			mv "$folder/lib/libxsmm.so.new" "$folder/lib/libxsmm.so"
			echo "peers: $folder has libxsmm"
			return 0
		fi
	done
	echo "peers: without libxsmm: libxsmm-dev is not installed" >&2
}

if cmp -s "$list" "$folder/peers.txt"; then
	libxsmm
	echo "peers: $folder is complete"
	exit 0
fi
if ! python3 -m pip --version >/dev/null 2>&1; then
	echo "peers: there is no pip; install python3-pip" >&2
	exit 1
fi
mkdir -p bin
scratch="$(mktemp -d bin/peers.XXXXXX)"
trap 'rm -rf "$scratch"' EXIT
timeout 600 python3 -m pip install --quiet --disable-pip-version-check --no-deps --only-binary=:all: --no-warn-script-location \
	--root-user-action=ignore --require-hashes --prefix "$scratch/prefix" -r "$list"

# pip installs modules below lib, in folders whose names depend on the system.
mkdir -p "$scratch/peers/lib"
if compgen -G "$scratch/prefix/lib/lib*" >/dev/null; then
	mv "$scratch"/prefix/lib/lib* "$scratch/peers/lib"
fi
find "$scratch/prefix" -type d \( -name site-packages -o -name dist-packages \) | while read -r modules; do
	mv "$modules"/* "$scratch/peers"
done
cp "$list" "$scratch/peers"
rm -rf "$folder"
mv "$scratch/peers" "$folder"
libxsmm
echo "peers: $folder has $(grep -o '^[a-z0-9-]*==[0-9.]*' "$list" | paste -sd' ')"
