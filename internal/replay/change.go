package replay

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"stint/internal/fleet"
	"stint/internal/selector"
)

// Keys are the settings under which fires can be ranked again, as they stand in a
// configuration.
const Keys = "fanout.workers, fanout.slots, selector.v, selector.floor, selector.cap, " +
	"selector.half_life, selector.slow_half_life, category.NAME.share"

// Changes are other settings to rank under. The zero value changes nothing.
type Changes struct {
	Texts      []string         // KEY=VALUE, in the order in which they apply
	Categories []fleet.Category // that they name
	apply      []func(*selector.Input)
}

// Add adds a change, written KEY=VALUE. An error says what would do.
func (c *Changes) Add(text string) error {
	key, value, found := strings.Cut(text, "=")
	if !found {
		return errors.New("want KEY=VALUE with one of " + Keys)
	}
	apply, err := c.parse(key, value)
	if err != nil {
		return err
	}
	c.Texts, c.apply = append(c.Texts, text), append(c.apply, apply)
	return nil
}

func (c *Changes) parse(key, value string) (func(*selector.Input), error) {
	switch key {
	case "fanout.workers":
		n, err := count(key, value)
		return func(in *selector.Input) {
			if in.FirePool == "" { // the others have their own
				in.Workers = n
			}
		}, err
	case "fanout.slots":
		n, err := count(key, value)
		return func(in *selector.Input) {
			free := max(0, n-inFlight(*in))
			if in.FirePool != "" { // its own slots, which bound it as well, are not on record
				free = min(in.Free, free)
			}
			in.Free = free
		}, err
	case "selector.v":
		x, err := number(key, value, 0.1, 1000)
		return func(in *selector.Input) { in.Settings.V = x }, err
	case "selector.floor":
		x, err := number(key, value, 0, 1)
		return func(in *selector.Input) { in.Settings.Floor = x }, err
	case "selector.cap":
		x, err := orNone(key, value, 1, 1000)
		return func(in *selector.Input) { in.Settings.Cap = x }, err
	case "selector.half_life":
		x, err := orNone(key, value, 1, 1e6)
		return func(in *selector.Input) { in.Settings.HalfLife = x }, err
	case "selector.slow_half_life":
		x, err := orNone(key, value, 1, 1e6)
		return func(in *selector.Input) { in.Settings.SlowHalfLife = x }, err
	case "selector.alarm":
		return nil, errors.New("selector.alarm acts when a grade is learnt: the sums that were recorded were made under it, and cannot be made again; want one of " + Keys)
	}
	return c.parseShare(key, value)
}

func (c *Changes) parseShare(key, value string) (func(*selector.Input), error) {
	name, found := strings.CutPrefix(key, "category.")
	name, isShare := strings.CutSuffix(name, ".share")
	category, err := fleet.ParseCategory(name)
	if !found || !isShare || err != nil {
		return nil, fmt.Errorf("unknown key %q: want one of %s", key, Keys)
	}
	share, err := number(key, value, 0, 1)
	if err != nil {
		return nil, err
	}
	c.Categories = append(c.Categories, category)
	return func(in *selector.Input) {
		for i := range in.Candidates {
			if in.Candidates[i].Category == category {
				in.Candidates[i].Share = share
			}
		}
	}, nil
}

// inFlight counts the sessions that ran when a fire began, except for those of categories
// that the configuration did not have.
func inFlight(in selector.Input) int {
	n := 0
	for _, c := range in.Candidates {
		n += c.Pending
	}
	return n
}

func count(key, value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s: want a whole number of 1 or more, got %q", key, value)
	}
	return n, nil
}

// number is a number from low to high, which nan is not.
func number(key, value string, low, high float64) (float64, error) {
	x, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(x) || x < low || x > high {
		return 0, fmt.Errorf("%s: want a number from %g to %g, got %q", key, low, high, value)
	}
	return x, nil
}

// orNone takes 0 as well, which turns the thing off.
func orNone(key, value string, low, high float64) (float64, error) {
	if x, err := strconv.ParseFloat(value, 64); err == nil && x == 0 {
		return 0, nil
	}
	x, err := number(key, value, low, high)
	if err != nil {
		return 0, fmt.Errorf("%w; or 0 for none", err)
	}
	return x, nil
}
