#!/usr/bin/env bash
# Installs what was built into an empty folder, uses it from another folder, and removes it.
# What the host lacks for a check is named.
set -euo pipefail
cd "$(dirname "$0")/.."

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
export PREFIX="$scratch/a prefix/usr" DESTDIR=
lacks() { echo "install-test: $1 is not installed; $2 is not checked"; }

scripts/install.sh
if (umask 077 && PREFIX=relative scripts/install.sh); then echo "a relative PREFIX was accepted" >&2; exit 1; fi
mkdir "$scratch/elsewhere" "$scratch/links"
clone="$PWD"
cd "$scratch/elsewhere"
unset GEMM_TEST_REQUIRE
export PATH="$PREFIX/bin:$PATH" HOME="$scratch/elsewhere"

gemm serial --variants serial/packed --sizes 64 --time 20ms --json serial.json
grep -q '"status":"ok"' serial.json
ln -s "$PREFIX/bin/gemm" "$scratch/links/gemm"
"$scratch/links/gemm" list --json links.json
gemm list --json path.json
cmp links.json path.json

if command -v man >/dev/null; then
	test "$(MANPATH="$PREFIX/share/man" man -w gemm)" = "$PREFIX/share/man/man1/gemm.1"
	test -z "$(MANPATH="$PREFIX/share/man" MANROFFOPT=-ww man gemm 2>&1 >/dev/null)"
else
	lacks man "the manual page"
fi

# complete_in_bash WORD... prints what bash, which has loaded the completion, makes of the last word.
complete_in_bash() {
	XDG_DATA_DIRS="$PREFIX/share" bash --norc -c '
		if [ -r /usr/share/bash-completion/bash_completion ]; then
			. /usr/share/bash-completion/bash_completion
			_completion_loader gemm || [ $? = 124 ]
		else
			. "$PREFIX/share/bash-completion/completions/gemm"
		fi
		complete -p gemm | grep -q "_gemm gemm"
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		compopt() { :; }
		_gemm && echo "${COMPREPLY[*]}"' bash "$@"
}
[ -r /usr/share/bash-completion/bash_completion ] || lacks bash-completion "the search for the script"
test "$(complete_in_bash gemm serial --variants serial/naive,serial/pac)" = serial/naive,serial/packed
test "$(complete_in_bash gemm comp)" = "compare completion"

if [ -e "$PREFIX/lib/libgemm.so" ] && command -v pkg-config >/dev/null && command -v gcc >/dev/null; then
	export PKG_CONFIG_PATH="$PREFIX/lib/pkgconfig"
	eval "gcc '$clone/examples/lib/product.c' $(pkg-config --cflags --libs gemm) -o product"
	LD_LIBRARY_PATH="$PREFIX/lib" ./product
else
	lacks "libgemm, pkg-config or gcc" "the library"
fi

if [ "$(cd "$clone" && scripts/mpi.sh)" != no ]; then
	mpirun -n 8 gemm mpi --variants mpi/summa --sizes 64 --time 20ms --reps 3 --json mpi.json
	grep -q '"status":"ok"' mpi.json
else
	lacks MPI "gemm mpi"
fi

cd "$clone"
scripts/install.sh uninstall
test ! -e "$scratch/a prefix"

# A package: the files are not where they are used. An installation that was cut off is removed too.
export PREFIX=/opt/gemm DESTDIR="$scratch/package"
scripts/install.sh
touch "$DESTDIR$PREFIX/bin/.gemm.part"
scripts/install.sh uninstall
test ! -e "$DESTDIR"
