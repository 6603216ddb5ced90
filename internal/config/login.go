package config

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Login lists the places where an agent may have its credentials for its service: any one of
// them will do. Whether that is still good only the service knows.
type Login struct {
	Variables []string // of its environment
	Files     []LoginFile
	Command   string // that logs it in
}

// LoginFile is a file of an agent's own folder.
type LoginFile struct {
	Variable string // of its environment, that names the folder
	Folder   string // else, within the home folder
	Name     string
	Beside   []string // what else it keeps, within the home folder
	Settings []string // in the folder, what it is configured by
	Except   []string // in these, what it writes itself
}

// PresetLogin returns the places of the login of a preset's agent. The login of [DefaultPreset] is not known.
func PresetLogin(preset string) (l Login, known bool) {
	switch preset {
	case "claude":
		return Login{
			Variables: []string{"CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY"},
			Files: []LoginFile{{
				Variable: "CLAUDE_CONFIG_DIR", Folder: ".claude", Name: ".credentials.json", Beside: []string{".claude.json"},
				Settings: []string{
					"settings.json", "settings.local.json", "CLAUDE.md", "agents", "commands", "hooks", "local", "output-styles", "plugins", "rules", "skills",
				},
			}},
			Command: "claude /login",
		}, true
	case "codex":
		return Login{
			Variables: []string{"CODEX_API_KEY", "OPENAI_API_KEY"},
			Files: []LoginFile{{
				Variable: "CODEX_HOME", Folder: ".codex", Name: "auth.json",
				Settings: []string{"config.toml", "AGENTS.md", "hooks.json", "prompts", "rules", "skills"},
				Except:   []string{"skills/.system"},
			}},
			Command: "codex login",
		}, true
	case "gptme":
		return Login{
			Variables: []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY"},
			// It asks for a key at its first start, and keeps it there.
			Files: []LoginFile{{
				Variable: "XDG_CONFIG_HOME", Folder: ".config", Name: "gptme/config.toml", Settings: []string{"config.toml"},
				Beside: []string{".local/share/gptme"},
			}},
			Command: "gptme",
		}, true
	}
	return Login{}, false
}

// Own are the folders and files in which a preset's agent keeps its login, its settings and
// its sessions, and settings those of them that say what it runs, for people as well.
func (l Login) Own(getenv func(string) string) (own, settings []string) {
	home := getenv("HOME")
	for _, f := range l.Files {
		folder := getenv(f.Variable)
		if folder == "" && home != "" {
			folder = filepath.Join(home, f.Folder)
			for _, name := range f.Beside {
				own = append(own, filepath.Join(home, name))
			}
		}
		if folder == "" {
			continue
		}
		if dir := filepath.Dir(f.Name); dir != "." {
			folder = filepath.Join(folder, dir) // the agent's own in a folder of many programs
		}
		own = append(own, folder)
		for _, name := range f.Settings {
			settings = append(settings, filepath.Join(folder, name))
		}
		for _, name := range f.Except {
			own = append(own, filepath.Join(folder, name))
		}
	}
	return own, settings
}

// Passed is the part of an agent's environment that is the operator's: what is handed on
// from an environment, what is set for it, and its environment file. Later entries win.
func (a Agent) Passed(getenv func(string) string) (env []string) {
	for _, name := range a.PassEnvironment {
		if value := getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range a.Environment {
		env = append(env, name+"="+value)
	}
	return append(env, a.secrets...)
}

// Judged is the agent whose environment a check or a grader of its work gets. They may run what a
// session wrote, and so they see none of the operator's variables but those that find programs, and
// nothing of the file that holds a secret.
func (a Agent) Judged() Agent {
	a.PassEnvironment, a.secrets, a.Environment = commonEnvironment(), nil, maps.Clone(a.Environment)
	maps.DeleteFunc(a.Environment, func(name, value string) bool { return len(secretsIn(name, value)) > 0 })
	return a
}

// Sandboxed says whether the agent is Claude Code with its own sandbox.
func (a Agent) Sandboxed() bool {
	return slices.ContainsFunc(a.Command, func(word string) bool { return strings.Contains(word, `"sandbox":{"enabled":true`) })
}

// SandboxFiles are the files that Claude Code's sandbox puts into its folder where they are not
// there: a shell, git or an editor would run them.
func SandboxFiles() []string {
	return []string{
		".bash_profile", ".bashrc", ".gitconfig", ".gitmodules", ".idea", ".mcp.json", ".profile", ".ripgreprc",
		".vscode", ".zprofile", ".zshrc",
	}
}

// Programs are those that a session needs: the agent's own, then what it does not start
// without. They are looked for in the environment that the agent gets.
func (a Agent) Programs() []string {
	if a.Sandboxed() {
		return []string{a.Command[0], "bwrap", "socat"}
	}
	return a.Command[:1]
}
