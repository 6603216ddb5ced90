package survey

import (
	"errors"
	"testing"

	"stint/internal/fleet"
)

// TestOneRun cuts ids to where one, several or none begins so.
func TestOneRun(t *testing.T) {
	t.Parallel()
	runs := []fleet.Run{{ID: "01b2", Category: "code", Task: "fix"}, {ID: "01a2", Category: "docs"}, {ID: "01a"}}
	const all = "01b2 code fix, 01a2 docs, 01a"
	for _, test := range []struct {
		prefix string
		also   []fleet.RunID
		want   fleet.RunID
		err    string
		is     error
	}{
		{prefix: "01b2", want: "01b2"},
		{prefix: "01b", want: "01b2"},
		{prefix: "01a", want: "01a"}, // the whole of an id is no beginning
		{prefix: "01", err: "run 01: several ids begin so: " + all + ": ", is: fleet.ErrUsage},
		{prefix: "02", err: "run 02: ", is: fleet.ErrNotFound},
		{prefix: "02", also: []fleet.RunID{"02x", "03x"}, want: "02x"},
		{prefix: "01b", also: []fleet.RunID{"01b2"}, want: "01b2"}, // it is on record
		{prefix: "01b", also: []fleet.RunID{"01bx"}, err: "run 01b: several ids begin so: 01b2 code fix, 01bx: ", is: fleet.ErrUsage},
		{prefix: "0", also: []fleet.RunID{"05", "06", "07"}, err: "run 0: several ids begin so: " + all + ", 05, 06, and more: ", is: fleet.ErrUsage},
	} {
		var begin []fleet.Run
		for _, r := range runs {
			if len(r.ID) >= len(test.prefix) && string(r.ID[:len(test.prefix)]) == test.prefix {
				begin = append(begin, r)
			}
		}
		r, err := oneRun(test.prefix, begin, test.also)
		switch {
		case r.ID != test.want:
			t.Errorf("%s of %v: got %q, want %q", test.prefix, test.also, r.ID, test.want)
		case test.is == nil && err != nil, test.is != nil && (!errors.Is(err, test.is) || err.Error() != test.err+test.is.Error()):
			t.Errorf("%s of %v: got %v, want %s", test.prefix, test.also, err, test.err)
		}
	}
}
