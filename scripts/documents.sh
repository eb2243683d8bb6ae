#!/usr/bin/env bash
# Runs the shell blocks of the documents as they stand, in a folder for each document that has bin, cuda, examples, results
# and scripts of this one. A block with needs=WORD runs if scripts/has.sh prints the word, and a block that
# several documents have runs once. A document in Chinese shares the folder of its English sibling, and runs the commands
# that this one lacks. make build comes first; bin/gemm measures each row for 10 ms only.
set -euo pipefail
cd "$(dirname "$0")/.."
clone="$PWD"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
touch "$scratch/printed"
mpi="$([ -z "$(scripts/has.sh mpi)" ] || echo yes)"

# block DOCUMENT NEED TEXT adds a block to the commands of a folder, those that it lacks if the document is in Chinese.
block() {
	[ -z "$2" ] || [ -n "$(scripts/has.sh "$2")" ] || return 0
	[ "$2" != numpy ] || python3 -c 'import numpy' 2>/dev/null || return 0 # another Python has it
	[ "$mpi" = yes ] || ! grep -qE 'mpirun|gemm mpi|ranks' <<<"$3" || return 0
	grep -qxF "$(cksum <<<"$3")" "$scratch/printed" && return
	cksum <<<"$3" >>"$scratch/printed"
	local text="${3//$'\\\n'/}" folder="$scratch/${1/.zh/}" # a command a line
	[[ "$1" != *.zh.md ]] || text="$(grep -vxFf "$folder/commands.sh" <<<"$text")" || return 0
	echo "$text" >>"$folder/commands.sh"
}

prepare() {
	local lines line need="" text="" inside=""
	mapfile -t lines <"$1"
	local folder="$scratch/${1/.zh/}"
	if [ ! -e "$folder" ]; then
		mkdir -p "$folder/bin" "$folder/report"
		ln -s "$clone"/{cuda,examples,lib,results,scripts} "$folder"
		ln -s "$clone"/bin/* "$folder/bin"
		ln -sf "$scratch/gemm" "$folder/bin/gemm"
		ln -s "$clone/results/serial.json.gz" "$folder/report/results.json" # as make report leaves it
		touch "$folder/commands.sh"
	fi
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

# gemm with what saves time: less time for a row, one type of kernels, which take seconds each to compile.
cat >"$scratch/gemm" <<-END
	#!/usr/bin/env bash
	case "\$* " in
	*" --tiles "*) exit ;;
	"serial "* | "parallel "* | "mpi "*) set -- "\$1" --time 10ms "\${@:2}" ;;
	"cuda --explain "*) set -- "\$@" --type gf256 ;;
	"grade "*) set -- "\$@" --time 1ms ;;
	esac
	exec "$clone/bin/gemm" "\$@"
END
chmod +x "$scratch/gemm"

for document in README.md README.zh.md docs/*.md examples/mpi/README.md results/README.md; do
	prepare "$document"
done
find "$scratch" -name commands.sh -size +0 -printf '%s %h\n' | sort -rn | cut -d' ' -f2 >"$scratch/list" # the longest first
test -s "$scratch/README.md/commands.sh" # its commands were found
# shellcheck disable=SC2016 # most commands use one processor, so documents run at the same time
xargs -n 1 -P "$(getconf _NPROCESSORS_ONLN)" bash -c 'cd "$0"
	bash -eu -c "make() { echo \"not again: make \$*\"; }; set -x; . ./commands.sh" >said 2>&1 || status=$?
	printf "\n%s\n" "$0"; cat said; exit "${status:-0}"' <"$scratch/list"
