package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"
)

// fires is how often the demo lets the fleet fire.
const fires = 4

// patience is how long the demo waits for the next thing to happen. Fires are seconds
// apart, and so are the ends of sessions; this is what a busy machine may add.
const patience = 30 * time.Second

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
	r := record{status: s, audit: a}
	d.out.report(r)
	if err := r.verify(); err != nil {
		return err
	}
	d.out.printf("\n%s\n", d.out.green("All as it should be: "+r.summary()+"."))
	return nil
}

// prepare makes the workspace and starts the timer.
func (d *demo) prepare(ctx context.Context) error {
	d.out.printf("Making a workspace with %d tasks in %d categories in %s\n", len(tasks()), len(expectations()), d.folder)
	if err := d.folder.makeWorkspace(ctx, d.stint); err != nil {
		return err
	}
	d.out.printf("Starting %s, which fires every 4 seconds, on your service manager\n\n", d.units.timer())
	if err := d.units.install(ctx, d.folder, d.stint); err != nil {
		return err
	}
	return nil
}

// watch tells what happens until the last fire, stops the timer, and goes on until
// the last session has ended.
func (d *demo) watch(ctx context.Context) (status, error) {
	w := &watcher{out: d.out, told: map[string]bool{}}
	if _, err := d.follow(ctx, w, fmt.Sprintf("fire %d", fires), func(s status) bool { return len(s.Fires) >= fires }); err != nil {
		return status{}, err
	}
	if err := d.units.stopTimer(ctx); err != nil {
		return status{}, err
	}
	d.out.printf("%18sthe timer is stopped\n", "")
	return d.follow(ctx, w, "the end of the last run", func(s status) bool { return len(s.Running) == 0 })
}

// follow looks at the record, and tells what is new in it, until done.
func (d *demo) follow(ctx context.Context, w *watcher, goal string, done func(status) bool) (status, error) {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	last := time.Now()
	for {
		s, err := d.stint.status(ctx)
		if err != nil {
			return status{}, err
		}
		if w.tell(s) {
			last = time.Now()
		}
		if done(s) {
			return s, nil
		}
		if err := d.trouble(ctx, s); err != nil {
			return status{}, err
		}
		if time.Since(last) > patience {
			return status{}, fmt.Errorf("await %s: nothing happened for %s; see %s", goal, patience, d.folder.log())
		}
		select {
		case <-ctx.Done():
			return status{}, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// trouble is what would keep a goal from ever being reached.
func (d *demo) trouble(ctx context.Context, s status) error {
	for _, r := range s.Running {
		if !r.Live {
			return fmt.Errorf("run %s (%s) died and left no end; see %s", r.Run, r.Category, d.folder.runLog(r.Run))
		}
	}
	failed, err := d.units.failed(ctx)
	if err != nil || len(failed) == 0 {
		return err
	}
	return fmt.Errorf("unit failed: %s; its fires said:\n%s", failed[0], d.folder.tail())
}
