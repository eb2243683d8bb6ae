package gemm

// Note is a warning or a reason: what a row says besides its figures. Code says what it is, for programs and for
// reports in other languages. Args are its arguments by name. Without a code, only Text says it, in English.
type Note struct {
	Code string         `json:"code,omitempty"`
	Args map[string]any `json:"args,omitempty"`
	Text string         `json:"text"`
}

// String returns the text.
func (n Note) String() string { return n.Text }
