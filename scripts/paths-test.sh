#!/usr/bin/env bash
# Follows four paths of CONTRIBUTING.md in a copy of the tree: it adds a serial variant, a rung, an experiment and a table
# of the report in the files that the paths name, and no others, and runs the tests.
set -euo pipefail
cd "$(dirname "$0")/.."
go="${GO:-go}"
copy="$(mktemp -d)"
trap 'rm -rf "$copy"' EXIT
git ls-files -z | tar --null -T - -cf - | tar -xf - -C "$copy"
cd "$copy"
git init -q && git add -A

# added WANT fails unless just these files are new or changed.
added() {
	local is
	is="$(git status --porcelain -uall | sed 's/^.. //;s/.* -> //' | paste -sd' ')"
	[ "$is" = "$1" ] || { echo "paths-test: changed are $is, not $1" >&2; exit 1; }
	git add -A && git -c user.name=a -c user.email=a commit -qm "$1"
}
git -c user.name=a -c user.email=a commit -qm before

cat >serial/toy.go <<-'END'
	package serial

	import "gemm"

	func toyVariant() gemm.Variant {
		v := ikjVariant()
		v.Name, v.Parent, v.Doc, v.Parts, v.Advice = "serial/toy", "serial/ikj", "ikj by another name", nil, nil
		return v
	}
END
cp serial/ikj.txt serial/toy.txt
sed -i '0,/ikjVariant(),/s//&\n\t\ttoyVariant(),/' serial/variants.go
added "serial/variants.go serial/toy.go serial/toy.txt"

for end in cu go txt; do sed 's/Serpentine/Toy/g; s/serpentine/toy/g' "cuda/kernels/f32/serpentine.$end" >"cuda/kernels/f32/toy.$end"; done
sed -i 's/f32\.Serpentine,/&\n\tf32.Toy,/' cuda/kernels/order.go
added "cuda/kernels/order.go cuda/kernels/f32/toy.cu cuda/kernels/f32/toy.go cuda/kernels/f32/toy.txt"

printf 'shapes: [64]\ntypes: [f64]\nladder:\n  - {variants: [serial/toy]}\n  - {never: true}\n' >toy.yaml
"$go" run -buildvcs=false ./cmd/gemm compare --profile toy.yaml --out toy
grep -q 'serial/toy' toy/results.csv
rm -r toy toy.yaml

cat >>compare/report/analysis/answer.go <<-'END'

	// Squared is the square of the speed-up over the textbook loops.
	func (c Champion) Squared() float64 { return c.OverNaive * c.OverNaive }
END
printf 'toy:\n  - {field: Variant, en: Variant, zh: 变体, format: short}\n  - {field: Squared, en: Squared, zh: 平方, format: sig, align: right}\n' \
	>compare/report/chapters/tables/toy.yaml
for lang in en zh; do
	printf '\n{{range .Hosts}}{{with .Main}}{{table "toy" (.Champions .Main)}}{{end}}{{end}}\n' \
		>>"compare/report/chapters/$lang/85-comparison.md"
done
added "compare/report/analysis/answer.go compare/report/chapters/en/85-comparison.md compare/report/chapters/zh/85-comparison.md compare/report/chapters/tables/toy.yaml"
"$go" run -buildvcs=false ./cmd/gemm report --in results/serial.json.gz --format md --out toy
grep -q '| Variant | Squared |' toy/report.md
rm -r toy

"$go" run -buildvcs=false ./cmd/pages # the pages that have all variants
"$go" test -vet=off . ./serial ./cmd/catalog ./cmd/pages ./cuda/... ./compare/... ./cmd/gemm
