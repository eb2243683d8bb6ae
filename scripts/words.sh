#!/bin/sh
# Prints the comments, help texts, templates and documents that have a phrase of words.txt, which the style
# of this project replaces by a term. The status is 1 if there is one. Usage: words.sh [PATH ...], or words.sh - to
# read names of files from standard input.
# Not read: the changelog, what is made from records, text between `...`, and lines that have the exception
# "(words: REASON)".
set -eu
here=$(cd "$(dirname "$0")" && pwd)
phrases=$(sed '/^#/d; s/	.*//' "$here/words.txt" | paste -sd '|' -)
cd "$here/.."
{ if [ "${1:-}" = - ]; then cat; else git ls-files --cached --others --exclude-standard -- "${@:-.}"; fi; } | grep -vE '^(CHANGELOG\.md|results/|scripts/words\.|docs/(full|peers|serial|parallel|mpi|hosts.*|gf256|.*-results|cuda-h200)/|.*/testdata/)' |
    WORDS="$phrases" perl -ne '
        chomp; my $file = $_;
        my $mark = /\.(go|cu|cuh|c|h|js|avo)$/ ? qr{(?:^|[\s;{}(])//+\s(.*)} : /(\.(sh|py|ya?ml|mk)|Makefile)$/ ? qr{(?:^|\s)#+\s(.*)} : /\.(md|txt|tmpl)$/ ? qr{(.*)} : next;
        my $help = m{^cmd/gemm[^/]*/[^/]*\.go$} && !/_test\.go$/ ? qr{"([^"]* [^"]*)"} : 0;
        open my $in, "<", $file or next;
        while (my $line = <$in>) {
            next if $line =~ /\(words: /;
            for my $rule (grep { $_ } $mark, $help) {
                next unless $line =~ $rule;
                (my $text = $1) =~ s/`[^`]*`|\]\([^)]*\)|--[\w-]+|[\w\/.-]*\/bring\S*//g;
                next unless $text =~ /\b(?:$ENV{WORDS})\b/i;
                print "$file:$.: \"$&\": $line";
                $found = 1;
                last;
            }
        }
        END { exit($found ? 1 : 0) }'
