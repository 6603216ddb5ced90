package config_test

import (
	"slices"
	"testing"

	"stint/internal/config"
)

func TestSecretName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"API_KEY": true, "ANTHROPIC_API_KEY": true, "AWS_SECRET_ACCESS_KEY": true, "GITHUB_TOKEN": true, "npm_token": true,
		"DB_PASSWORD": true, "DBPASSWORD": true, "PGPASSWORD": true, "OPENAI_APIKEY": true, "SIGNING_SECRET": true, "GH_PAT": true,
		"PATH": false, "MAX_TOKENS": false, "TOKEN_LIMIT": false, "TOKEN_FILE": false, "SSH_AUTH_SOCK": false, "KEYBOARD": false,
		"GIT_ASKPASS": false, "MODEL": false, "": false,
	} {
		if got := config.SecretName(name); got != want {
			t.Errorf("%s: got %t, want %t", name, got, want)
		}
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	c := &config.Config{
		Notice: config.Notice{Webhook: "https://somebody:pass@chat.example.org/hooks/T01/abcdef"},
		Tasks:  config.Tasks{PassEnvironment: []string{"GH_TOKEN", "HOME"}},
		Agents: map[string]config.Agent{
			"a": {Environment: map[string]string{"API_KEY": "sk-0123456789", "MODEL": "a-long-name", "PIN_KEY": "1234"}},
			"b": {Environment: map[string]string{"API_KEY": "sk-0123456789"}, PassEnvironment: []string{"UNSET_TOKEN"}},
		},
	}
	got := c.Secrets(environment("GH_TOKEN", "ghp_0123456789abc", "HOME", "/home/somebody"))
	if want := []string{"/hooks/T01/abcdef", "ghp_0123456789abc", "sk-0123456789", "somebody:pass"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
