// Package storekit helps tests that have a store. It knows no library for tests: programs of tests begin fast with it.
package storekit

import (
	"os"
	"testing"
)

// Keep has a test that fails keep a folder, such as that of a fleet's state: "go test
// -artifacts" puts it where it says. Call it right after t.TempDir, so that whatever is open
// in the folder is closed before.
func Keep(t testing.TB, dir string) {
	t.Helper()
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		if err := os.CopyFS(t.ArtifactDir(), os.DirFS(dir)); err != nil {
			t.Logf("not all of %s is kept: %v", dir, err)
		}
	})
}
