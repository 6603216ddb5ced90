package session

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"stint/internal/testkit/must"
)

func mustOpenLog(t *testing.T, path string, limit int64) *cappedLog {
	t.Helper()
	log := must.Get(openLog(path, limit))(t)
	t.Cleanup(func() { log.file.Close() })
	return log
}

// TestCappedLogKeepsBothEnds writes any pieces: the log is what was written, or both
// ends of it around a line that says what is missing, and never more than its limit.
func TestCappedLogKeepsBothEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const limit = minLogLimit
	rapid.Check(t, func(rt *rapid.T) {
		path := filepath.Join(dir, "log")
		must.Do(rt, os.WriteFile(path, nil, 0o600))
		log := must.Get(openLog(path, limit))(rt)
		defer log.file.Close()
		var all []byte
		for i, size := range rapid.SliceOfN(rapid.IntRange(0, 2*limit), 0, 20).Draw(rt, "sizes") {
			piece := bytes.Repeat([]byte{byte('a' + i)}, size)
			all = append(all, piece...)
			_, _ = log.Write(piece)
			got, err := os.ReadFile(path)
			if err != nil || len(got) > limit {
				rt.Fatalf("log of %d bytes, %v, want at most %d", len(got), err, limit)
			}
			want := all
			if log.cut > 0 {
				end := len(got) - limit/2 - len(gap(0))
				if end < limit/4 {
					rt.Fatalf("%d bytes of the end, want a quarter of the limit", end)
				}
				want = append(append(bytes.Clone(all[:limit/2]), gap(int64(len(all)-limit/2-end))...), all[len(all)-end:]...)
			}
			if !bytes.Equal(got, want) || log.cut > 0 != (len(all) > limit) || log.fault != nil || log.dropped > 0 {
				rt.Fatalf("log %q, %d cut, fault %v, want %q", got, log.cut, log.fault, want)
			}
		}
	})
}

// TestCappedLogGoesOn opens logs that are there, also longer ones than would be now.
func TestCappedLogGoesOn(t *testing.T) {
	t.Parallel()
	for _, size := range []int{10, minLogLimit, 10 * minLogLimit} {
		path := filepath.Join(t.TempDir(), "log")
		before := strings.Repeat("b", size)
		must.Do(t, os.WriteFile(path, []byte(before), 0o600))
		log := mustOpenLog(t, path, 1)
		_, _ = log.Write([]byte("after"))
		got := readFile(t, path)
		if !strings.HasPrefix(got, before[:min(size, minLogLimit/2)]) || !strings.HasSuffix(got, "bafter") || len(got) > minLogLimit {
			t.Errorf("after %d bytes: got %d, want both ends", size, len(got))
		}
		if lost := len(before) + len("after") + len(gap(0)) - len(got); size > 10 && int64(lost) != log.cut {
			t.Errorf("after %d bytes: %d cut, want %d", size, log.cut, lost)
		}
	}
}

// TestCappedLogOnAFullDisk counts what could not be written.
func TestCappedLogOnAFullDisk(t *testing.T) {
	t.Parallel()
	log := mustOpenLog(t, filepath.Join(t.TempDir(), "log"), 0)
	full := must.Get(os.OpenFile("/dev/full", os.O_RDWR, 0))(t)
	defer full.Close()
	disk := log.file
	log.file = full
	for range 2 {
		if n, err := log.Write([]byte("lost")); n != 4 || err != nil {
			t.Errorf("write: %d, %v, want the agent not to suffer", n, err)
		}
	}
	log.file = disk
	_, _ = log.Write([]byte("kept"))
	if log.dropped != 8 || !errors.Is(log.fault, syscall.ENOSPC) || readFile(t, disk.Name()) != "kept" {
		t.Errorf("%d dropped, fault %v, log %q, want 8, a full disk, and what came after", log.dropped, log.fault, readFile(t, disk.Name()))
	}
}
