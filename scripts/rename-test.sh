#!/usr/bin/env bash
# Renames a copy of this module, checks that every import of it is found, and multiplies in another
# module that imports the copy by its new path. A renamed package has the same name in the source, so
# not all of them need to be compiled, which would take minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

go="${GO:-go}"
path=example.org/me/gemm
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/renamed" "$scratch/user"
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$scratch/renamed"

cd "$scratch/renamed"
scripts/rename.sh "$path"
gofmt -d . >"$scratch/format"
if [ -s "$scratch/format" ]; then
	cat "$scratch/format" >&2
	exit 1
fi
CGO_ENABLED=1 "$go" list -deps -test -tags mpi,cuda ./... >"$scratch/packages"
grep -q "^$path/mpi/comm\$" "$scratch/packages"
if grep '^gemm\(/\|$\)' "$scratch/packages"; then
	echo "rename-test: packages are imported by the old path" >&2
	exit 1
fi
"$go" test -run 'TestLayout|TestImports|TestSignature|TestGoInDocuments|TestDependencies' .

cd "$scratch/user"
cat >main.go <<END
package main

import ("fmt"; "gonum.org/v1/gonum/blas/blas64"; "gonum.org/v1/gonum/mat"; "$path/blas")

func main() {
	blas64.Use(blas.Implementation{})
	var c mat.Dense
	c.Mul(mat.NewDense(1, 2, []float64{1, 2}), mat.NewDense(2, 1, []float64{3, 4}))
	fmt.Println(c.At(0, 0))
}
END
cp "$scratch/renamed/go.sum" .
"$go" mod init user 2>/dev/null
"$go" mod edit -require "$path@v0.0.0" -replace "$path=../renamed"
test "$(GOPROXY=off "$go" run -mod=mod .)" = 11
echo "the module works as $path"
