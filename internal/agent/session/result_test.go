package session

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"stint/internal/testkit/must"
)

// TestReadResult puts at the result's path whatever an agent may.
func TestReadResult(t *testing.T) {
	t.Parallel()
	write := func(text string) func(string) error {
		return func(path string) error { return os.WriteFile(path, []byte(text), 0o600) }
	}
	full := strings.Repeat("x", maxResult)
	tests := []struct {
		name   string
		put    func(path string) error
		want   string
		spoilt string // after the path, where one is named
	}{
		{"absent", func(string) error { return nil }, "", ""},
		{"a file", write("{}\n"), "{}\n", ""},
		{"as long as may be", write(full), full, ""},
		{"too long", write(full + "x"), "", "more than 1048576 bytes"},
		{"endless", func(path string) error {
			if err := write("")(path); err != nil {
				return err
			}
			return os.Truncate(path, 1<<40)
		}, "", "more than 1048576 bytes"},
		{"a FIFO", func(path string) error { return syscall.Mkfifo(path, 0o600) }, "", "not a regular file"},
		{"a folder", func(path string) error { return os.Mkdir(path, 0o700) }, "", "not a regular file"},
		{"a link", func(path string) error { return os.Symlink("/etc/passwd", path) }, "", "not a regular file"},
		{"a link to nothing", func(path string) error { return os.Symlink("/nonexistent", path) }, "", "not a regular file"},
		{"a socket", func(path string) error {
			fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			return errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}), syscall.Close(fd))
		}, "", "not a regular file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := t.TempDir() + "/result.json"
			must.Do(t, tt.put(path))
			data, spoilt := readResult(path)
			if string(data) != tt.want || (data != nil) != (tt.want != "") {
				t.Errorf("got %d bytes %.20q, want %d", len(data), data, len(tt.want))
			}
			if !strings.HasSuffix(spoilt, tt.spoilt) || (spoilt == "") != (tt.spoilt == "") {
				t.Errorf("got spoilt %q, want %q", spoilt, tt.spoilt)
			}
		})
	}
	t.Run("empty", func(t *testing.T) {
		t.Parallel()
		path := t.TempDir() + "/result.json"
		must.Do(t, write("")(path))
		if data, spoilt := readResult(path); data == nil || len(data) > 0 || spoilt != "" {
			t.Errorf("got %q, %q, want a file without content", data, spoilt)
		}
	})
}
