package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/pressure"
)

// WIP bounds the work in progress of a category: results that wait for review.
type WIP struct {
	Command         []string      // prints how many there are; empty: nobody counts, and there is no bound
	Limit           int           // fires leave the category out when so many wait
	Timeout         time.Duration // how long counting may take
	PassEnvironment []string      // handed on to the command from the environment of stint
}

// Notice says who is told of what the fleet cannot solve by itself.
type Notice struct {
	Command         []string      // gets a notice on its input; empty: none
	Webhook         string        // is posted a notice; empty: none
	Events          []fleet.Event // what is told
	Every           time.Duration // the same news is told no more often
	Timeout         time.Duration // how long telling may take
	PassEnvironment []string      // handed on to the command from the environment of stint
}

func defaultWIP() WIP {
	return WIP{
		Limit:           5,                                // as many as a person reviews in one sitting
		Timeout:         20 * time.Second,                 // leaves a fire its minutes, as for task sources
		PassEnvironment: []string{"PATH", "HOME", "LANG"}, // as for an agent
	}
}

func defaultNotice() Notice {
	return Notice{
		Events:          fleet.Events(),
		Every:           time.Hour,                        // whoever did not act on it by then may have missed it
		Timeout:         10 * time.Second,                 // a service that is well takes one; a session that ended must not wait long
		PassEnvironment: []string{"PATH", "HOME", "LANG"}, // as for an agent
	}
}

func limits(t *table, d pressure.Limits) pressure.Limits {
	return pressure.Limits{
		Load:            get(t, "max_load", d.Load, orNone(number(0.1, 1000))),
		MemoryPressure:  get(t, "max_memory_pressure", d.MemoryPressure, orNone(number(0.1, 100))),
		MemoryAvailable: get(t, "min_memory", d.MemoryAvailable, storage()),
	}
}

func (r *reader) wip(t *table, d WIP) WIP {
	w := WIP{
		Command:         t.command(0),
		Limit:           get(t, "limit", d.Limit, whole(1, maxWIP)),
		Timeout:         get(t, "timeout", d.Timeout, within(time.Minute)), // a fire waits for it
		PassEnvironment: t.variables(d.PassEnvironment),
	}
	t.close()
	return w
}

const maxWIP = 9999 // nobody reads so many; a typing error shows

func (r *reader) notice(t *table, d Notice) Notice {
	n := Notice{
		Command:         t.command(0),
		Webhook:         get(t, "webhook", d.Webhook, r.webhook()),
		Events:          d.Events,
		Every:           get(t, "every", d.Every, pause()),
		Timeout:         get(t, "timeout", d.Timeout, within(10*time.Second)), // a session that ended waits for it
		PassEnvironment: t.variables(d.PassEnvironment),
	}
	known := mapped(fleet.Events(), func(e fleet.Event) string { return string(e) })
	words := t.list("events", 0, distinct(func(word string) error {
		if slices.Contains(known, word) {
			return nil
		}
		return fleet.WithHint(fmt.Errorf("there is no event %s", describe(word)), meant(word, known))
	}))
	if t.has("events") {
		n.Events = mapped(words, func(word string) fleet.Event { return fleet.Event(word) })
	}
	t.close()
	return n
}

// webhook leaves to the caller which addresses there may be.
func (r *reader) webhook() rule[string] {
	return rule[string]{`"https://example.org/hook"`, func(value any) (string, error) {
		s, err := text().parse(value)
		if err == nil && s != "" && r.CheckWebhook != nil {
			err = r.CheckWebhook(s)
		}
		return s, err
	}}
}

// storage is a number of bytes, or 0 for none.
func storage() rule[int64] {
	return rule[int64]{`"1G"`, func(value any) (int64, error) {
		n, ok := value.(int64)
		if s, isText := value.(string); isText {
			n, ok = bytesOf(s)
		}
		if !ok || n < 0 {
			return 0, wanted(`an amount such as "1G" or "512M"`, value)
		}
		return n, nil
	}}
}

const byteUnits = "KMGT" // in steps of 1024

func bytesOf(s string) (int64, bool) {
	digits := strings.TrimRight(s, byteUnits)
	n, err := strconv.ParseUint(digits, 10, 40) // so that no unit makes it overflow, and more than any machine has
	if unit := s[len(digits):]; unit != "" {
		power := strings.Index(byteUnits, unit) + 1
		if power == 0 || n > 1<<20 {
			return 0, false
		}
		n <<= 10 * power
	}
	return int64(n), err == nil
}

// shownBytes is an amount in the largest unit of which it is a whole number.
func shownBytes(n int64) any {
	for power := len(byteUnits); n > 0 && power > 0; power-- {
		if unit := int64(1) << (10 * power); n%unit == 0 && n/unit <= 1<<20 {
			return strconv.FormatInt(n/unit, 10) + byteUnits[power-1:power]
		}
	}
	return n
}

func (v *values) addLimits(l pressure.Limits) {
	v.add(l.Load, "fanout", "max_load")
	v.add(l.MemoryPressure, "fanout", "max_memory_pressure")
	v.add(shownBytes(l.MemoryAvailable), "fanout", "min_memory")
}

func (v *values) addWIP(name string, w WIP) {
	v.add(w.Command, "category", name, "wip", "command")
	v.add(w.Limit, "category", name, "wip", "limit")
	v.add(w.Timeout, "category", name, "wip", "timeout")
	v.add(w.PassEnvironment, "category", name, "wip", "pass_environment")
}

func (v *values) addNotice(n Notice) {
	v.add(n.Command, "notice", "command")
	v.add(n.Webhook, "notice", "webhook")
	v.add(mapped(n.Events, func(e fleet.Event) string { return string(e) }), "notice", "events")
	v.add(n.Every, "notice", "every")
	v.add(n.Timeout, "notice", "timeout")
	v.add(n.PassEnvironment, "notice", "pass_environment")
}

func (c *Config) warnNotice(w *warnings) {
	if n := c.Notice; len(n.Command) > 0 || n.Webhook != "" {
		return
	}
	for _, key := range []string{"notice.events", "notice.every", "notice.timeout", "notice.pass_environment"} {
		if w.source.has(key) {
			w.add("without a command or a webhook nobody is told", key)
			return
		}
	}
}
