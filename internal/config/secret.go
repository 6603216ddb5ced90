package config

import (
	"cmp"
	"encoding/json"
	"html"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"stint/internal/plain"
)

// minSecret is the length from which a value is looked for in shown text: shorter ones occur in
// ordinary words. These are looked for behind their name, as NAME=VALUE or in the quotes of a configuration.
const minSecret = 8

// named is a value to look for, with its name in front if it is short.
func named(name, value string) string {
	if len(value) < minSecret && value != "" {
		return name + "=" + value
	}
	return value
}

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
		return word == "KEY" || word == "PAT" || word == "HEADERS" || slices.ContainsFunc([]string{
			"APIKEY", "TOKEN", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS",
		}, func(end string) bool { return strings.HasSuffix(word, end) })
	})
}

// secretsIn are the secrets in a text of the configuration, or in the value of a variable: all of it
// by its name, what follows NAME= in it, and the login in an address.
func secretsIn(name, text string) (list []string) {
	if SecretName(name) {
		list = append(list, named(name, text))
	}
	if name, value, is := strings.Cut(text, "="); is && !strings.ContainsAny(name, " \t\n") && SecretName(name) {
		list = append(list, named(name, value))
	}
	if u, err := url.Parse(text); err == nil && u.User != nil {
		if password, has := u.User.Password(); has {
			list = append(list, u.User.String(), password)
		} else if strings.HasPrefix(u.Scheme, "http") { // a token
			list = append(list, u.User.Username())
		}
	}
	return list
}

// Secrets are the values that nobody is to be shown, the longest first: those of agents'
// environment files, and those in the texts of the configuration and in the variables that it names,
// whichever key has them.
func (c *Config) Secrets(getenv func(string) string) (list []string) {
	for _, a := range c.Agents {
		for _, entry := range a.secrets {
			name, value, _ := strings.Cut(entry, "=")
			list = append(list, named(name, value))
		}
	}
	eachText(reflect.ValueOf(*c), "", func(name, text string) {
		list = append(list, secretsIn(name, text)...)
		list = append(list, secretsIn(text, getenv(text))...)
	})
	list = slices.DeleteFunc(list, func(value string) bool { return len(value) < minSecret })
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(list)
}

// eachText hands on every text in a value of the configuration. A name is that of a variable which
// the text is set as.
func eachText(v reflect.Value, name string, do func(name, text string)) {
	switch v.Kind() { //nolint:exhaustive // the others hold no text
	case reflect.String:
		do(name, v.String())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			eachText(v.Elem(), "", do)
		}
	case reflect.Slice:
		flag := "" // in front of the item
		for _, item := range v.Seq2() {
			if word := item.String(); strings.HasPrefix(word, "-") {
				eachText(item, "", do)
				flag = word
				continue
			}
			eachText(item, flag, do)
			flag = ""
		}
	case reflect.Map:
		for key, value := range v.Seq2() {
			if name = ""; v.Type() == reflect.TypeFor[map[string]string]() { // words about tasks are of other types
				name = key.String()
			}
			eachText(value, name, do)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				eachText(v.Field(i), "", do)
			}
		}
	}
}

// Masker replaces secrets by as many asterisks as they have bytes, so that a length written beforehand
// stays true. Quoted or escaped they are replaced, too.
func Masker(secrets []string) *strings.Replacer {
	var pairs []string
	escapes := []func(string) string{
		strings.Clone, html.EscapeString,
		func(s string) string { quoted, _ := json.Marshal(s); return string(quoted[1 : len(quoted)-1]) }, // no string fails
	}
	for _, secret := range secrets {
		befores := []string{""}
		if name, value, is := strings.Cut(secret, "="); is && len(value) < minSecret && SecretName(name) {
			befores = plain.Each(strings.Split(`=| = |="| = "|='| = '|: |": "| |", "|" "`, "|"), func(s string) string { return name + s })
			secret = value
		}
		for _, before := range befores {
			for _, escape := range escapes {
				pairs = append(pairs, escape(before+secret), escape(before)+strings.Repeat("*", len(escape(secret))))
			}
		}
	}
	return strings.NewReplacer(pairs...)
}

// Mask is a variable's value to show.
func Mask(name, value string) string {
	if value != "" && SecretName(name) {
		return Hidden
	}
	return value
}
