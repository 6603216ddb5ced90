package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"stint/internal/box"
	"stint/internal/box/inside"
	"stint/internal/command"
	"stint/internal/fleet"
	"stint/internal/plain"
)

// Boxed is the command line by which a program runs in a box whose layers are known.
func (r Runner) Boxed(b fleet.Box, dir, program string, argv []string) []string {
	if b.Open() {
		return append([]string{program}, argv[1:]...)
	}
	b = resolved(b)
	return within(b, dir, slices.Concat(box.OrderFor(b).Command(r.Stint), []string{program}, argv))
}

// within puts a helper's command line into a namespace, where there is one.
func within(b fleet.Box, dir string, helper []string) []string {
	if b.Layers.Namespaces == "" {
		return helper
	}
	b.Read = append(b.Read[:len(b.Read):len(b.Read)], helper[0])
	if os.Geteuid() == 0 { // to whom the kernel's settings belong
		b.Read = append(b.Read, "/proc/sys") // the others bubblewrap makes read-only by itself
	}
	return box.Namespace(b, dir, helper)
}

// resolved is the box of what there is, with what links lead to: inside, the folder of a link may not
// be there to lead on.
func resolved(b fleet.Box) fleet.Box {
	b.Links = nil
	found := led{}
	for _, list := range []*[]string{&b.Read, &b.Write, &b.Fixed, &b.Hidden} {
		var there []string
		for _, path := range *list {
			target := found.to(path)
			if target == "" {
				continue
			}
			if there = append(there, path); target == path {
				continue
			}
			if !slices.Contains(*list, target) {
				there = append(there, target)
			}
			if list == &b.Read {
				b.Links = append(b.Links, fleet.Link{Path: path, Target: target})
			}
		}
		*list = there
	}
	return box.Least(b)
}

// led is where paths lead, and the folders above them: a box lists many in few folders, and each is
// looked at once. Empty: nothing is there.
type led map[string]string

// to is where a clean absolute path leads.
func (l led) to(path string) string {
	up := filepath.Dir(path)
	if up == path {
		return path
	}
	target, known := l[path]
	if known {
		return target
	}
	if above := l.to(up); above != "" {
		target = filepath.Join(above, filepath.Base(path))
		info, err := os.Lstat(target)
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			target, err = filepath.EvalSymlinks(target)
		}
		if err != nil {
			target = ""
		}
	}
	l[path] = target
	return target
}

// Prove makes a box with a process in it that tries its walls, and returns it with the layers that
// hold on this machine. The process waits to become the agent. An error says which wall is
// missing, or why there can be no such box here.
//
// If we die in it, the canary is left in the folder of the run, and goes with that; the process
// in the box ends by itself. A file outside that it could make, which takes a missing wall, stays.
func (r Runner) Prove(ctx context.Context, b fleet.Box, with fleet.BoxTrial) (fleet.ProvenBox, error) {
	if b.Open() {
		return fleet.ProvenBox{Box: b}, nil
	}
	err := errors.Join(furnish(with.Files), makeMissing(b.Made), os.WriteFile(with.Files.Canary, []byte("no session reads this\n"), 0o600))
	if err != nil {
		return fleet.ProvenBox{}, err
	}
	defer os.Remove(with.Files.Canary) //nolint:errcheck // it goes with the folder of the run
	name := "stint-trial-" + strconv.Itoa(os.Getpid())
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", "@"+name)
	if err != nil {
		return fleet.ProvenBox{}, err
	}
	defer listener.Close() //nolint:errcheck // it has served
	w, found, err := r.layered(ctx, b, with, func(b fleet.Box) box.Trial {
		t := box.TrialFor(b, with, name)
		t.Supervisor, t.Spaces, t.Abstract = os.Getpid(), inside.Spaces(), name
		return t
	})
	if err != nil {
		return fleet.ProvenBox{}, fmt.Errorf("make the box: %w", err)
	}
	b.Layers = w.box.Layers
	if err := verdict(b, found); err != nil {
		return fleet.ProvenBox{}, errors.Join(err, w.Close())
	}
	if _, err := os.Stat(with.Dir); err != nil {
		w.line.Close() // a session in a clone to come has another box: this one ends beside the claim
	}
	return fleet.ProvenBox{Box: b, Waiting: w}, nil
}

// verdict is what a trial says of a box. Files that the process in it could make outside are removed.
func verdict(b fleet.Box, found box.Found) error {
	for _, path := range found.Wrote {
		if os.Remove(path) == nil {
			found.Broken = append(found.Broken, box.WallWrites)
		}
	}
	if refusal := box.Refusal(b); refusal != "" {
		return fleet.WithHint(errors.New(refusal), "stint doctor")
	}
	for _, w := range box.Promised(b) {
		if slices.Contains(found.Broken, w) {
			return fleet.WithHint(fmt.Errorf("the box does not hold: from inside, a process can %s", w),
				`stint doctor; with box = "open" the agent runs without one`)
		}
	}
	return nil
}

// Layers are the layers that a box has on this machine. Nothing is written to find out.
func (r Runner) Layers(ctx context.Context) (fleet.BoxLayers, error) {
	b := box.For(fleet.BoxStrict, box.Places{})
	w, _, err := r.layered(ctx, b, fleet.BoxTrial{Dir: "/"}, func(fleet.Box) box.Trial { return box.Trial{} })
	if err != nil {
		return fleet.BoxLayers{}, err
	}
	return w.box.Layers, w.Close()
}

// layered makes the box with the layers that there are, and says what came of a trial in it.
func (r Runner) layered(ctx context.Context, b fleet.Box, with fleet.BoxTrial, trial func(fleet.Box) box.Trial) (*waiting, box.Found, error) {
	var err error
	b.Layers = fleet.BoxLayers{}
	if b.Layers.Namespaces, err = exec.LookPath("bwrap"); err != nil {
		b.Layers = fleet.BoxLayers{Refused: "bubblewrap is not installed"}
	}
	w, found, err := r.enter(ctx, b, with, trial(b))
	if err != nil && b.Layers.Namespaces != "" {
		least := []string{b.Layers.Namespaces, "--unshare-pid", "--unshare-ipc", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true"}
		if _, refused := ask(ctx, least); refused != nil {
			b.Layers = fleet.BoxLayers{Refused: refused.Error()}
			w, found, err = r.enter(ctx, b, with, trial(b))
		}
	}
	if err != nil {
		return nil, found, err
	}
	w.box.Layers.Landlock = found.Landlock
	return w, found, nil
}

// Needs are the files and folders that a program must be able to read to start: itself, and
// where it is installed, if that is a folder of its own. With it comes stint, for a hook in the box that
// verifies its claim, wherever stint is installed.
func (r Runner) Needs(program string, environment []string, dir string) (list []string) {
	if r.Stint != "" {
		list = append(list, r.Stint)
	}
	path, err := command.Runnable(program, environment, dir)
	if err != nil {
		return list
	}
	list = append(list, path)
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return list
	}
	list = append(list, target)
	folder := filepath.Dir(target)
	if before, _, is := strings.Cut(target, "/node_modules/"); is {
		folder = before + "/node_modules"
	}
	return append(list, folder)
}

// makeMissing makes files and folders with nothing in them.
func makeMissing(paths []string) error {
	for _, path := range paths {
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			continue // neither is what it belongs to
		}
		kind := filepath.Ext(strings.TrimPrefix(filepath.Base(path), "."))
		if kind == "" {
			if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			continue
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil && kind == ".json" {
			_, err = f.WriteString("{}\n")
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// trialTime is far more than a trial takes.
const trialTime = 30 * time.Second

// ask runs a program that answers on its output, and fails with what it said.
func ask(ctx context.Context, argv []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = []string{}
	answer, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
		err = errors.New(plain.Line(strings.TrimSpace(string(exit.Stderr))))
	}
	return answer, err
}
