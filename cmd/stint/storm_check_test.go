package main

import (
	"testing"

	"github.com/anishathalye/porcupine"
)

// stormStep is one call of a history in which each begins after the one before ended.
func stormStep(i int, kind, holder string, answer stormAnswer) porcupine.Operation {
	at := int64(i) * 1000
	call := stormCall{Kind: kind, Holder: holder, TTL: 60_000, Window: span{at, at + 10}}
	if answer.Status == "granted" {
		answer.Acquired = call.Window
		answer.Expires = call.Window.plus(call.TTL)
	}
	return porcupine.Operation{Input: call, Output: answer, Call: at, Return: at + 10}
}

// TestStormCheckFails feeds the checker what the storm is there to find.
func TestStormCheckFails(t *testing.T) {
	t.Parallel()
	grant := func(i int, holder string, epoch int64) porcupine.Operation {
		return stormStep(i, "take", holder, stormAnswer{Status: "granted", Holder: holder, Epoch: epoch})
	}
	release := func(i int, holder string, epoch int64) porcupine.Operation {
		return stormStep(i, "release", holder, stormAnswer{Status: "released", Holder: holder, Epoch: epoch})
	}
	lost := stormAnswer{Status: "lost"}
	for name, c := range map[string]struct {
		history []porcupine.Operation
		want    porcupine.CheckResult
	}{
		"sound":               {[]porcupine.Operation{grant(1, "a", 1), release(2, "a", 1), grant(3, "b", 2)}, porcupine.Ok},
		"expired, then taken": {[]porcupine.Operation{grant(1, "a", 1), grant(62, "b", 2)}, porcupine.Ok},
		"killed after it":     {[]porcupine.Operation{grant(1, "a", 1), stormStep(2, "release", "a", stormAnswer{}), grant(3, "b", 2)}, porcupine.Ok},
		"killed before it": {[]porcupine.Operation{
			grant(1, "a", 1), stormStep(2, "release", "a", stormAnswer{}), release(3, "a", 1),
		}, porcupine.Ok},
		"double grant":      {[]porcupine.Operation{grant(1, "a", 1), grant(2, "b", 2)}, porcupine.Illegal},
		"same epoch twice":  {[]porcupine.Operation{grant(1, "a", 1), release(2, "a", 1), grant(3, "b", 1)}, porcupine.Illegal},
		"lost hold":         {[]porcupine.Operation{grant(1, "a", 1), stormStep(2, "renew", "a", lost)}, porcupine.Illegal},
		"hold found free":   {[]porcupine.Operation{grant(1, "a", 1), stormStep(2, "check", "a", stormAnswer{Status: "free", Epoch: 1})}, porcupine.Illegal},
		"epoch gap":         {[]porcupine.Operation{grant(1, "a", 1), release(2, "a", 1), grant(3, "b", 3)}, porcupine.Illegal},
		"released by other": {[]porcupine.Operation{grant(1, "a", 1), release(2, "b", 1)}, porcupine.Illegal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := stormVerdict(c.history); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
