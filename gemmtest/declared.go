package gemmtest

import (
	"context"
	"errors"
	"fmt"

	"gemm"
	"gemm/compare/record"
	"gemm/half"
)

// checkDeclared checks that the multiplier has exactly the optional interfaces that its variant
// declares, and that the Run of a Stager belongs to the variant's location.
func checkDeclared[T gemm.Element](u under[T]) error {
	declared := u.v.Can &^ u.s.Lacks
	switch typ := gemm.TypeOf[T](); {
	case typ.IsField():
		declared &^= gemm.Gemms | gemm.GemmStages | gemm.Batches | gemm.BatchStages
	case typ.IsHalf():
		declared &^= gemm.Chains | gemm.Batches | gemm.BatchStages // which are of f32 and f64
	}
	var errs []error
	want := func(name string, has, want bool) {
		if has != want {
			errs = append(errs, fmt.Errorf("%s: the variant declares %v, its multiplier has %v", name, want, has))
		}
	}
	m := any(u.m)
	gemms, stages := isGemmer(m)
	want("Gemmer", gemms, declared.Has(gemm.Gemms))
	want("Stager", implements[gemm.Stager[T]](m), declared.Has(gemm.Stages))
	want("GemmStager", stages, declared.Has(gemm.GemmStages))
	batches, batchStages := isBatcher(m)
	want("BatchGemmer", batches, declared.Has(gemm.Batches))
	want("BatchStager", batchStages, declared.Has(gemm.BatchStages))
	want("Toucher", implements[gemm.Toucher[T]](m), declared.Has(gemm.Touches))
	want("Explainer", implements[gemm.Explainer](m), declared.Has(gemm.Explains))
	want("Loadable", implements[gemm.Loadable[T]](m), declared.Has(gemm.Loads))
	want("Chainer", implements[gemm.Chainer[T]](m), declared.Has(gemm.Chains))
	want("Warner", implements[record.Warner](m), declared.Has(gemm.Warns))
	if s, ok := m.(gemm.Stager[T]); ok {
		run, err := s.Stage(context.Background(), gemm.NewMatrix[T](2, 3), gemm.NewMatrix[T](2, 4), gemm.NewMatrix[T](4, 3))
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		want("Repeater", implements[gemm.Repeater](run), declared.Has(gemm.Repeats))
		want("Distributed", implements[record.Distributed](run), u.v.Location == gemm.OnRanks)
		want("OnDevice", implements[record.OnDevice](run), u.v.Location == gemm.OnGPU)
		errs = append(errs, run.Close())
	} else {
		want("Repeater", false, declared.Has(gemm.Repeats))
	}
	return errors.Join(errs...)
}

// isGemmer reports whether m computes the full BLAS operation, and whether it stages it.
func isGemmer(m any) (gemms, stages bool) {
	return implements[gemm.Gemmer[float32]](m) || implements[gemm.Gemmer[float64]](m) ||
			implements[gemm.Gemmer[half.F16]](m) || implements[gemm.Gemmer[half.BF16]](m),
		implements[gemm.GemmStager[float32]](m) || implements[gemm.GemmStager[float64]](m) ||
			implements[gemm.GemmStager[half.F16]](m) || implements[gemm.GemmStager[half.BF16]](m)
}

// isBatcher reports whether m computes batches, and whether it stages them.
func isBatcher(m any) (batches, stages bool) {
	return implements[gemm.BatchGemmer[float32]](m) || implements[gemm.BatchGemmer[float64]](m) ||
			implements[gemm.BatchGemmer[half.F16]](m) || implements[gemm.BatchGemmer[half.BF16]](m),
		implements[gemm.BatchStager[float32]](m) || implements[gemm.BatchStager[float64]](m) ||
			implements[gemm.BatchStager[half.F16]](m) || implements[gemm.BatchStager[half.BF16]](m)
}

// implements reports whether x has the interface I.
func implements[I any](x any) bool {
	_, ok := x.(I)
	return ok
}
