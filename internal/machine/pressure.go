package machine

import (
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"stint/internal/plain"
)

// Pressure measures the machine's shortage of memory at one moment. Each session looks small to the fire that starts it;
// together they have had a service manager killed for memory.
//
// A figure is nil if it cannot be read, and then refuses nothing: some kernels lack pressure stall information, and some
// containers hide parts of /proc. Figures are the machine's, not a container's: the cap on its slice bounds the fleet by
// itself.
type Pressure struct {
	MemoryPressure  *float64 // percent of the last ten seconds in which at least one task waited for memory
	MemoryAvailable *int64   // bytes
	MemoryTotal     *int64
}

// ReadPressure reads the figures in proc, which is /proc.
func ReadPressure(proc fs.FS) Pressure {
	memory := memoryInfo(proc)
	return Pressure{
		MemoryPressure:  memoryPressure(proc),
		MemoryAvailable: memory["MemAvailable"],
		MemoryTotal:     memory["MemTotal"],
	}
}

// memoryPressure returns nil if the kernel keeps no pressure stall information. Some do not, although the file is there.
func memoryPressure(proc fs.FS) *float64 {
	text, err := fs.ReadFile(proc, "pressure/memory")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "some" {
			value, _ := strings.CutPrefix(words[1], "avg10=")
			if percent, ok := figure(value); ok && percent <= 100 {
				return &percent
			}
		}
	}
	return nil
}

// memoryInfo returns the machine's memory in bytes, by the kernel's names.
func memoryInfo(proc fs.FS) map[string]*int64 {
	text, err := fs.ReadFile(proc, "meminfo")
	if err != nil {
		return nil
	}
	amounts := map[string]*int64{}
	for line := range strings.Lines(string(text)) {
		name, amount, _ := strings.Cut(line, ":")
		kilobytes, ok := strings.CutSuffix(strings.TrimSpace(amount), " kB")
		n, err := strconv.ParseInt(strings.TrimSpace(kilobytes), 10, 64)
		if !ok || err != nil || n < 0 || n > math.MaxInt64>>10 {
			continue
		}
		n <<= 10
		amounts[name] = &n
	}
	return amounts
}

// figure reads a finite number of at least zero.
func figure(s string) (float64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && f >= 0 && !math.IsInf(f, 1)
}

// maxStall is the percentage of ten seconds from which the machine reclaims memory in use. systemd-oomd, which kills at
// 60 by default, has not yet begun.
const maxStall = 20

// leftMemory is the memory, in bytes, that must be available: one session with a compiler takes as much. On a small
// machine a quarter of its memory will do.
const leftMemory = 1 << 30

// Refuse returns the reason against a fire now, or "". A refused fire costs half an hour; one that should have been
// refused may cost every session.
func (p Pressure) Refuse() string {
	left := int64(leftMemory)
	if p.MemoryTotal != nil {
		left = min(left, *p.MemoryTotal/4)
	}
	switch {
	case p.MemoryAvailable != nil && *p.MemoryAvailable < left:
		return fmt.Sprintf("memory: %s available%s, and %s must be left",
			plain.Bytes(*p.MemoryAvailable), of(p.MemoryTotal), plain.Bytes(left))
	case p.MemoryPressure != nil && *p.MemoryPressure > maxStall:
		return fmt.Sprintf("memory pressure: %s %% of the last ten seconds were lost to waiting for it, above the limit of %d %%",
			strconv.FormatFloat(*p.MemoryPressure, 'f', -1, 64), maxStall)
	}
	return ""
}

func of(total *int64) string {
	if total == nil {
		return ""
	}
	return " of " + plain.Bytes(*total)
}
