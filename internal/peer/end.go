package peer

// End is the error of a request whose process has ended.
type End struct {
	Status error  // as the system reports it; nil: it ended with status 0
	Said   string // its last line on standard error
}

// Error implements error.
func (e End) Error() string {
	reason := "it closed its output"
	if e.Status != nil {
		reason = e.Status.Error()
	}
	if e.Said != "" {
		reason += ": " + e.Said
	}
	return "the process of the library ended: " + reason
}

// Unwrap returns the status.
func (e End) Unwrap() error { return e.Status }
