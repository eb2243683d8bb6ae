//go:build race

package gemmtest

// Raced reports whether the test runs under the race detector.
const Raced = true
