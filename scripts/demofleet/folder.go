package main

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

//go:embed agent stint.toml timer.conf service.conf hostagent host.sh hosts.toml
var files embed.FS

// folder holds all that the demo makes outside the manager's folder for units.
type folder string

func (f folder) in(names ...string) string {
	return filepath.Join(append([]string{string(f)}, names...)...)
}
func (f folder) program() string          { return f.in("stint") }
func (f folder) workspace() string        { return f.in("workspace") }
func (f folder) config() string           { return f.in("workspace", "stint.toml") }
func (f folder) log() string              { return f.in("fires.log") }
func (f folder) runLog(run string) string { return f.in("state", "runs", run, "log") }

// plain matches the characters that systemd takes unchanged in a path.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./=:-]+$`)

// noExec is ST_NOEXEC of statfs(2).
const noExec = 0x8

// newFolder makes a folder whose path systemd takes unchanged and in which programs
// can be run.
func newFolder(name string) (folder, error) {
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		dir, err := filepath.EvalSymlinks(dir)
		var fs syscall.Statfs_t
		if err != nil || !filepath.IsAbs(dir) || !plain.MatchString(dir) || syscall.Statfs(dir, &fs) != nil || fs.Flags&noExec != 0 {
			continue
		}
		if made, err := os.MkdirTemp(dir, "stint-"+name+"-"); err == nil {
			return folder(made), nil
		}
	}
	return "", errors.New("no temporary folder with a plain name that programs may be run in: tried TMPDIR, /tmp and /var/tmp")
}

// fill puts in what the fleet consists of: the program, a copy so that a build in
// mid-demo does not matter, the agent and the configuration.
func (f folder) fill(name, program string) error {
	binary, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	config, err := f.file("stint.toml", name)
	if err != nil {
		return err
	}
	agent, err := f.file("agent", name)
	if err != nil {
		return err
	}
	return errors.Join(
		os.MkdirAll(f.in("workspace", "tasks"), 0o755),
		os.WriteFile(f.program(), binary, 0o755),
		os.WriteFile(f.in("agent"), agent, 0o755),
		os.WriteFile(f.config(), config, 0o644),
	)
}

// file is an embedded file with the names filled in.
func (f folder) file(path, name string) ([]byte, error) {
	text, err := files.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return []byte(strings.NewReplacer("FLEET", name, "FOLDER", string(f)).Replace(string(text))), nil
}

// tail is the end of what the fires said.
func (f folder) tail() string {
	text, err := os.ReadFile(f.log())
	if err != nil {
		return fmt.Sprintf("nothing: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return "  " + strings.Join(lines[max(0, len(lines)-5):], "\n  ")
}
