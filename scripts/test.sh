#!/usr/bin/env bash
# Runs every test of the module three times over: plain; under the race
# detector, where there is a C compiler; and with GEMM_CPU set to each
# instruction set that this processor has, for the packages that read it.
set -euo pipefail

go="${GO:-go}"
title() { printf '\n== %s\n' "$*"; }

title "go test ./..."
"$go" test ./...

if [ -n "$(command -v "$("$go" env CC)")" ]; then
	title "go test -race ./..."
	CGO_ENABLED=1 "$go" test -race ./...
else
	title "go test -race left out: it needs a C compiler; install gcc and libc6-dev"
fi

# The packages whose tests depend on internal/cpu, which reads GEMM_CPU.
masked="$("$go" list -test -f '{{if .ForTest}}{{range .Deps}}{{if eq . "gemm/internal/cpu"}}{{$.ForTest}}{{"\n"}}{{end}}{{end}}{{end}}' ./... | sort -u)"
