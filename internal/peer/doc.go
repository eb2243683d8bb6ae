// Package peer runs code of others in processes of its own, so that it can be measured and cannot harm this one. A
// Process answers requests. A Library is a process that holds a shared library; its program is library/main.c, which is
// compiled once and kept in the user's cache folder. A Product is a product that is staged in such a process.
//
// # Fairness
//
// The process measures the time with its own clock, so the time of a short product has no call from Go and no pipe in
// it. It is stopped (SIGSTOP) unless it answers a request: its threads may spin as long as they like in their own time,
// but never while others are measured. A product shorter than 20 ms is computed once before the clock starts, so that
// the cost of the pause is not in the time either.
//
// # Verifying
//
// A library is not trusted. Each call that is timed has operands of its own, and its result is checked in this process:
// the type verifier says how. The times that its process reports are compared with clocks outside of it: the type
// clockCheck.
//
// # Faults
//
// A process that crashes, exits, hangs until the context ends, or answers nonsense costs the request in progress, whose
// error says what happened; the process has then ended. What the library prints goes to standard error, and its last
// line is part of such an error. If the operands are guarded, memory around them is filled with a pattern that is
// compared after every request, and memory further away cannot be accessed; A and B are compared with what they were.
//
// The program that holds a library is two processes. One only waits for the end of the other, and then kills what that
// has started, whatever group or session it is in.
//
// If another user can have written a program, it is not started; the error is a
// output.ErrUntrusted. There are such processes on Linux only.
package peer
