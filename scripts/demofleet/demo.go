package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
)

// fires is how often the demo lets the fleet fire.
const fires = 4

// demo is one showing.
type demo struct {
	out    screen
	folder folder
	units  units
	stint  stint
}

func newDemo(program string) (*demo, error) {
	name, err := fleetName()
	if err != nil {
		return nil, err
	}
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
	return &demo{out: newScreen(os.Stdout), folder: f, units: u, stint: stint{program: f.program(), config: f.config()}}, nil
}

// fleetName is unique on this machine, also among demos in namespaces of their own,
// where process numbers repeat.
func fleetName() (string, error) {
	random := make([]byte, 4)
	if _, err := rand.Read(random); err != nil {
		return "", err
	}
	return fmt.Sprintf("demo_%d_%s", os.Getpid(), hex.EncodeToString(random)), nil
}

// run shows the fleet at work, prints what came of it, and checks it.
func (d *demo) run(ctx context.Context) error {
	if err := d.prepare(ctx); err != nil {
		return err
	}
	s, err := d.watch(ctx)
	if err != nil {
		return err
	}
	a, err := d.stint.audit(ctx)
	if err != nil {
		return err
	}
	replays, err := d.stint.replays(ctx, s.Fires)
	if err != nil {
		return err
	}
	next, err := d.stint.next(ctx)
	if err != nil {
		return err
	}
	r := record{status: s, audit: a, Replays: replays, Next: next}
	d.out.report(r)
	if err := r.verify(); err != nil {
		return err
	}
	d.out.printf("\n%s\n", d.out.green("All as it should be: "+r.summary()+"."))
	return nil
}

// prepare makes the workspace and starts the timer.
func (d *demo) prepare(ctx context.Context) error {
	d.out.printf("Making a git repository with %d tasks in %d categories, and an agent:\n", len(tasks()), len(categories()))
	for _, c := range categories() {
		d.out.printf("  %-7s %s\n", c.name, c.agent)
	}
	d.out.printf("in %s\n", d.folder)
	if err := d.folder.makeWorkspace(ctx, d.stint); err != nil {
		return err
	}
	d.out.printf("\nStarting %s, which fires every 4 seconds\n\n", d.units.timer())
	return d.units.install(ctx, d.folder, d.stint)
}

// kept prints where to look once the units are gone.
func (d *demo) kept() {
	d.out.printf("\nKept: %s\n", d.folder)
	d.out.printf("  fires.log           what the fires said\n")
	d.out.printf("  state/runs/*/log    what the agents said\n")
	d.out.printf("  the record: %s \\\n    --config %s status\n", d.folder.program(), d.folder.config())
}
