#!/usr/bin/env bash
# Prints what a reviewer should look at in texts. These are sentences of more than 25
# words, lines of more than 120 columns, and phrases to avoid. It is a help, not a gate:
# it always exits with 0.
#
#   scripts/words.sh [FILE...]
#
# Of Markdown it reads the prose, of Go, CUDA and shell files the comments, of others
# every line. Without arguments it reads the documents, except the pages that make docs
# renders.
set -euo pipefail
export LC_ALL=C # awk then reads bytes, in all of its versions
cd "$(dirname "$0")/.."

if [ $# = 0 ]; then
	mapfile -t documents < <(git ls-files --cached --others --exclude-standard '*.md' | sort -u |
		grep -v -e 'docs/.*/report' -e testdata -e internal/pages/texts)
	set -- "${documents[@]}"
fi

# One word or phrase a line; what to write instead follows in parentheses.
phrases='that of (name the noun again)
those of (name the noun again)
that whose (name the noun again)
beside (compared with, next to)
held against (compared with)
holds against (compared with)
so many (n)
as long again (1.5×)
half as long (a factor)
where it may (if permitted)
where it can (if it can)
where they may (if permitted)
has the other begin (wakes the second worker)
in turn (interleaved A B A B)
goes through (streams, reads)
gone through (streams, reads)
is asked for (is requested)
are asked for (are requested)
threads who (which)
workers who (which)
ranks who (which)
whoever (the user)'

for file in "$@"; do
	[ -f "$file" ] || {
		echo "words: $file is not there" >&2
		continue
	}
	case "$file" in
	*.md) kind=markdown ;;
	*.go | *.cu) kind=slashes ;;
	*.sh | *.sbatch | */run | Makefile) kind=hashes ;;
	*) kind=text ;;
	esac
	awk -v file="$file" -v kind="$kind" -v phrases="$phrases" -v most=25 -v wide=120 '
		BEGIN {
			n = split(phrases, list, "\n")
			for (i = 1; i <= n; i++) {
				cut = index(list[i], " (")
				bad[i] = tolower(substr(list[i], 1, cut - 1))
				instead[i] = substr(list[i], cut + 1)
			}
		}
		# end counts the words of the sentences gathered so far.
		function end(   parts, count, i, words, text) {
			text = gathered
			gsub(/`[^`]*`/, "X", text)          # code is one word
			gsub(/\]\([^)]*\)/, "", text)       # targets of links are none
			gsub(/ (e\.g|i\.e|vs|etc|ed|ch)\. /, " X ", text)
			count = split(text, parts, /[.!?]["”)*]*([ \t]+|$)/)
			for (i = 1; i <= count; i++) {
				words = split(parts[i], ignored, /[ \t]+/)
				if (words > most)
					printf "%s:%d: %d words: %s\n", file, began, words, substr(parts[i], 1, 90)
			}
			gathered = ""
		}
		function add(line) {
			sub(/^[ \t]+/, "", line)
			if (gathered == "") began = FNR
			gathered = gathered (gathered == "" ? "" : " ") line
		}
		function look(line,   low, i) {
			low = " " tolower(line) " "
			gsub(/`[^`]*`/, "", low)
			gsub(/[^a-z0-9'"'"' -]/, " ", low)
			for (i = 1; i <= n; i++)
				if (index(low, " " bad[i] " "))
					printf "%s:%d: “%s” %s\n", file, FNR, bad[i], instead[i]
		}
		{
			line = $0
			gsub(/[\200-\277]/, "", line) # a character has one byte that is not of these
			columns = length(line)
			long = columns > wide
		}
		kind == "markdown" {
			if (/^```/) { fenced = !fenced; end(); next }
			if (fenced || /^    / && gathered == "") next
			if (/^\|/) { end(); look($0); next }
			if (long && !/\]\(/) printf "%s:%d: %d columns\n", file, FNR, columns
			if (/^[ \t]*$/ || /^#/ || /^<!--/ || /^!\[/) { end(); next }
			line = $0
			if (match(line, /^[ \t]*([-*]|[0-9]+\.) /)) { end(); line = substr(line, RLENGTH + 1) }
			look(line)
			add(line)
			next
		}
		kind == "slashes" || kind == "hashes" {
			mark = kind == "slashes" ? "^[ \t]*// ?" : "^[ \t]*# ?"
			if (long) printf "%s:%d: %d columns\n", file, FNR, columns
			if ($0 !~ mark || /^#!/) { end(); next }
			line = $0
			sub(mark, "", line)
			if (line ~ /^[ \t]*$/ || line ~ /^[ \t]/) { end(); next } # code, lists and ends of paragraphs
			look(line)
			add(line)
			next
		}
		{
			if (long) printf "%s:%d: %d columns\n", file, FNR, columns
			if (/^[ \t]*$/) { end(); next }
			look($0)
			add($0)
			end()
		}
		END { end() }
	' "$file"
done
