package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"stint/internal/machine"
	"stint/internal/testkit/must"
)

// TestClaimOpensHostOnce counts how often a claim opens the file that names this host.
func TestClaimOpensHostOnce(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	file, state := filepath.Join(dir, "stint.toml"), filepath.Join(dir, "state")
	must.Do(t, os.WriteFile(file, fmt.Appendf(nil, "fleet = \"once\"\nstate = %q\n[agent.fake]\ncommand = [\"true\"]\n[category.code]\n", state), 0o600))
	claim := func(key string) { output(t, "--config", file, "claim", key, "--holder", "alice") }
	claim("first") // makes the folder
	fd := must.Get(unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC))(t)
	defer func() { must.Do(t, unix.Close(fd)) }()
	must.Get(unix.InotifyAddWatch(fd, filepath.Join(state, machine.IdentityFile), unix.IN_OPEN|unix.IN_CLOSE_NOWRITE))(t)
	claim("second")
	events := make([]byte, 4096)
	n := must.Get(unix.Read(fd, events))(t)
	opened := 0
	for e := events[:n]; len(e) > 0; e = e[unix.SizeofInotifyEvent:] { // of a file: without names
		if binary.NativeEndian.Uint32(e[4:])&unix.IN_OPEN != 0 {
			opened++
		}
	}
	must.Equal(t, "times that the file was opened", opened, 1)
}
