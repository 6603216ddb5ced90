package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"stint/internal/fleet"
)

// credentialPrefix begins the name of a credential that systemd has given to the unit.
const credentialPrefix = "credential:"

// checkSecretFile accepts what [Agent.EnvironmentFile] may be.
func checkSecretFile(s string) error {
	name, credential := strings.CutPrefix(s, credentialPrefix)
	switch {
	case s == "" || filepath.IsAbs(s):
		return nil
	case credential && name != "" && name == filepath.Base(name):
		return nil
	}
	return fleet.WithHint(errors.New("neither an absolute path nor a credential"),
		`write "/home/you/.config/stint/claude.env", or "credential:NAME" for one that the unit loads`)
}

// readSecrets reads the agents' environment files. A file that is missing, or that others may
// read, keeps its agent from work: a session would only find that its login fails.
func (c *Config) readSecrets(getenv func(string) string) {
	for name, a := range c.Agents {
		if a.EnvironmentFile == "" {
			continue
		}
		var err error
		if a.secrets, err = readSecretFile(a.EnvironmentFile, getenv("CREDENTIALS_DIRECTORY")); err != nil {
			a.fault = fmt.Errorf("environment file of agent %s: %w", name, err)
		}
		c.Agents[name] = a
	}
}

// Fault says why a session of the agent may lack the values of its environment file; nil: it has them. A
// process that is no session's unit has no credentials, which says nothing of the session.
func (a Agent) Fault(begins bool) error {
	if !begins && strings.HasPrefix(a.EnvironmentFile, credentialPrefix) {
		return nil
	}
	return a.fault
}

// maxSecrets is far more than any list of keys has bytes.
const maxSecrets = 64 << 10

func readSecretFile(path, credentials string) ([]string, error) {
	if name, credential := strings.CutPrefix(path, credentialPrefix); credential {
		if credentials == "" {
			return nil, fleet.WithHint(fmt.Errorf("no credential %s here", name),
				"only a unit has credentials: [category.NAME.unit] LoadCredential = ["+fmt.Sprintf("%q", name+":/path")+"]")
		}
		path = filepath.Join(credentials, name)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // nobody waits for a pipe's writer
	if err != nil {
		return nil, fleet.WithHint(err, "write the file, NAME=value in each line, and: chmod 600 "+fleet.ShellWord(path))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	stat, _ := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fleet.WithHint(fmt.Errorf("others may read or write %s", path), "chmod 600 "+fleet.ShellWord(path))
	case stat != nil && stat.Uid != 0 && int(stat.Uid) != os.Geteuid():
		return nil, fmt.Errorf("%s belongs to another user, %d", path, stat.Uid)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSecrets))
	if err != nil {
		return nil, err
	}
	env, err := parseSecretFile(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	return env, nil
}

// parseSecretFile reads the part of systemd's EnvironmentFile= format that means one thing: NAME=value
// in each line, the value in quotes or without, and comments. Nothing is expanded, and a
// backslash stands for itself, except in double quotes before a quote or another. No error has a
// value in it.
func parseSecretFile(text string) (env []string, err error) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		if line = strings.TrimSpace(line); line == "" || strings.ContainsAny(line[:1], "#;") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, fmt.Errorf("%d: want NAME=value", n)
		}
		if err := checkVariable(strings.TrimSpace(name)); err != nil {
			return nil, fmt.Errorf("%d: %w", n, err)
		}
		value = strings.TrimSpace(value)
		if quote := value[:min(1, len(value))]; quote == `"` || quote == "'" {
			if len(value) < 2 || !strings.HasSuffix(value, quote) {
				return nil, fmt.Errorf("%d: a quote is not closed in its line", n)
			}
			if value = value[1 : len(value)-1]; quote == `"` {
				value = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(value)
			}
		} else if strings.HasSuffix(value, `\`) {
			return nil, fmt.Errorf("%d: a value goes on in the next line", n)
		}
		env = append(env, strings.TrimSpace(name)+"="+value)
	}
	return env, nil
}
