package gemmtest

import (
	"context"
	"errors"
	"fmt"

	"gemm"
	"gemm/compare/record"
)

// checkDeclared checks that the multiplier has exactly the optional interfaces that its variant
// declares, and that the Run of a Stager belongs to the variant's location.
func checkDeclared[T gemm.Element](u under[T]) error {
	declared := u.v.Can &^ u.s.Lacks
	switch typ := gemm.TypeOf[T](); {
	case typ.IsField():
		declared &^= gemm.Gemms | gemm.GemmStages | gemm.Batches | gemm.BatchStages
	case typ.IsHalf():
		declared &^= gemm.Chains | gemm.Batches | gemm.BatchStages // which f32 and f64 have
	}
	var errs []error
	want := func(name string, has, want bool) {
		if has != want {
			errs = append(errs, fmt.Errorf("%s: the variant declares %v, its multiplier has %v", name, want, has))
		}
	}
	m := any(u.m)
	want("Gemmer", implements[gemm.Gemmer[T]](m), declared.Has(gemm.Gemms))
	want("Stager", implements[gemm.Stager[T]](m), declared.Has(gemm.Stages))
	want("GemmStager", implements[gemm.GemmStager[T]](m), declared.Has(gemm.GemmStages))
	want("BatchGemmer", implements[gemm.BatchGemmer[T]](m), declared.Has(gemm.Batches))
	want("BatchStager", implements[gemm.BatchStager[T]](m), declared.Has(gemm.BatchStages))
	want("Toucher", implements[record.Toucher[T]](m), declared.Has(gemm.Touches))
	want("Explainer", implements[gemm.Explainer](m), declared.Has(gemm.Explains))
	want("Loadable", implements[record.Loadable[T]](m), declared.Has(gemm.Loads))
	want("Chainer", implements[record.Chainer[T]](m), declared.Has(gemm.Chains))
	want("Warner", implements[record.Warner](m), declared.Has(gemm.Warns))
	if s, ok := m.(gemm.Stager[T]); ok {
		run, err := s.Stage(context.Background(), gemm.NewMatrix[T](2, 3), gemm.NewMatrix[T](2, 4), gemm.NewMatrix[T](4, 3))
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		want("Repeater", implements[record.Repeater](run), declared.Has(gemm.Repeats))
		want("Distributed", implements[record.Distributed](run), u.v.Location == gemm.OnRanks)
		want("OnDevice", implements[record.OnDevice](run), u.v.Location == gemm.OnGPU)
		errs = append(errs, run.Close())
	} else {
		want("Repeater", false, declared.Has(gemm.Repeats))
	}
	return errors.Join(errs...)
}

// implements reports whether x has the interface I.
func implements[I any](x any) bool {
	_, ok := x.(I)
	return ok
}
