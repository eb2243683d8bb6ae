#!/usr/bin/env bash
# Installs what make build and make lib have built, or removes it; make install and make uninstall
# call it.
#
#   PREFIX=FOLDER [DESTDIR=FOLDER] scripts/install.sh [uninstall]
#
# PREFIX is where the files are used. DESTDIR, for those who make packages, is put in front of it
# where they are written. share/gemm/files lists the files, from which they are removed; then
# folders that the installation made are removed if they are empty. Each file is written under
# another name and then renamed, so that an interrupted installation leaves no part of a file.
set -euo pipefail
export LC_ALL=C # the order of sort
cd "$(dirname "$0")/.."

say() { echo "install: $*" >&2; }
fail() {
	say "$*"
	exit 1
}

[ "$(uname)" = Linux ] || fail "needs Linux; elsewhere, copy bin/gemm to a folder of PATH"
prefix="${PREFIX-/usr/local}"
destdir="${DESTDIR-}"
[[ "$prefix" == /* ]] || fail "PREFIX is \"$prefix\", must be an absolute path, such as $HOME/.local"
[[ "$destdir" == /* || -z "$destdir" ]] || fail "DESTDIR is \"$destdir\", must be an absolute path"
[[ "$prefix$destdir" != *$'\n'* ]] || fail "PREFIX and DESTDIR must not have line breaks"
prefix="$(realpath -ms "$prefix")"
root="$(realpath -ms "$destdir$prefix")"
list=share/gemm/files # relative to root, as the entries of it; a folder ends with /

scratch="$(mktemp -d)"
pending=
trap 'rm -rf "$scratch"; [ -z "$pending" ] || rm -f "$pending"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# writable fails unless files can be put into the nearest folder of root that is there.
writable() {
	local folder="$root"
	while [ ! -e "$folder" ]; do folder="$(dirname "$folder")"; done
	[ -d "$folder" ] || fail "$folder is not a folder"
	[ -w "$folder" ] || fail "$folder cannot be written; use sudo, or choose another PREFIX, such as $HOME/.local"
}

# linker has the dynamic linker find the library, or forget it.
linker() {
	if [ -z "$destdir" ] && [ "$(id -u)" = 0 ]; then ldconfig 2>/dev/null || true; fi
}

# part prints the name under which a file is written.
part() { echo "$(dirname "$1")/.$(basename "$1").part"; }

# remove LIST FILE... removes files of root, and then the empty folders in the file LIST: those in
# others first, root, and those that root is in.
remove() {
	local entry entries="$1"
	shift
	for entry in "$@"; do rm -f "$root/$entry" "$(part "$root/$entry")"; done
	{
		sed -n '/^[^.].*\/$/p' "$entries" | sort -r
		sed -n '/^[.].*\/$/p' "$entries" | awk '{ print length, $0 }' | sort -n | cut -d' ' -f2-
	} | while IFS= read -r entry; do
		rmdir "$(realpath -ms "$root/$entry")" 2>/dev/null || true
	done
}

if [ "${1-}" = uninstall ]; then
	if [ ! -e "$root/$list" ]; then
		say "there is nothing to remove: $root/$list is not there"
		exit 0
	fi
	writable
	cp "$root/$list" "$scratch/old"
	mapfile -t files < <(sed '/\/$/d' "$scratch/old")
	remove "$scratch/old" "${files[@]}"
	linker
	echo "removed from $root: ${#files[@]} files"
	exit
fi

writable

# stage MODE FILE NAME keeps a file to be installed as NAME.
stage() { install -D -m "$1" "$2" "$scratch/new/$3"; }

[ -x bin/gemm ] || fail "there is no bin/gemm; run make build, without sudo"
stage 755 bin/gemm bin/gemm
if [ -x bin/gemm-cuda ]; then stage 755 bin/gemm-cuda bin/gemm-cuda; fi

version="$(sed -n 's/^## v\([0-9.]*\).*/\1/p' CHANGELOG.md | head -n 1)"
if [ -e bin/lib/libgemm.so ]; then
	soname="libgemm.so.$(sed -n 's/^interface=\([0-9]*\).*/\1/p' scripts/lib.sh)"
	stage 755 bin/lib/libgemm.so "lib/libgemm.so.$version"
	ln -s "libgemm.so.$version" "$scratch/new/lib/$soname"
	ln -s "$soname" "$scratch/new/lib/libgemm.so"
	stage 644 lib/gemm.h include/gemm.h
	sed "s/@version@/$version/" lib/gemm.pc.in >"$scratch/gemm.pc"
	stage 644 "$scratch/gemm.pc" lib/pkgconfig/gemm.pc
else
	say "libgemm is left out: it was not built; make lib needs a C compiler"
fi

bin/gemm man >"$scratch/man"
stage 644 "$scratch/man" share/man/man1/gemm.1
# completion SHELL NAME keeps the script of a shell.
completion() {
	bin/gemm completion "$1" >"$scratch/completion"
	stage 644 "$scratch/completion" "$2"
}
completion bash share/bash-completion/completions/gemm
completion zsh share/zsh/site-functions/_gemm
completion fish share/fish/vendor_completions.d/gemm.fish
stage 644 LICENSE share/doc/gemm/LICENSE

# The list, of what an installation before left too until all is in its place.
touch "$scratch/old"
if [ -e "$root/$list" ]; then cp "$root/$list" "$scratch/old"; fi
mkdir -p "$scratch/new/${list%/*}"
{ (cd "$scratch/new" && find . ! -type d -printf '%P\n') && echo "$list"; } | sort >"$scratch/files"
# folders prints those that the files need, and those that root is in.
folders() {
	(cd "$scratch/new" && find . -mindepth 1 -type d -printf '%P/\n')
	local above=./
	while [ "$(realpath -ms "$root/$above")" != / ]; do
		echo "$above"
		above="../${above#./}"
	done
}
folders | while IFS= read -r folder; do
	if [ ! -e "$(realpath -ms "$root/$folder")" ] || grep -qxF "$folder" "$scratch/old"; then echo "$folder"; fi
done >"$scratch/folders"

# put FILE NAME moves a file that was staged to its place.
put() {
	local target="$root/$2"
	mkdir -p "$(dirname "$target")"
	[ ! -d "$target" ] || fail "$target is a folder"
	pending="$(part "$target")"
	rm -f "$pending"
	cp -P --preserve=mode "$1" "$pending"
	mv -fT "$pending" "$target"
	pending=
}
umask 022
cat "$scratch/old" "$scratch/files" "$scratch/folders" | sort -u >"$scratch/list"
put "$scratch/list" "$list"
cd "$scratch/new"
while IFS= read -r file; do
	[ "$file" = "$list" ] || put "$file" "$file"
done <"$scratch/files"
mapfile -t gone < <(sed '/\/$/d' "$scratch/old" | grep -vxFf "$scratch/files" || true)
remove "$scratch/old" "${gone[@]}"
cat "$scratch/files" "$scratch/folders" >"$scratch/list"
put "$scratch/list" "$list"
linker
echo "installed in $root: $(wc -l <"$scratch/files") files"
