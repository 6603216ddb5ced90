package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"stint/internal/agent/transcript"
	"stint/internal/fleet"
)

// Price is the price of a model's tokens, in USD for a million of them.
type Price struct {
	Input       float64 `toml:"input" max:"1e6" required:"write input = …, in USD for a million tokens"`
	CachedInput float64 `toml:"cached_input" max:"1e6" default:"-"` // read from a cache; left out in the file: as Input
	CacheWrite  float64 `toml:"cache_write" max:"1e6" default:"-"`  // written to a cache; left out in the file: as Input
	Output      float64 `toml:"output" max:"1e6" required:"write output = …, in USD for a million tokens"`
}

// Prices are those of the models, by name. A name that ends in "*" stands for all that
// begin so.
type Prices map[string]Price

// Of finds the price of a model: by its own name, or else by the longest that stands for it.
func (p Prices) Of(model string) (found Price, ok bool) {
	if found, ok = p[model]; ok {
		return found, true
	}
	longest := -1
	for name, price := range p {
		start, many := strings.CutSuffix(name, "*")
		if many && len(start) > longest && strings.HasPrefix(model, start) {
			longest, found = len(start), price
		}
	}
	return found, longest >= 0
}

// Cost returns the cost of tokens, and the models without a price, sorted: with one of these the
// cost of the whole is not known.
func (p Prices) Cost(used transcript.Models) (usd float64, unpriced []string) {
	for _, model := range slices.Sorted(maps.Keys(used)) {
		price, ok := p.Of(model)
		if !ok {
			unpriced = append(unpriced, model)
			continue
		}
		t := used[model]
		usd += (float64(t.Input)*price.Input + float64(t.CacheRead)*price.CachedInput +
			float64(t.CacheWrite)*price.CacheWrite + float64(t.Output)*price.Output) / 1e6
	}
	return usd, unpriced
}

// costUnknown says why the cost of an agent's sessions cannot be known, and what to do
// about it; "" where it can be.
func (c *Config) costUnknown(name string) (reason, hint string) {
	// The others say it in their output or in their result file; where they do not, their sessions count as the reserve.
	if !c.Agents[name].CLI.NoCost || len(c.Prices) > 0 {
		return "", ""
	}
	return "it reports none, and no model has a price",
		`write [price."MODEL"] with input and output, or bound tokens or runs instead of usd: stint help agents`
}

// checkBudgets refuses a budget in USD over an agent whose cost cannot be known: it would
// bind nothing.
func (c *Config) checkBudgets() {
	all := c.AgentNames()
	refuse := func(b Budget, agents []string, key ...string) {
		for _, name := range agents {
			reason, hint := c.costUnknown(name)
			if b.USD > 0 && reason != "" {
				c.file.Report(dotted(append(key, "budget", "usd")...),
					fmt.Errorf("the cost of a session of agent %s cannot be known: %s", name, reason), hint)
			}
		}
	}
	refuse(c.Budget, all)
	for _, name := range all {
		refuse(c.Agents[name].Budget, []string{name}, "agent", name)
	}
	for _, name := range c.CategoryNames() {
		refuse(c.Categories[name].Budget, c.Categories[name].Agents, "category", string(name))
	}
}

// Unpriced says why budgets in USD do not know a model's cost.
func Unpriced(models []string) string {
	var named []string
	for _, m := range models {
		if m == "" {
			m = "a model that has no name"
		} else {
			m = "model " + m
		}
		named = append(named, m)
	}
	return fmt.Sprintf("no price is configured for %s", strings.Join(named, " and "))
}

// BindsUSD reports whether a budget in USD holds for sessions of the category by the agent.
func (c *Config) BindsUSD(category fleet.Category, agent string) bool {
	return c.Budget.USD > 0 || c.Agents[agent].Budget.USD > 0 || c.Categories[category].Budget.USD > 0
}

// AllBudgets are those of all scopes, also of what has no bound: the fleet's first, then
// those of agents and of categories by name.
func (c *Config) AllBudgets() []fleet.Budget {
	list := []fleet.Budget{c.Budget.of(fleet.FleetScope)}
	for _, name := range c.AgentNames() {
		list = append(list, c.Agents[name].Budget.of(fleet.AgentScope(name)))
	}
	for _, name := range c.CategoryNames() {
		list = append(list, c.Categories[name].Budget.of(fleet.CategoryScope(name)))
	}
	return list
}

// Budgets are those that hold for a session of the category by the agent.
func (c *Config) Budgets(category fleet.Category, agent string) []fleet.Budget {
	return []fleet.Budget{
		c.Budget.of(fleet.FleetScope), c.Agents[agent].Budget.of(fleet.AgentScope(agent)),
		c.Categories[category].Budget.of(fleet.CategoryScope(category)),
	}
}

func (b Budget) of(scope fleet.Scope) fleet.Budget {
	return fleet.Budget{Scope: scope, Runs: b.Runs, Tokens: b.Tokens, USD: b.USD}
}
