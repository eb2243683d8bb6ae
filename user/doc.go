// Package user is the kernels that users bring: functions in C, C++ or Fortran that multiply
// matrices, in a shared library or in a source that is compiled here. They become variants
// user/NAME, which are measured and verified as all others are.
//
// Parse reads what the user asks for; Open compiles sources, finds the functions and loads each
// library once, so that mistakes are known before anything is measured. A kernel runs in a process of
// its own, between guard zones (package internal/peer): one that crashes, hangs, ends the process,
// writes outside C or changes A or B costs its row, and the next row has a new process.
package user
