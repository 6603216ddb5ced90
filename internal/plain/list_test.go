package plain_test

import (
	"strconv"
	"testing"

	"stint/internal/plain"
	"stint/internal/testkit/must"
)

func TestLists(t *testing.T) {
	t.Parallel()
	odd := func(n int) bool { return n%2 != 0 }
	must.Equal(t, "each", plain.Each([]int{3, 4, 5}, strconv.Itoa), []string{"3", "4", "5"})
	must.Equal(t, "kept", plain.Kept([]int{3, 4, 5}, odd), []int{3, 5})
	if got, kept := plain.Each([]int{}, strconv.Itoa), plain.Kept([]int{4}, odd); got != nil || kept != nil {
		t.Errorf("got %v and %v, want nil", got, kept)
	}
}
