package engine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"stint/internal/box"
	"stint/internal/config"
)

// withhold finds which settings of the operator's tools have a token in them, so that the box leaves those out. In a shared
// workspace git goes by a copy of its own settings without the lines that have one, which is returned: it names who commits.
//
// If we die in it, the copy goes with the folder of the run.
func withhold(p *box.Places) (git string, err error) {
	for _, path := range box.Settings(p.Home) {
		at, _ := filepath.EvalSymlinks(path) // a link to a folder of settings, as some keep theirs
		_ = filepath.WalkDir(at, func(file string, d fs.DirEntry, err error) error {
			text, lost := os.ReadFile(file)
			if err == nil && lost == nil && !d.IsDir() && withoutTokens(string(text)) != string(text) && !slices.Contains(p.Tokens, path) {
				p.Tokens = append(p.Tokens, path)
			}
			return nil
		})
	}
	settings := box.GitSettings(p.Home)
	if len(p.Borrowed) > 0 || !slices.ContainsFunc(settings, func(path string) bool { return slices.Contains(p.Tokens, path) }) {
		return "", nil // a clone has settings of its own
	}
	p.Tokens = append(p.Tokens, settings...)
	var all strings.Builder
	for _, path := range settings {
		text, _ := os.ReadFile(path) // one of them may be missing
		all.WriteString(withoutTokens(string(text)) + "\n")
	}
	// Nothing that is in the place of the copy is followed or kept.
	if err := errors.Join(os.MkdirAll(p.Files.Dir, 0o700), os.RemoveAll(p.Files.Git)); err != nil {
		return "", err
	}
	file, err := os.OpenFile(p.Files.Git, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(all.String())
	return p.Files.Git, errors.Join(err, file.Close())
}

// withoutTokens is a text of settings without the lines that have a login in an address, a name for a secret before an equals
// sign, or a token by its form. A section that has one in its name gets another name, so that what follows belongs to no other.
func withoutTokens(text string) string {
	token := regexp.MustCompile(`(?i)https?://[^/\s"'@]+@|extraheader|(gh[opsur]_|github_pat_|glpat-|sk-|xox[abp]-|AKIA)[A-Za-z0-9_-]{10,}`)
	name := regexp.MustCompile(`([A-Za-z0-9_.-]+)["']?\s*=`)
	var rest strings.Builder
	for line := range strings.Lines(text) {
		secret := token.MatchString(line)
		for _, m := range name.FindAllStringSubmatch(line, -1) {
			secret = secret || config.SecretName(m[1])
		}
		switch {
		case !secret:
			rest.WriteString(line)
		case strings.HasPrefix(strings.TrimSpace(line), "["):
			rest.WriteString("[withheld]\n")
		}
	}
	return rest.String()
}
