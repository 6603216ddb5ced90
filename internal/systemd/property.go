package systemd

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	sdbus "github.com/coreos/go-systemd/v22/dbus"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// property is a limit of systemd.resource-control(5) or systemd.exec(5) that a category may give its
// workers. The kernel enforces some through a file of the unit's cgroup, if the file is there. The manager
// reports the limit either way.
type property struct {
	name   string
	parse  parser
	onBus  string // what D-Bus calls it, where that is not its name in a unit file
	file   string // of the cgroup, which begins with its controller and a dot; empty: none
	bounds func(text string, want uint64) bool
}

// properties lists what is known. D-Bus wants other types than unit files, and a mistyped setting is to be
// found when the configuration is read, not at a fire. For anything else, an operator has drop-ins.
func properties() []property {
	return []property{
		{"MemoryMin", bytes(0), "", "memory.min", nearly},
		{"MemoryLow", bytes(0), "", "memory.low", nearly},
		{"MemoryHigh", bytes(1), "", "memory.high", nearly},
		{"MemoryMax", bytes(1), "", "memory.max", nearly},
		{"MemorySwapMax", bytes(0), "", "memory.swap.max", nearly},
		{"CPUQuota", quota, "CPUQuotaPerSecUSec", "cpu.max", share},
		{"CPUWeight", weight, "", "cpu.weight", exactly},
		{"IOWeight", weight, "", "io.weight", exactly},
		{"TasksMax", count(1), "", "pids.max", exactly},
		{"OOMPolicy", word("continue", "stop", "kill"), "", "", nil},
		{"OOMScoreAdjust", integer(-1000, 1000), "", "", nil},
		{"Nice", integer(-20, 19), "", "", nil},
		{"CPUSchedulingPolicy", number(map[string]int32{"other": 0, "batch": 3, "idle": 5}), "", "", nil},
		{"IOSchedulingClass", number(map[string]int32{"best-effort": 2, "idle": 3}), "", "", nil},
		{"IOSchedulingPriority", integer(0, 7), "", "", nil},
		// These set both the soft and the hard limit: the manager takes one for the other while that has not been given.
		{"LimitCORE", bytes(0), "", "", nil},
		{"LimitFSIZE", bytes(0), "", "", nil},
		{"LimitNOFILE", count(0), "", "", nil},
		{"LimitNPROC", count(0), "", "", nil},
		{"LoadCredential", credentials, "", "", nil},
	}
}

// CheckProperty checks one line of a category's unit table: the name as in unit
// files, the value as TOML decodes it into an any.
func CheckProperty(name string, value any) error {
	_, err := parseProperty(name, value)
	return err
}

func parseProperty(name string, value any) (sdbus.Property, error) {
	known := properties()
	i := slices.IndexFunc(known, func(p property) bool { return p.name == name })
	if i < 0 {
		names := plain.Each(known, func(p property) string { return p.name })
		err := fmt.Errorf("unit property %q is none of %s", name, strings.Join(names, ", "))
		return sdbus.Property{}, fleet.WithHint(err, fleet.Meant(name, names, "set others in a file of stint-FLEET-CATEGORY-.service.d: stint help operating"))
	}
	parsed, err := known[i].parse(value)
	if err != nil {
		return sdbus.Property{}, fmt.Errorf("unit property %s: %v: want %w", name, value, err)
	}
	return setting(cmp.Or(known[i].onBus, name), parsed), nil
}

// parser turns a value from the configuration (string, int64, float64, bool or
// []any) into the very Go type whose D-Bus signature systemd wants. Its errors say
// what would be right.
type parser func(value any) (any, error)

const (
	// infinity is "no limit" in unit files and, as noLimit, on the bus.
	infinity = "infinity"
	noLimit  = uint64(math.MaxUint64)
)

// word reads s, one of a few.
func word(words ...string) parser {
	return func(value any) (any, error) {
		if s, ok := value.(string); ok && slices.Contains(words, s) {
			return s, nil
		}
		return nil, fmt.Errorf("one of %s", strings.Join(words, ", "))
	}
}

// number reads i, where unit files have words for numbers of the kernel's.
func number(of map[string]int32) parser {
	return func(value any) (any, error) {
		if s, ok := value.(string); ok {
			if n, ok := of[s]; ok {
				return n, nil
			}
		}
		return nil, fmt.Errorf("one of %s", strings.Join(slices.Sorted(maps.Keys(of)), ", "))
	}
}

// integer reads i within bounds.
func integer(low, high int64) parser {
	return func(value any) (any, error) {
		n, ok := whole(value)
		if !ok || n < low || n > high {
			return nil, fmt.Errorf("a whole number from %d to %d", low, high)
		}
		return int32(n), nil
	}
}

// weight reads t, a share relative to 100.
func weight(value any) (any, error) {
	n, ok := whole(value)
	if !ok || n < 1 || n > 10000 {
		return nil, fmt.Errorf("a whole number from 1 to 10000; the default is 100")
	}
	return uint64(n), nil
}

// count reads t, a number of things.
func count(low int64) parser {
	return func(value any) (any, error) {
		n, ok := whole(value)
		switch {
		case value == infinity:
			return noLimit, nil
		case ok && n >= low:
			return uint64(n), nil
		}
		return nil, fmt.Errorf("a whole number from %d, or %q", low, infinity)
	}
}

func whole(value any) (int64, bool) {
	if s, ok := value.(string); ok {
		n, err := strconv.ParseInt(s, 10, 64)
		return n, err == nil
	}
	n, ok := value.(int64)
	return n, ok
}

// bytes reads t, an amount of memory or storage in steps of 1024.
func bytes(low float64) parser {
	return func(value any) (any, error) {
		n, ok := size(fmt.Sprint(value))
		_, fraction := value.(float64)
		switch {
		case value == infinity:
			return noLimit, nil
		case ok && !fraction && n >= low && n < math.MaxInt64:
			return uint64(n), nil
		}
		return nil, fmt.Errorf("an amount such as %q or 1073741824, at least %v, or %q; a share of the machine belongs in the fleet's slice", "1.5G", low, infinity)
	}
}

// size is compiled where a value is read: as a variable it would be at every start of every command.
func size(text string) (float64, bool) {
	m := regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) *([BKMGTPE]?)$`).FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	power := strings.Index("BKMGTPE", m[2]) // No suffix is found at 0, as B is.
	return math.Floor(math.Ldexp(n, 10*power)), err == nil
}

// quota reads t, the microseconds of processor time in a second.
func quota(value any) (any, error) {
	if value == infinity {
		return noLimit, nil
	}
	if m := regexp.MustCompile(`^([0-9]+(?:\.[0-9]{1,2})?)%$`).FindStringSubmatch(fmt.Sprint(value)); m != nil {
		percent, err := strconv.ParseFloat(m[1], 64)
		if usec := math.Round(percent * 10_000); err == nil && usec >= 1 && usec < math.MaxInt64 {
			return uint64(usec), nil
		}
	}
	return nil, fmt.Errorf(`a share of one processor such as "50%%" or "200%%", above zero, or %q`, infinity)
}

// credential is (ss).
type credential struct{ Name, Path string }

// credentials reads a(ss), from NAME:PATH or a list. The worker finds them in $CREDENTIALS_DIRECTORY.
func credentials(value any) (any, error) {
	items, ok := value.([]any)
	if !ok {
		items = []any{value}
	}
	var list []credential
	for _, item := range items {
		name, path, _ := strings.Cut(fmt.Sprint(item), ":")
		if name == "" || strings.Contains(name, "/") || !filepath.IsAbs(path) || fleet.CheckUnitWord(name+path) != nil {
			return nil, fmt.Errorf(`a name and an absolute path of plain letters, such as "token:/home/me/token", or a list of such`)
		}
		list = append(list, credential{name, path})
	}
	return list, nil
}
