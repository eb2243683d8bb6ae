package analysis

import (
	"math"
	"testing"
)

func TestGoalsFailOnNaN(t *testing.T) {
	if v := (Goal{Reached: []Reached{{"here", math.NaN()}}}).Verdict(); v != "missed" {
		t.Errorf("a goal whose figure is not a number is %s", v)
	}
}
