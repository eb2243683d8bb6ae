package plan

import "gemm"

// Model returns the prediction of the variant's model, with the artificial load. It returns false
// if the variant has no model or the parameters are wrong.
func (c Case) Model() (gemm.Model, bool) {
	if c.err != nil || c.Variant.Model == nil {
		return gemm.Model{}, false
	}
	// Under a load, parts are computed once to 1+load times, which is 1 + load/2 times on average.
	m := repeated(c.Variant.Model(c.Shape, c.resolved), 1+float64(c.Load())/2, 0)
	if steps := c.Steps(); steps > 0 { // each ends with the addition of n×n matrices
		m = repeated(m, float64(steps), float64(c.N)*float64(c.N))
	}
	return repeated(m, float64(max(1, c.Batch)), 0), true
}

// repeated returns the model of some products after each other, in one workspace. Each is followed by additions of
// elements, which read two and write one.
func repeated(m gemm.Model, times, elements float64) gemm.Model {
	m.Flops, m.Accesses = times*(m.Flops+elements), times*(m.Accesses+3*elements)
	if traffic := m.Traffic; traffic != nil {
		m.Traffic = func(cache, line float64) float64 { return times * (traffic(cache, line) + 3*elements) }
	}
	return m
}

// Bytes returns the size of the operands, of their copies in the verifier, of the operands of the
// check on integers, and of the workspace that the model predicts.
func (c Case) Bytes() float64 { return c.OperandBytes() + c.Workspace() }

// ProductBytes is Bytes for a product that is computed and verified once, without the check on integers.
func (c Case) ProductBytes() float64 { return c.given() + c.Workspace() }

// OperandBytes returns the bytes of the operands, of their copies in the verifier, and of the operands
// of the check on integers. Consecutive cases with the same operands share them.
func (c Case) OperandBytes() float64 {
	if c.Type == "gf256" { // which has no such check
		return c.given()
	}
	return 2 * c.given()
}

// given returns the bytes of the operands and of their copies in the verifier.
func (c Case) given() float64 {
	size := float64(gemm.TypeNamed(c.Type).Size)
	m, n, k := float64(c.M), float64(c.N), float64(c.K)
	rowsA, _ := stored(c.Op[0], c.M, c.K)
	rowsB, _ := stored(c.Op[1], c.K, c.N)
	total := size * (m*float64(c.LDC) + float64(rowsA)*float64(c.LDA) + float64(rowsB)*float64(c.LDB))
	if c.Beta != 0 {
		total += size * m * float64(c.LDC)
	}
	if typ := gemm.TypeNamed(c.Type); typ == gemm.TypeOf[float32]() || typ.IsHalf() || c.Type == "f64" && c.Op != "nn" {
		total += 8 * (m*k + k*n) // the verifier's operands in float64
	}
	if c.Steps() > 0 { // S, Sᵢ and Aᵢ
		total += 3 * size * n * float64(c.LDC)
	}
	return total * float64(max(1, c.Batch))
}

// Workspace returns the bytes of workspace that the variant's model predicts.
func (c Case) Workspace() float64 {
	m, _ := c.Model()
	return float64(gemm.TypeNamed(c.Type).Size) * m.Workspace
}

// Flops returns the operations that the model predicts; without a model, of the classical algorithm.
func (c Case) Flops() float64 {
	if m, ok := c.Model(); ok {
		return m.Flops
	}
	return 2 * c.Terms() * c.Products()
}

// HasTraffic reports whether reports compare rows of c with the memory bandwidth: codes, and
// products whose traffic the model predicts.
func (c Case) HasTraffic() bool {
	m, _ := c.Model()
	return c.Type == "gf256" || m.Traffic != nil
}

// Smaller is the remedy if there is not enough memory for the case.
func (c Case) Smaller() string {
	switch {
	case c.Batch > 1:
		return "choose a smaller size or fewer products of a batch"
	case c.Ranks() > 1:
		return "choose a smaller size or fewer ranks"
	case c.Threads() > 1:
		return "choose a smaller size or fewer threads"
	}
	return "choose a smaller size"
}
