package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// output runs a command and returns what it prints, also when it fails. The command has a process group
// of its own: Ctrl-C is for the demo to hear, and must not end a clean-up.
func output(ctx context.Context, env []string, argv ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		words := strings.Join(append([]string{filepath.Base(argv[0])}, argv[1:]...), " ")
		return stdout.Bytes(), fmt.Errorf("%s: %w: %s", words, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.Bytes(), nil
}

// environment is the demo's own without what would lead git or stint elsewhere.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(e string) bool {
		return strings.HasPrefix(e, "GIT_") || strings.HasPrefix(e, "STINT_")
	})
}
