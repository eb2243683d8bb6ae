// Package tf32 has the rungs of single precision whose operands are rounded to TF32, for the tensor cores.
package tf32
