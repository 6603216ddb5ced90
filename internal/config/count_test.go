package config_test

import (
	"testing"

	"stint/internal/config"
)

// TestKeysAreFew counts the leaves of the schema, a name of the user's own once: what a person may have to know.
func TestKeysAreFew(t *testing.T) {
	t.Parallel()
	const most = 96 // and no more: each new one takes the place of another
	n := leaves(config.SchemaOf(""))
	t.Logf("%d keys", n)
	if n > most {
		t.Errorf("got %d keys, want at most %d", n, most)
	}
}

func leaves(s config.Schema) (n int) {
	if properties, is := s["properties"].(config.Schema); is {
		for _, p := range properties {
			n += leaves(p.(config.Schema))
		}
		return n
	}
	if each, is := s["additionalProperties"].(config.Schema); is && each["properties"] != nil {
		return leaves(each)
	}
	return 1
}
