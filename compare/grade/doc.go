// Package grade marks the submissions of an assignment: kernels that students wrote. Each one is compiled and measured
// in confined processes, verified and marked by the rubric of the assignment.
package grade
