package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// fires is the number of the demo's fires.
const fires = 4

// demo is one showing.
type demo struct {
	folder folder
	units  units
}

func newDemo(program string) (*demo, error) {
	// Unique on this machine, also among demos in namespaces of their own, where process
	// numbers repeat.
	random := make([]byte, 4)
	_, _ = rand.Read(random) // which never fails
	name := fmt.Sprintf("demo_%d_%s", os.Getpid(), hex.EncodeToString(random))
	u, err := newUnits(name)
	if err != nil {
		return nil, err
	}
	f, err := newFolder(name)
	if err != nil {
		return nil, err
	}
	if err := f.fill(name, program); err != nil {
		return nil, errors.Join(err, os.RemoveAll(string(f)))
	}
	return &demo{f, u}, nil
}

// stint calls the program under show, with the demo's configuration.
func (d *demo) stint(ctx context.Context, args ...string) ([]byte, error) {
	return output(ctx, environment(), append([]string{d.folder.program(), "--config", d.folder.config()}, args...)...)
}

// run shows the fleet at work and what came of it, and checks that.
func (d *demo) run(ctx context.Context) error {
	if err := d.prepare(ctx); err != nil {
		return err
	}
	s, err := d.watch(ctx)
	if err != nil {
		return err
	}
	for _, args := range [][]string{{"fires"}, {"runs"}, {"status"}, {"audit"}} {
		if err := d.show(ctx, args...); err != nil {
			return err
		}
	}
	for _, f := range s.Fires { // ranked again from what was stored with them, they must come out the same
		if _, err := d.stint(ctx, "replay", strconv.Itoa(f.Fire)); err != nil {
			return err
		}
	}
	if err := s.verify(); err != nil {
		return err
	}
	fmt.Printf("\nAll as it should be: %d fires, %d runs, each as its agent left it; every fire's ranking comes out again.\n", len(s.Fires), len(s.Runs))
	return nil
}

// show has a command print to the demo's own terminal.
func (d *demo) show(ctx context.Context, args ...string) error {
	fmt.Printf("\n$ stint %s\n", strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, d.folder.program(), append([]string{"--config", d.folder.config()}, args...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = environment(), os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("stint %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// prepare makes the workspace and starts the timer.
func (d *demo) prepare(ctx context.Context) error {
	fmt.Printf("Making a git repository with %d tasks in %d categories, and an agent:\n", len(tasks()), len(categories()))
	for _, c := range categories() {
		fmt.Printf("  %-7s %s\n", c.name, c.agent)
	}
	fmt.Printf("in %s\n", d.folder)
	if err := d.makeWorkspace(ctx); err != nil {
		return err
	}
	fmt.Printf("\nStarting %s, which fires every 4 seconds\n\n", d.units.timer())
	if err := d.units.setCadence(d.folder); err != nil {
		return err
	}
	_, err := d.stint(ctx, "init", "--systemd", "--runtime", d.folder.workspace())
	return err
}

// kept prints where to look once the units are gone.
func (d *demo) kept() {
	fmt.Printf("\nKept: %s\n", d.folder)
	fmt.Printf("  fires.log           what the fires said\n")
	fmt.Printf("  state/runs/*/log    what the agents said\n")
	fmt.Printf("  the record: %s \\\n    --config %s status\n", d.folder.program(), d.folder.config())
}
