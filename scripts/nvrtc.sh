#!/usr/bin/env bash
# Fetches NVRTC, NVIDIA's compiler of CUDA kernels, into .nvrtc, and prints its path. Set
# GEMM_NVRTC to this path to run tests on a host without the CUDA toolkit.
#
#   scripts/nvrtc.sh [13|11]
#
# One package of NVIDIA's is fetched by pip and compared with its checksum. If that fails, the
# script prints only the reason, to standard error, and exits with 1.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-13}" in
13)
	package=nvidia-cuda-nvrtc==13.0.88
	sum=ad9b6d2ead2435f11cbb6868809d2adeeee302e9bb94bcf0539c7a40d80e8575
	library=nvidia/cu13/lib/libnvrtc.so.13
	;;
11)
	package=nvidia-cuda-nvrtc-cu11==11.8.89
	sum=a8d02f3cba345be56b1ffc3e74d8f61f02bb758dd31b0f20e12277a5a244f756
	library=nvidia/cuda_nvrtc/lib/libnvrtc.so.11.2
	;;
*)
	echo "usage: $0 [13|11]" >&2
	exit 2
	;;
esac

folder="$PWD/.nvrtc/$package"
if [ ! -e "$folder/$library" ]; then
	[ "$(uname -sm)" = "Linux x86_64" ] || {
		echo "nvrtc: the package is for Linux on x86-64" >&2
		exit 1
	}
	mkdir -p .nvrtc
	scratch="$(mktemp -d .nvrtc/new.XXXXXX)"
	trap 'rm -rf "$scratch"' EXIT
	timeout 300 python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary=:all: -d "$scratch" "$package" >&2
	wheel="$(echo "$scratch"/*.whl)"
	sha256sum --quiet -c - <<<"$sum  $wheel" >&2
	python3 -m zipfile -e "$wheel" "$scratch/whole"
	rm -rf "$folder"
	mv "$scratch/whole" "$folder"
fi
echo "$folder/$library"
