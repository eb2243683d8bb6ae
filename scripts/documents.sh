#!/usr/bin/env bash
# Runs the shell blocks of the documents as they stand, in a folder for each document that has bin, cuda, examples, results
# and scripts of this one. A block with needs=WORD runs if scripts/has.sh prints the word, and a block that
# several documents have runs once. make build comes first; bin/gemm measures each row for 10 ms only.
set -euo pipefail
cd "$(dirname "$0")/.."
clone="$PWD"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
touch "$scratch/printed"
mpi="$([ -z "$(scripts/has.sh mpi)" ] || echo yes)"

# block DOCUMENT NEED TEXT adds a block to the commands of a document.
block() {
	[ -z "$2" ] || [ -n "$(scripts/has.sh "$2")" ] || return 0
	[ "$2" != numpy ] || python3 -c 'import numpy' 2>/dev/null || return 0 # another Python has it
	[ "$mpi" = yes ] || ! grep -qE 'mpirun|gemm mpi|ranks' <<<"$3" || return 0
	grep -qxF "$(cksum <<<"$3")" "$scratch/printed" && return
	cksum <<<"$3" >>"$scratch/printed"
	echo "$3" >>"$scratch/$1/commands.sh"
}

prepare() {
	local lines line need="" text="" inside=""
	mapfile -t lines <"$1"
	mkdir -p "$scratch/$1/bin" "$scratch/$1/report"
	ln -s "$clone"/{cuda,examples,lib,results,scripts} "$scratch/$1"
	ln -s "$clone"/bin/* "$scratch/$1/bin"
	ln -sf "$scratch/gemm" "$scratch/$1/bin/gemm"
	ln -s "$clone/results/serial.json.gz" "$scratch/$1/report/results.json" # as make report leaves it
	for line in "${lines[@]}"; do
		case "$inside$line" in
		'```sh'*) inside=yes need="${line#'```sh'}" need="${need# needs=}" text="" ;;
		'yes```')
			block "$1" "$need" "$text"
			inside=""
			;;
		yes*) text+="$line"$'\n' ;;
		esac
	done
}

# gemm with what saves time: less time for a row, one type of kernels, which take seconds each to compile and disassemble.
unset GEMM_NVDISASM # one block names it
cat >"$scratch/gemm" <<-END
	#!/usr/bin/env bash
	case "\$* " in
	*" --tiles "*) exit ;;
	"serial "* | "parallel "* | "mpi "*) set -- "\$1" --time 10ms "\${@:2}" ;;
	"cuda --explain "*) set -- "\$@" --type gf256 ;;
	esac
	exec "$clone/bin/gemm" "\$@"
END
chmod +x "$scratch/gemm"

for document in README.md README.zh.md docs/*.md examples/mpi/README.md results/README.md; do
	prepare "$document"
	[ ! -s "$scratch/$document/commands.sh" ] || echo "$scratch/$document"
done >"$scratch/list"
test -s "$scratch/README.md/commands.sh" # its commands were found
# shellcheck disable=SC2016 # most commands use one processor, so documents run at the same time
xargs -n 1 -P "$(getconf _NPROCESSORS_ONLN)" bash -c 'cd "$0"
	bash -eu -c "make() { echo \"not again: make \$*\"; }; set -x; . ./commands.sh" >said 2>&1 || status=$?
	printf "\n%s\n" "$0"; cat said; exit "${status:-0}"' <"$scratch/list"
