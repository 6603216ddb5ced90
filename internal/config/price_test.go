package config_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stint/internal/agent/transcript"
	"stint/internal/config"
)

func TestPricesOf(t *testing.T) {
	t.Parallel()
	prices := config.Prices{"gpt-5": {Input: 1}, "gpt-5*": {Input: 2}, "gpt-5-co*": {Input: 3}, "a*": {Input: 4}}
	for model, want := range map[string]float64{
		"gpt-5": 1, "gpt-5-mini": 2, "gpt-5*": 2, "gpt-5-codex": 3, "a": 4, "gpt-4": 0, "GPT-5": 0, "": 0,
	} {
		got, ok := prices.Of(model)
		if got.Input != want || ok != (want > 0) {
			t.Errorf("%q: got %v, %t, want %v", model, got.Input, ok, want)
		}
	}
	if got, ok := (config.Prices{"*": {Input: 9}, "b*": {Input: 1}}).Of("c"); !ok || got.Input != 9 {
		t.Errorf("any model: got %v, %t, want 9", got.Input, ok)
	}
}

func TestPricesCost(t *testing.T) {
	t.Parallel()
	prices := load(t, least+`
[price.big]
input = 3
cached_input = 0.3
cache_write = 3.75
output = 15
[price.plain]
input = 2
output = 0
`).Prices
	for name, test := range map[string]struct {
		used     transcript.Models
		usd      float64
		unpriced []string
	}{
		"nothing":          {nil, 0, nil},
		"each kind":        {transcript.Models{"big": {Input: 1e6, Output: 2e6, CacheRead: 10e6, CacheWrite: 4e6}}, 3 + 30 + 3 + 15, nil},
		"cached as input":  {transcript.Models{"plain": {Input: 1e6, CacheRead: 1e6, CacheWrite: 1e6, Output: 9e9}}, 6, nil},
		"several":          {transcript.Models{"big": {Input: 500_000}, "plain": {Input: 250_000}}, 2, nil},
		"some not on list": {transcript.Models{"z": {Input: 1}, "plain": {Input: 1e6}, "a": {Input: 1}}, 2, []string{"a", "z"}},
	} {
		usd, unpriced := prices.Cost(test.used)
		if math.Abs(usd-test.usd) > 1e-9 || cmp.Diff(unpriced, test.unpriced) != "" {
			t.Errorf("%s: got %v USD, without a price %v, want %v, %v", name, usd, unpriced, test.usd, test.unpriced)
		}
	}
}

func TestLoadRefusesPrices(t *testing.T) {
	t.Parallel()
	const price = least + "[price.m]\ninput = 1\noutput = 1\n"
	refuses(t, []unfit{
		{"no input", least + "[price.m]\noutput = 1", "6:8: price.m.input: missing", "write input = …, in USD for a million tokens"},
		{"no output", least + "[price.m]\ninput = 1", "6:8: price.m.output: missing", "write output = …, in USD for a million tokens"},
		{"money back", price + "cached_input = -1", "9:1: price.m.cached_input: want a number from 0 to 1000000, not -1", "write cached_input = 0.0"},
		{"another key", price + "cached = 1", "9:1: price.m.cached: unknown key", "did you mean cached_input?"},
		{"star in the middle", least + "[price.\"a*b\"]\ninput = 1\noutput = 1", `6:8: price."a*b": want the name of a model, or its beginning and a "*"`, `rename it, as in [price."gpt-5*"]`},
	})
}

// TestBudgetsThatBindNothing has a budget in USD over each kind of agent.
func TestBudgetsThatBindNothing(t *testing.T) {
	t.Parallel()
	const (
		price   = "[price.\"gpt*\"]\ninput = 1\noutput = 1\n"
		write   = `write [price."MODEL"] with input and output, or bound tokens or runs instead of usd: stint help agents`
		codex   = "fleet = \"bob\"\nstate = \"/s\"\n[agent.codex]\npreset = \"codex\"\n"
		another = "[agent.text]\ncommand = [\"x\"]\n"
	)
	refuses(t, []unfit{
		{
			"the fleet's", codex + "[category.code]\n[budget]\nusd = 5",
			"7:1: budget.usd: the cost of a session of agent codex cannot be known: it reports none, and no model has a price", write,
		},
		{
			"the agent's", codex + "budget = { usd = 5 }\n[category.code]\n",
			"5:12: agent.codex.budget.usd: the cost of a session of agent codex cannot be known: it reports none, and no model has a price", write,
		},
		{
			"the category's", codex + "[category.code.budget]\nusd = 5",
			"6:1: category.code.budget.usd: the cost of a session of agent codex cannot be known: it reports none, and no model has a price", write,
		},
	})
	for name, text := range map[string]string{
		"codex with a price":              codex + "budget = { usd = 5 }\n[category.code]\n" + price,
		"codex by tokens":                 codex + "budget = { tokens = 5, runs = 1 }\n[category.code]\n",
		"a program that reports its cost": "fleet = \"bob\"\nstate = \"/s\"\n" + another + "[category.code]\n[budget]\nusd = 5",
		"claude":                          "fleet = \"bob\"\nstate = \"/s\"\n[agent.claude]\npreset = \"claude\"\n[category.code]\n[budget]\nusd = 5",
		"another category's agent":        codex + another + "[category.code]\nagents = [\"codex\"]\n[category.docs]\nagents = [\"text\"]\nbudget = { usd = 5 }",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			load(t, text)
		})
	}
}
