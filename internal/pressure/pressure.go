// Package pressure reads how loaded the machine is, and says whether that is reason to start
// nothing. Each session looks small to the fire that starts it; together they have had a
// service manager killed for memory.
//
// A figure that cannot be read is unknown, and an unknown figure refuses nothing: kernels
// without pressure stall information, and containers that hide parts of /proc, have fleets too.
// A figure is the machine's, not a container's: the cap on its slice bounds the fleet by
// itself.
//
// The package reads only the file system it is handed, and keeps nothing.
package pressure

import (
	"bufio"
	"bytes"
	"io/fs"
	"math"
	"strconv"
	"strings"
)

// Reading is what the machine says of itself at one moment. A nil figure is unknown.
type Reading struct {
	Load            *float64 // average over a minute, for each processor
	MemoryPressure  *float64 // percent of the last ten seconds in which at least one task waited for memory
	MemoryAvailable *int64   // bytes
	MemoryTotal     *int64
}

// Read reads the machine's state in proc, which is /proc.
func Read(proc fs.FS) Reading {
	memory := memoryInfo(proc)
	return Reading{
		Load:            load(proc),
		MemoryPressure:  memoryPressure(proc),
		MemoryAvailable: memory["MemAvailable"],
		MemoryTotal:     memory["MemTotal"],
	}
}

// memoryPressure is nil when the kernel keeps no pressure stall information, which some do
// although the file is there.
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

func load(proc fs.FS) *float64 {
	text, err := fs.ReadFile(proc, "loadavg")
	processors := processors(proc)
	if err != nil || processors == 0 {
		return nil
	}
	first, _, _ := strings.Cut(string(text), " ")
	sum, ok := figure(first)
	if !ok {
		return nil
	}
	each := sum / float64(processors)
	return &each
}

// processors counts those of the machine that are on. Those that this process may use
// can be fewer, but the load is everybody's.
func processors(proc fs.FS) (count int) {
	text, err := fs.ReadFile(proc, "stat")
	if err != nil {
		return 0
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		number, ok := strings.CutPrefix(lines.Text(), "cpu")
		if !ok {
			break // The lines of the processors come first; one of those after them can be very long.
		}
		if number != "" && number[0] != ' ' {
			count++
		}
	}
	return count
}

// memoryInfo is the machine's memory in bytes, by the kernel's names.
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

// figure reads a number of zero or more, which nan is not.
func figure(s string) (float64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && f >= 0 && !math.IsInf(f, 1)
}
