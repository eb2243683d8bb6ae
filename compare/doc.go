// Package compare plans, runs, verifies and records measurements of matrix
// multiplications. Measure, record and render are three steps: this package does
// the first two and knows nothing of how a report looks; gemm/compare/report
// renders what is recorded here and measures nothing.
package compare
