package machine_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"stint/internal/machine"
	"stint/internal/store"
	"stint/internal/testkit/must"
)

// TestMemory has many processes' worth of writers remember what they saw: the last of it is kept.
func TestMemory(t *testing.T) {
	t.Parallel()
	m := machine.Memory(t.TempDir())
	if s := m.Seen(); s != (store.Seen{}) {
		t.Errorf("before anything was seen: %+v", s)
	}
	var all sync.WaitGroup
	for n := range int64(50) {
		all.Go(func() { m.Remember(store.Seen{System: "1", Timeline: 1, Writes: n + 1}) })
	}
	all.Wait()
	for _, s := range []struct {
		say  string
		seen store.Seen
		want bool
	}{
		{"an earlier write", store.Seen{System: "1", Timeline: 1, Writes: 49}, false},
		{"an older timeline", store.Seen{System: "1", Writes: 90}, false},
		{"a copy of this machine", store.Seen{System: "1", Timeline: 1, Host: "copy", Writes: 1}, true},
		{"a newer timeline", store.Seen{System: "1", Timeline: 2, Writes: 1}, true},
		{"a newer incarnation", store.Seen{System: "1", Timeline: 1, Incarnation: 1, Writes: 1}, true},
		{"another server", store.Seen{System: "2", Timeline: 1, Writes: 1}, true},
	} {
		before := m.Seen()
		m.Remember(s.seen)
		if got := m.Seen(); (got == s.seen) != s.want || !s.want && got != before {
			t.Errorf("%s: %+v, before %+v", s.say, got, before)
		}
	}
	if was, err := m.Accept(true); err != nil || was != m.Seen() {
		t.Errorf("accept, tried: %+v, %v", was, err)
	}
	if was, err := m.Accept(false); err != nil || was.Timeline != 1 || m.Seen().Timeline != 0 || m.Seen().Writes != 1 {
		t.Errorf("accept: was %+v, is %+v, %v", was, m.Seen(), err)
	}
	// A write that was cut off by a power cut.
	must.Do(t, os.WriteFile(filepath.Join(string(m), "store.seen"), []byte(`{"System":"2","Tim`), 0o600))
	if s := m.Seen(); s != (store.Seen{}) {
		t.Errorf("of half a line: %+v", s)
	}
	m.Remember(store.Seen{System: "3", Timeline: 1, Writes: 1})
	if s := m.Seen(); s.System != "3" {
		t.Errorf("after half a line: %+v", s)
	}
}
