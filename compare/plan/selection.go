package plan

import (
	"cmp"
	"slices"

	"gemm"
)

// Selection selects rows that meet all its conditions. The zero value selects all.
type Selection struct {
	Variants []string `word:"variant"`
	Families []string `word:"family"`
	Roles    []string `word:"role"`
	Classes  []string `word:"class"`
	On       []string `word:"place"`
	Types    []string `word:"type"`
	Shapes   shapes
	Cubes    bool // only products of square matrices
	// Least and Most are of products with at least, and at most, as many terms as square matrices of that size.
	Least, Most int
	Columns     Range // of C
	Threads     Range // busy threads, on all ranks together
	Ranks       Range // 0 if the row is on none
	// Worthwhile: whether the variant computes products of the shape, and the call takes little of their time.
	Worthwhile *bool
}

// Range are numbers from Least to Most. Most 0: there is no limit.
type Range struct{ Least, Most int }

func (r Range) has(n int) bool { return n >= r.Least && (r.Most == 0 || n <= r.Most) }

// roles are the names of the roles, and classes of the classes. The first ones stand for no name.
var (
	roles = []string{"rung", string(gemm.Production), string(gemm.Baseline), string(gemm.Library), string(gemm.UserKernel),
		string(gemm.Program), string(gemm.Study)}
	classes = []string{"plain", string(gemm.Interpreted), string(gemm.Textbook), string(gemm.Tuned), string(gemm.Fast)}
)

// places are where rows are computed: by one process, which has a row of a library; by our threads of one process; on
// ranks; on a GPU; on several together.
var places = []string{"process", "threads", "ranks", "gpu", "gpus"}

// isOn reports whether the case is computed at one of the places.
func (c Case) isOn(place string) bool {
	switch place {
	case "process":
		return c.Variant.Location == gemm.InProcess
	case "threads":
		return onThreads(c.Variant)
	case "ranks":
		return c.Ranks() > 0
	}
	return c.OnDevice() && c.Variant.Has("devices") == (place == "gpus")
}

// Has reports whether the selection has the case.
func (s Selection) Has(c Case) bool {
	among := func(list []string, value string) bool { return list == nil || slices.Contains(list, value) }
	return among(s.Variants, c.Key.Variant) && among(s.Families, c.Variant.Family()) &&
		among(s.Roles, cmp.Or(string(c.Variant.Role), roles[0])) &&
		among(s.Classes, cmp.Or(string(c.Variant.Class), classes[0])) && among(s.Types, c.Type) &&
		(s.On == nil || slices.ContainsFunc(s.On, c.isOn)) &&
		(s.Shapes == nil || slices.Contains(s.Shapes, c.Shape)) && (!s.Cubes || c.IsCube()) &&
		c.Terms() >= gemm.Cube(s.Least).Terms() && (s.Most == 0 || c.Terms() <= gemm.Cube(s.Most).Terms()) &&
		s.Columns.has(c.N) && s.Threads.has(c.Threads()) && s.Ranks.has(c.Ranks()) &&
		(s.Worthwhile == nil || *s.Worthwhile == c.worthwhile())
}

// worthwhile reports whether the variant computes products of the shape, of which the call takes little of the time.
func (c Case) worthwhile() bool {
	return (c.Variant.Accepts == nil || c.Variant.Accepts(c.Shape) == nil) && c.Terms() >= c.Variant.Least
}

// rule decides whether the rows that it selects are measured: all, or the rows of Only, or none.
type rule struct {
	Selection `yaml:",inline"`
	Only      *Selection
	Never     bool
}

// rules decide on a row by the first rule that selects it. They keep a row that none selects.
type rules []rule

func (rs rules) keep(c Case) bool {
	for _, r := range rs {
		if r.Has(c) {
			return !r.Never && (r.Only == nil || r.Only.Has(c))
		}
	}
	return true
}
