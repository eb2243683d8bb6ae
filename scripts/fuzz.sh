#!/usr/bin/env bash
# Runs every fuzz target of the module for the time given, one after the other.
#
#   scripts/fuzz.sh 30s
set -euo pipefail

go="${GO:-go}"
time="${1:?usage: scripts/fuzz.sh TIME, such as 30s or 2000x}"

# go test -list prints the targets of a package and then "ok", its path and the time.
listing="$("$go" test -list '^Fuzz' ./...)"
targets="$(awk '/^Fuzz/ { names[++n] = $1 } $1 == "ok" { for (i = 1; i <= n; i++) print $2, names[i]; n = 0 }' <<<"$listing")"
if [ -z "$targets" ]; then
	echo "fuzz: there is no fuzz target" >&2
	exit 1
fi
while read -r package target; do
	echo "fuzz: $package $target"
	"$go" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package" </dev/null
done <<<"$targets"
