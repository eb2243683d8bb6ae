#!/bin/bash
# Measures gemm rs, klauspost/reedsolomon's stream-encoder and par2 on the same files in memory: see cmd/shard-bench,
# whose options it takes. Example:
#
#     scripts/rs-bench.sh -cases 10+4:512,50+20:4096 -rounds 3 -out rs.json
set -e
cd "$(dirname "$0")/.."
programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
peer=$(go list -m -f '{{.Dir}}' github.com/klauspost/reedsolomon)
CGO_ENABLED=0 go build -o "$programs/stream-encoder" "$peer/examples/stream-encoder.go"
CGO_ENABLED=0 go build -buildvcs=true -o "$programs/bench" ./cmd/shard-bench
more=()
if par2=$(command -v par2); then
	more+=(-par2 "$par2")
else
	echo "rs-bench.sh: par2 is not here: apt-get install par2" >&2
fi
if gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -1) && [ -n "$gpu" ]; then
	more+=(-gpu "$gpu")
fi
"$programs/bench" -encoder "$programs/stream-encoder" "${more[@]}" -command "scripts/rs-bench.sh $*" "$@"
