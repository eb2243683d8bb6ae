package cuda

import (
	"gemm"
)

// choose returns the tile and the parts of k for a product of the shape.
func (r Rung) choose(g GPU, s Shape, a, b, c Operand, p gemm.Params) (Plan, error) {
	tiles, err := r.asked(p)
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{Tile: tiles[0], Split: 1, Depth: s.K}
	if n, ok := p["split"].(int); ok && n > 1 && r.Splits {
		plan.split(s, n)
	}
	return plan, nil
}

// split cuts k into so many parts at most, each a whole number of slices but the last.
func (p *Plan) split(s Shape, parts int) {
	p.Depth = max(1, ceil(ceil(s.K, p.Tile.BK), parts)) * p.Tile.BK
	p.Split = max(1, ceil(s.K, p.Depth))
}
