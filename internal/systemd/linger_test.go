package systemd

import (
	"os"
	"path/filepath"
	"testing"

	"stint/internal/testkit/must"
)

func TestLingers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "bob")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	tests := []struct {
		dir, user string
		want      bool
		wantErr   bool
	}{
		{dir, "bob", true, false},
		{dir, "eve", false, false},
		{filepath.Join(dir, "missing"), "bob", false, false},
		{file, "bob", false, true},
	}
	for _, tt := range tests {
		got, err := lingers(tt.dir, tt.user)
		if got != tt.want || (err != nil) != tt.wantErr {
			t.Errorf("%s in %s: got %v, %v, want %v, error %v", tt.user, tt.dir, got, err, tt.want, tt.wantErr)
		}
	}
	if _, err := Linger(); err != nil {
		t.Errorf("got error %v for the user who runs this", err)
	}
}
