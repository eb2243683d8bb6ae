package gemm

// Note is a warning or a reason in a record. Code identifies it, for programs and for
// reports in other languages. Args are its arguments by name. Text is the English text; a note without a code has only
// this.
type Note struct {
	Code string         `json:"code,omitempty"`
	Args map[string]any `json:"args,omitempty"`
	Text string         `json:"text"`
}

// String returns the text.
func (n Note) String() string { return n.Text }
