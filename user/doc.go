// Package user is the kernels of users. A kernel is a function in C, C++ or Fortran that
// multiplies matrices, in a shared library or in a source that is compiled here. It becomes a variant
// user/NAME, which is measured and verified as all others are.
//
// Parse reads what the user asks for. Open compiles sources, finds the functions and loads each library once. So
// mistakes are known before anything is measured. A kernel runs in a process of its own, between guard zones (package
// internal/peer). A fault, such as a crash, costs the row, and the next row has a new process.
package user
