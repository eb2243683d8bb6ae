//go:build !race

package gemmtest

// Raced says that the test runs under the race detector.
const Raced = false
