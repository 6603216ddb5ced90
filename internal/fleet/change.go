package fleet

import (
	"fmt"
	"time"
)

// GradeChange is a change that was found in what the sessions of a category are worth: the grades
// from before it are forgotten.
type GradeChange struct {
	Run      RunID  // whose grade it was
	Fire     FireID // that started it; 0: a person did
	Category Category
	At       time.Time
	Was      float64 // the mean grade as it was believed before, in (0,1)
	Became   float64 // and after
}

// String is a sentence without its end.
func (r GradeChange) String() string {
	by := "run by hand"
	if r.Fire != 0 {
		by = fmt.Sprintf("of fire %d", r.Fire)
	}
	return fmt.Sprintf("the grades of %s changed: its mean was believed to be %.3f and has been believed to be %.3f since run %s, %s; what was learnt before is forgotten",
		r.Category, r.Was, r.Became, r.Run, by)
}
