package cli

import (
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"stint/internal/config"
	"stint/internal/install"
	"stint/internal/testkit/must"
)

// TestStoreMarks notes many folders of one fleet's name at once, and forgets half of them meanwhile: none is lost.
func TestStoreMarks(t *testing.T) {
	t.Parallel()
	home, base := t.TempDir(), t.TempDir()
	a := &app{Surroundings: Surroundings{Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}}
	at := func(i int) *config.Config {
		return &config.Config{Fleet: "bob", State: filepath.Join(base, strconv.Itoa(i))}
	}
	forget := func(i int) error { return install.Plan{Did: func(string, string) {}}.Remove(a.storeMark(at(i))) }
	const n = 40
	for i := range n / 2 {
		must.Do(t, a.noteStore(at(i)))
	}
	var (
		wg   sync.WaitGroup
		errs [n]error
	)
	for i := range n / 2 {
		wg.Go(func() { errs[i] = forget(i) })
		wg.Go(func() { errs[n/2+i] = a.noteStore(at(n/2 + i)) })
	}
	wg.Wait()
	must.Do(t, errs[:]...)
	for i := range n {
		if gone := a.storeGone(at(i)) != nil; gone != (i >= n/2) {
			t.Errorf("folder %d: its store is missed: %v", i, gone)
		}
	}
	for i := n / 2; i < n; i++ {
		must.Do(t, forget(i))
	}
	if left := must.Get(filepath.Glob(filepath.Join(home, ".config/stint/stores/*")))(t); len(left) > 0 {
		t.Errorf("marks are left: %s", left)
	}
}
