package config_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

func TestSecretName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"API_KEY": true, "ANTHROPIC_API_KEY": true, "AWS_SECRET_ACCESS_KEY": true, "GITHUB_TOKEN": true, "npm_token": true,
		"DB_PASSWORD": true, "DBPASSWORD": true, "PGPASSWORD": true, "OPENAI_APIKEY": true, "SIGNING_SECRET": true, "GH_PAT": true,
		"OTEL_EXPORTER_OTLP_HEADERS": true,
		"PATH":                       false, "MAX_TOKENS": false, "TOKEN_LIMIT": false, "TOKEN_FILE": false, "SSH_AUTH_SOCK": false, "KEYBOARD": false,
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
		Notice:  config.Notice{Command: []string{"curl", "https://somebody:pass@chat.example.org/hook"}},
		Command: config.Command{PassEnvironment: []string{"GH_TOKEN", "HOME"}},
		Agents: map[string]config.Agent{
			"a": {Environment: map[string]string{"API_KEY": "sk-0123456789", "MODEL": "a-long-name", "PIN_KEY": "1234"}},
			"b": {
				Command:         []string{"env", "API_KEY=sk-command", "agent", "--token=tk-command", "--password", "hunter2", "--key", "--depth=0123456789", "postgres://somebody@host/it"},
				Environment:     map[string]string{"API_KEY": "sk-0123456789"},
				PassEnvironment: []string{"UNSET_TOKEN", "HTTPS_PROXY"},
			},
		},
		Categories: map[fleet.Category]config.Category{"a": {
			Check: []string{"https://ghp_check@example.org/it", "KEYS=0123456789"}, Unit: map[string]any{"LoadCredential": "token:/home/somebody/token"},
		}},
	}
	got := c.Secrets(environment("GH_TOKEN", "ghp_0123456789abc", "HOME", "/home/somebody", "HTTPS_PROXY", "http://me:proxy-pass@proxy:1"))
	if want := []string{
		"--password=hunter2", "ghp_0123456789abc", "me:proxy-pass", "sk-0123456789", "somebody:pass", "PIN_KEY=1234", "proxy-pass", "sk-command", "tk-command", "ghp_check",
	}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestMaskerOfShortSecrets masks a short value behind its name, as each face writes that, and nowhere else.
func TestMaskerOfShortSecrets(t *testing.T) {
	t.Parallel()
	m := config.Masker((&config.Config{Agents: map[string]config.Agent{"a": {
		Environment: map[string]string{"PASSWORD": "pass"}, Command: []string{"env", "API_KEY=a&b", "agent", "--token", "tok"},
	}}}).Secrets(environment()))
	for text, want := range map[string]string{
		"the pass word a&b tok":                     "the pass word a&b tok",
		`- environment = { PASSWORD = "pass" }`:     `- environment = { PASSWORD = "****" }`,
		`+ environment = { PASSWORD="pass" }`:       `+ environment = { PASSWORD="****" }`,
		`{"diff":"PASSWORD = \"pass\"","a":"pass"}`: `{"diff":"PASSWORD = \"****\"","a":"pass"}`,
		`<td>PASSWORD = &#39;pass&#39;</td>`:        `<td>PASSWORD = &#39;****&#39;</td>`,
		"API_KEY=a&b PASSWORD=pass":                 "API_KEY=*** PASSWORD=****",
		"API_KEY=a&amp;b":                           "API_KEY=*******",
		`["agent", "--token", "tok"]`:               `["agent", "--token", "***"]`,
		`argv: ["agent" "--token" "tok"]`:           `argv: ["agent" "--token" "***"]`,
		"agent --token tok":                         "agent --token ***",
	} {
		if got := m.Replace(text); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestSecretsOfEveryKey finds each key that names variables or sets them by what editors are told of
// it, so that a new one is looked at, too.
func TestSecretsOfEveryKey(t *testing.T) {
	t.Parallel()
	found := 0
	var walk func(s config.Schema, path ...string)
	walk = func(s config.Schema, path ...string) {
		if properties, is := s["properties"].(config.Schema); is {
			for name, of := range properties {
				walk(of.(config.Schema), append(slices.Clone(path), name)...)
			}
		}
		if of, is := s["additionalProperties"].(config.Schema); is {
			walk(of, append(slices.Clone(path), "code")...)
		}
		var value any
		names := func(of any) bool { s, is := of.(config.Schema); return is && s["pattern"] == variables }
		switch {
		case names(s["items"]):
			value = []string{"PATH", "SOME_TOKEN"}
		case names(s["propertyNames"]):
			value = map[string]string{"SOME_TOKEN": "set-0123456789", "MODEL": "some-model"}
		default:
			return
		}
		found++
		t.Run(strings.Join(path, "."), func(t *testing.T) {
			t.Parallel()
			file := map[string]any{
				"fleet": "bob", "state": "/state", "category": map[string]any{"code": map[string]any{}},
				"agent": map[string]any{"code": map[string]any{"command": []string{"a"}}},
			}
			table := file
			for _, name := range path[:len(path)-1] {
				if table[name] == nil {
					table[name] = map[string]any{}
				}
				table = table[name].(map[string]any)
			}
			table[path[len(path)-1]] = value
			text := must.Get(toml.Marshal(file))(t)
			c := must.Get(config.Parse("/ws/stint.toml", text, config.Options{}))(t)
			getenv := environment("SOME_TOKEN", "env-0123456789", "PATH", "/usr/bin:/bin")
			if got := c.Secrets(getenv); len(got) != 1 || !strings.HasSuffix(got[0], "-0123456789") {
				t.Errorf("masked: %q, of\n%s", got, text)
			}
		})
	}
	walk(config.SchemaOf(""))
	if found < 3 {
		t.Errorf("%d keys name variables, want all of them", found)
	}
}

// variables is the pattern of the names of variables.
const variables = "^[A-Za-z_][A-Za-z0-9_]*$"

func TestEnvironmentFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, test := range map[string]struct {
		text  string
		mode  os.FileMode
		value string // of file: a path unless it is a credential
		want  string // what is passed, or a part of the fault
	}{
		"plain":       {text: "API_KEY=sk-0123456789\n", want: "API_KEY=sk-0123456789"},
		"quotes":      {text: "# c\n; c\n\nA='x \"$HOME\\'\nB=\"a \\\"b\\\" \\\\ \\n\"\n C = d e \n", want: `A=x "$HOME\|B=a "b" \ \n|C=d e`},
		"no value":    {text: "export API_KEY\n", want: ":1: want NAME=value"},
		"no name":     {text: "export API_KEY=sk-0123456789\n", want: ":1: "},
		"continued":   {text: "A=b\nB=sk-0123456789\\\n", want: ":2: a value goes on in the next line"},
		"open quote":  {text: "A='sk-0123456789\n", want: ":1: a quote is not closed in its line"},
		"stint's own": {text: "STINT_RUN_ID=sk-0123456789\n", want: "reserved"},
		"others read": {text: "A=b\n", mode: 0o640, want: "others may read or write"},
		"missing":     {value: filepath.Join(dir, "none"), want: "no such file"},
		"folder":      {value: dir, want: "not a regular file"},
		"no unit":     {value: "credential:x", want: "no credential x here"},
		"credential":  {text: "API_KEY=sk-0123456789\n", value: "credential:credential", want: "API_KEY=sk-0123456789"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(dir, name)
			if test.text != "" {
				must.Do(t, errors.Join(os.WriteFile(path, []byte(test.text), 0o600), os.Chmod(path, cmp.Or(test.mode, 0o600))))
			}
			if test.value != "" {
				path = test.value
			}
			text := fmt.Sprintf("fleet = \"bob\"\nstate = \"/state\"\n[agent.a]\ncommand = [\"a\"]\npass_environment = []\nenvironment_file = %q\n[category.code]\n", path)
			getenv := environment()
			if name == "credential" {
				getenv = environment("CREDENTIALS_DIRECTORY", dir)
			}
			c := must.Get(config.Parse("/ws/stint.toml", []byte(text), config.Options{Getenv: getenv}))(t)
			a := c.Agents["a"]
			got := strings.Join(a.Passed(getenv), "|")
			if err := a.Fault(true); err != nil {
				if got = err.Error(); strings.Contains(got, "sk-") {
					t.Errorf("the fault has a secret: %s", got)
				}
			} else if len(c.Secrets(getenv)) == 0 && strings.Contains(got, "sk-") {
				t.Error("the value is not masked")
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
