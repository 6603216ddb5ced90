package must

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// record is a test that keeps what it is given to say.
type record struct{ errs, ends []string }

func (*record) Helper() {}

func (r *record) Errorf(format string, args ...any) {
	r.errs = append(r.errs, fmt.Sprintf(format, args...))
}

func (r *record) Fatal(args ...any) { r.ends = append(r.ends, fmt.Sprint(args...)) }

func TestMust(t *testing.T) {
	t.Parallel()
	var calm, failed record
	Do(&calm, nil, nil)
	Equal(&calm, "list", []int{1}, []int{1})
	if got := Get(7, nil)(&calm); got != 7 || len(calm.errs)+len(calm.ends) > 0 {
		t.Errorf("without an error: got %d, %+v", got, calm)
	}
	first, second := errors.New("first"), errors.New("second")
	Do(&failed, nil, first, second)
	Get(7, second)(&failed)
	Equal(&failed, "list", []int{1}, []int{2})
	if strings.Join(failed.ends, ", ") != "first\nsecond, second" || len(failed.errs) != 1 || !strings.HasPrefix(failed.errs[0], "list (-got +want):\n") {
		t.Errorf("with errors: got %+v", failed)
	}
}
