// Package account is what the ranks of a product did, as they tell it to the driver and as records
// have it.
package account

import "gemm/compare/note"

// Distributed is implemented by a gemm.Run whose product several processes compute.
type Distributed interface {
	// Distribution returns what they did in the last product.
	Distribution() Distribution
}

// Distribution is what the ranks of a product did.
type Distribution struct {
	Ranks []Rank // by rank
	Used  int    // ranks that computed terms, of their own or of others
	// Counted and Predicted are the same bytes: as the transport counted them, and as the plan of
	// the variant predicts them. Bound is the least number that any algorithm moves. If the
	// operands are on rank 0, they are the bytes that rank 0 sends and receives. Otherwise they are
	// the bytes received by the rank that receives most, without Cannon's skew.
	Counted, Predicted int64
	Bound              float64
	// CountedBetween and PredictedBetween are all bytes that ranks received from other hosts.
	CountedBetween, PredictedBetween int64
	Model                            Model
	Warnings                         []note.Note
}

// Model is the predicted time of a product, in seconds, and the times of its parts: of latencies, of
// bytes and of computation.
type Model struct{ Seconds, Latency, Transfer, Compute float64 }

// Rank is one process of a product.
type Rank struct {
	Rank   int                `json:"rank"`
	Host   string             `json:"host"`
	CPUs   string             `json:"cpus"` // processors that it may run on, such as 0-3
	Phases map[string]float64 `json:"phases_s"`
	// On both paths, and between hosts. plan.Traffic says what is counted.
	Sent        int64 `json:"bytes_sent"`
	Recv        int64 `json:"bytes_recv"`
	SentBetween int64 `json:"bytes_sent_between,omitempty"`
	RecvBetween int64 `json:"bytes_recv_between,omitempty"`
}
