#!/usr/bin/env bash
# Changes the path of this module wherever it is written: in go.mod, imports, tests, scripts and
# documents.
#
#   scripts/rename.sh PATH   for example: scripts/rename.sh example.org/me/gemm
#
# The module is called gemm unless it is renamed, and no proxy serves that name: a path that can be
# fetched begins with the name of a host. The present path is read from go.mod, which is changed
# last, so that a run that was interrupted can be repeated. Changes that are not committed stay, and
# files that git does not know are changed too; look at the result with git diff.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
	echo "rename: $*" >&2
	exit "${status:-1}"
}
status=2
[ $# = 1 ] || fail "the new path is missing, such as example.org/me/gemm: scripts/rename.sh PATH"
new="$1"
old="$(awk '$1 == "module" { print $2; exit }' go.mod)"
host='^[a-z0-9]([a-z0-9.-]*[a-z0-9])?\.[a-z0-9]+(/|$)'
[[ "$new" == gemm || "$new" =~ $host ]] ||
	fail "\"$new\" does not begin with the name of a host, as example.org/me/gemm does; only gemm may be without"
[[ ! "$new" =~ /v(0[0-9]*|1)$ ]] || fail "\"$new\": versions 0 and 1 have no part of the path"
[[ "$new" != "$old"/* || "$new" =~ ^"$old"/v[0-9]+$ ]] || fail "\"$new\" is below the present path $old; rename it to gemm first"

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
cp go.mod "$scratch"
said="$(cd "$scratch" && "${GO:-go}" mod edit -module="$new" 2>&1)" || fail "\"$new\" is no path of a module: ${said#go: invalid -module: }"
status=1

# files prints the files that are text of this repository, each followed by a zero byte.
files() {
	if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
		git ls-files -z --cached --others --exclude-standard
	else
		find . -type f ! -path './bin/*' -print0
	fi
}

# A path is followed by a folder with Go files at the top, or stands where Go has a module.
dirs="$(find . -mindepth 2 -name '*.go' ! -path './.*' | cut -d/ -f2 | sort -u | paste -sd'|')"
path="${old//./\\.}"
inside="s#(^|[^A-Za-z0-9_./~-])$path/($dirs)(\$|[^A-Za-z0-9_-])#\1$new/\2\3#g"
cat >"$scratch/edit" <<END
$inside
$inside
s#^([[:space:]]*(import )?([A-Za-z0-9_.]+ )?)"$path"\$#\1"$new"#
s#^(const module = )"$path"#\1"$new"#
s#^( *(require|replace)) $path( |\$)#\1 $new\3#
s#^( +- )$path\$#\1$new#
s#([Ii]mport )\`$path\`#\1\`$new\`#
END
mapfile -d '' matching < <(files | xargs -0 grep -lsIZE \
	"(^|[^A-Za-z0-9_./~-])$path(/($dirs)(\$|[^A-Za-z0-9_-])|\"?\$| )" | grep -zvE '^(\./)?(go\.mod|results/.*)$')
sed -E -i --follow-symlinks -f "$scratch/edit" "${matching[@]}"
"${GO:-go}" mod edit -module="$new"
echo "$old is now $new"
