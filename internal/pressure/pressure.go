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
	CPU             *Stall   `json:"cpu,omitempty"`
	Memory          *Stall   `json:"memory,omitempty"`
	IO              *Stall   `json:"io,omitempty"`
	Load            *float64 `json:"load,omitempty"` // average over a minute, for each processor
	MemoryAvailable *int64   `json:"memory_available,omitempty"`
	MemoryTotal     *int64   `json:"memory_total,omitempty"`
}

// Stall is how much of the last ten seconds was lost to waiting for a resource, in
// percent.
type Stall struct {
	Some float64 `json:"some"` // at least one task waited
	Full float64 `json:"full"` // nobody did anything else; 0 where the kernel does not say
}

// Read reads the machine's state in proc, which is /proc.
func Read(proc fs.FS) Reading {
	memory := memoryInfo(proc)
	return Reading{
		CPU:             stall(proc, "pressure/cpu"),
		Memory:          stall(proc, "pressure/memory"),
		IO:              stall(proc, "pressure/io"),
		Load:            load(proc),
		MemoryAvailable: memory["MemAvailable"],
		MemoryTotal:     memory["MemTotal"],
	}
}

// stall is nil when the kernel keeps no pressure stall information, which some do
// although the file is there.
func stall(proc fs.FS, name string) *Stall {
	text, err := fs.ReadFile(proc, name)
	if err != nil {
		return nil
	}
	shares := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		value, _ := strings.CutPrefix(words[1], "avg10=")
		if percent, ok := figure(value); ok && percent <= 100 {
			shares[words[0]] = percent
		}
	}
	some, ok := shares["some"]
	if !ok {
		return nil
	}
	return &Stall{Some: some, Full: shares["full"]}
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
