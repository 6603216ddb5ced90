package plain

import (
	"os"
	"path/filepath"
	"testing"

	"stint/internal/testkit/must"
)

func TestGlobIn(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b", "p[1]", "*", "a?", `b\`, "[", "a:b"} {
		folder := filepath.Join(t.TempDir(), name)
		must.Do(t, os.Mkdir(folder, 0o700))
		must.Do(t, os.WriteFile(filepath.Join(folder, "x.1"), nil, 0o600))
		must.Equal(t, name, must.Get(filepath.Glob(GlobIn(folder, "x.*")))(t), []string{filepath.Join(folder, "x.1")})
	}
}
