#!/usr/bin/env bash
# Measures kernels of a user on a GPU by --bring, and checks their rows: good ones are ok; wrong ones, planted here, say
# what is wrong; and our kernels of the same run are ok.
#
# It needs bin/gemm, bin/gemm-cuda, a GPU and python3, and takes about two minutes. If OUT is set, it
# puts the records and the table in that folder.
set -euo pipefail
cd "$(dirname "$0")/.."
gemm="$PWD/bin/gemm"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

# plant NAME BODY [LINE] writes a kernel whose body begins with the row i and the column j of C.
plant() {
	cat >"$scratch/$1.cu" <<-END
		${3:-}
		extern "C" __global__ void f(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C)
		{
		    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
		    $2
		    if (i >= M || j >= N) return;
		    float sum = 0;
		    for (int p = 0; p < K; p++) sum += A[i * K + p] * B[p * N + j];
		    C[i * N + j] = alpha * sum + beta * C[i * N + j];
		}
	END
}
plant faults 'if (i == 0 && j == 0) ((float *)16)[0] = 1;'
plant hangs 'while (((volatile const float *)A)[0] == ((volatile const float *)A)[0]);'
plant changes-a 'if (i == 3 && j == 2) ((float *)A)[3 * K + 2] = 7;'
plant outside 'if (i == 0 && j == 0) C[M * N] = 7;'
plant unwritten 'if (i == 5 && j == 6) return;'
plant wrong 'if (i == 5 && j == 6) alpha = 2;'
plant prints 'if (i == 0 && j == 0) printf("{\"done\":true}\n");'
plant broken 'int x = undeclared;'
plant large '' '// gemm: --block-dims 64x32'
plant rows 'int t = i; i = j; j = t;' '// gemm: --grid (M+31)/32,(N+31)/32'
sed 's/float/double/g' "$scratch/rows.cu" >"$scratch/double.cu"
"$gemm" new-kernel cuda --out "$scratch/kernel.cu"

brought=()
for name in kernel rows double prints faults hangs changes-a outside unwritten wrong broken large; do
	brought+=(--bring "$scratch/$name.cu")
done
"$gemm" cuda --variants cuda/naive,cuda/smem,cuda/cublas --type f32,f64 --sizes 512,1000x300x77 --time 200ms \
	--timeout 10s --bring examples/bring/smem.cu --bring "$scratch/kernel.cu:absent" "${brought[@]}" \
	--json "$scratch/rows.json" >"$scratch/table.txt" && status=0 || status=$?
cat "$scratch/table.txt"
"$gemm" compare --profile cuda --variants cuda/naive --sizes 512 --type f32 --bring examples/bring/smem.cu --out "$scratch/report" >/dev/null
[ -z "${OUT:-}" ] || cp "$scratch/rows.json" "$scratch/table.txt" "$scratch/report/report.html" "$OUT"
[ "$status" = 1 ] || { echo "bring-gpu: gemm cuda ended with $status, must be 1: rows are wrong" >&2; exit 1; }
grep -q user/smem "$scratch/report/report-appendix.html" || { echo "bring-gpu: the report does not have user/smem" >&2; exit 1; }

python3 - "$scratch/rows.json" <<'END'
import json, sys

good = {"ok": ""}
want = {
    "cuda/naive": good, "cuda/smem": good, "cuda/cublas": good,
    "user/smem": good, "user/kernel": good, "user/rows": good, "user/double": good, "user/prints": good,
    "user/faults": {"error": "the kernel has failed"}, "user/hangs": {"timeout": "time limit"},
    "user/changes-a": {"error": "it changes A: element (3, 2) was"},
    "user/outside": {"error": "it writes outside C, element 1 behind its last one"},
    "user/unwritten": {"error": "it does not write element (5, 6) of C"},
    "user/wrong": {"wrong": ""}, "user/broken": {"error": "broken.cu(5): error"},
    "user/large": {"error": "a block of 64x32x1 has 2048 threads, the GPU permits 1024"},
    "user/absent": {"error": "there is no kernel absent: it has matmul"},
}
rows = json.load(open(sys.argv[1]))["records"]
bad, seen = 0, {}
for r in rows:
    reason = (r.get("reason") or {}).get("text", "")
    seen[r["variant"]] = seen.get(r["variant"], 0) + 1
    expected = want[r["variant"]]
    right = r["status"] in expected and expected[r["status"]] in reason
    right = right and (r["status"] != "ok" or r["gpu"]["regs"] > 0 or r["variant"] == "cuda/cublas")
    bad += not right
    print("as expected" if right else "UNEXPECTED ", r["variant"], r["type"], r["m"], r["n"], r["k"], r["status"], reason)
for name in want:
    if seen.get(name, 0) < 2:
        bad += 1
        print("UNEXPECTED ", name, "has", seen.get(name, 0), "rows, wants one a size")
sys.exit("bring-gpu: %d of %d rows are not as expected" % (bad, len(rows)) if bad else 0)
END
echo "bring-gpu: all is as expected"
