package config

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"stint/internal/tomlfile"
)

// leastSecret is how long a value must be to be looked for in what is shown: shorter ones
// are in ordinary words.
const leastSecret = 8

// SecretName reports whether a variable looks, by its name, like one that holds a secret,
// such as API_KEY. One that says where a secret is, or how much of something there is, does
// not: TOKEN_FILE, MAX_TOKENS.
func SecretName(name string) bool {
	words := strings.FieldsFunc(strings.ToUpper(name), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	if len(words) == 0 {
		return false
	}
	if slices.Contains([]string{"FILE", "PATH", "DIR", "SOCK", "URL", "LIMIT", "COUNT", "SIZE", "TTL", "TIMEOUT", "HELPER", "COMMAND"}, words[len(words)-1]) {
		return false
	}
	return slices.ContainsFunc(words, func(word string) bool {
		return word == "KEY" || word == "PAT" || slices.ContainsFunc([]string{
			"APIKEY", "TOKEN", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS",
		}, func(end string) bool { return strings.HasSuffix(word, end) })
	})
}

// Secrets are the values that nobody is to be shown, the longest first: those of agents'
// environment files, those of variables with the name of a secret that agents and commands are
// given, and the webhook's address behind its
// host, which is all that a chat service asks of who posts there.
func (c *Config) Secrets(getenv func(string) string) (list []string) {
	keep := func(value string) {
		if len(value) >= leastSecret {
			list = append(list, value)
		}
	}
	add := func(name, value string) {
		if SecretName(name) {
			keep(value)
		}
	}
	if u, err := url.Parse(c.Notice.Webhook); err == nil {
		keep(u.RequestURI())
		keep(u.User.String())
	}
	passed := slices.Concat(c.Tasks.PassEnvironment, c.Selector.PassEnvironment, c.Notice.PassEnvironment)
	for _, a := range c.Agents {
		passed = append(passed, a.PassEnvironment...)
		for _, entry := range a.secrets {
			_, value, _ := strings.Cut(entry, "=")
			keep(value)
		}
		for name, value := range a.Environment {
			add(name, value)
		}
	}
	for _, category := range c.Categories {
		passed = append(passed, category.WIP.PassEnvironment...)
	}
	for _, name := range passed {
		add(name, getenv(name))
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(list)
}

// Mask is a variable's value to show.
func Mask(name, value string) string {
	if value != "" && SecretName(name) {
		return tomlfile.Hidden
	}
	return value
}
