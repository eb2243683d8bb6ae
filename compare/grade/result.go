package grade

import (
	"gemm/compare/record"
	"gemm/internal/note"
)

// Result is the marks of a submission, and why.
type Result struct {
	Submission string    `json:"submission"`         // the name of its folder
	Digest     string    `json:"digest"`             // of its files and of the assignment
	Fault      note.Note `json:"fault,omitzero"`     // why nothing was measured
	Compiler   string    `json:"compiler,omitempty"` // what the compiler printed, shortened
	Marks      []Mark    `json:"marks"`              // in the order of the rubric
	Points     float64   `json:"points"`
	Most       float64   `json:"most"`
	// Rows are of the submission, whose variant is user/SUBMISSION, and, in the same turns, of what it is compared with,
	// from small to large.
	Rows []record.Record `json:"rows"`
}

// Mark is the points of a criterion.
type Mark struct {
	Criterion string  `json:"criterion"`
	Points    float64 `json:"points"`
	Most      float64 `json:"most"` // 0: it is not marked here, see Why
	// Value is the share of shapes that are right, or the ratio of the speeds. Interval holds it, and the ratio of
	// the median speeds with a probability of 95 %; nil: there is none.
	Value    record.Number `json:"value"`
	Interval *[2]float64   `json:"interval,omitempty"`
	// Why says what was wrong, one note for each shape, or why there are no points.
	Why []note.Note `json:"why,omitempty"`
}

// Class is the results of an assignment.
type Class struct {
	Assignment Assignment `json:"assignment"`
	Unconfined []string   `json:"unconfined,omitempty"` // what submissions could do on this host
	Results    []Result   `json:"results"`
}
