package systemd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	sdbus "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"

	"stint/internal/fleet"
)

const (
	// How a job stands to queued ones that contradict it. A worker's name is its own,
	// so for it there is none to replace.
	modeFail    = "fail"
	modeReplace = "replace"
	// The only result of a job that means the unit runs.
	jobDone = "done"

	hintUnitWord = "install the binary, and keep the configuration, at a path of these only"
)

var errBusLost = errors.New("the connection to the bus was lost")

// SuccessExitStatuses are the ends of a worker, 0 apart, that are no fault of it and
// leave no failed unit behind: nothing to do, every claim denied, lane busy,
// terminated.
func SuccessExitStatuses() []int32 { return []int32{3, 4, 75, 143} }

// Start starts every spec as a transient service. It returns one error per spec, nil
// where the worker's program runs. All jobs are queued before the first is awaited.
//
// A name that exists already, a program that cannot be executed, and a job that ends
// in anything but "done" are errors. An error does not prove that nothing ran: a worker
// that fails within the first instants may be reported as a job that failed, and when ctx
// ends first, which the error then wraps, the manager keeps the job.
func (m *Manager) Start(ctx context.Context, specs []fleet.UnitSpec) []error {
	jobs := make([]<-chan string, len(specs))
	errs := make([]error, len(specs))
	for i, spec := range specs {
		jobs[i], errs[i] = m.queue(ctx, spec)
	}
	for i, spec := range specs {
		if errs[i] == nil {
			errs[i] = m.await(ctx, spec.Name, jobs[i])
		}
		if errs[i] != nil {
			errs[i] = fmt.Errorf("start unit %s: %w", spec.Name, errs[i])
		}
	}
	return errs
}

// Scope moves this process into a new scope. It may divide the scope's cgroup, which ends when nothing is left in it.
func (m *Manager) Scope(ctx context.Context, name string) error {
	properties := []sdbus.Property{
		setting("PIDs", []uint32{uint32(os.Getpid())}), //nolint:gosec // it is no negative number
		setting("Delegate", true),
		setting("CollectMode", "inactive-or-failed"),
	}
	err := m.do(ctx, name, func(job chan<- string) (int, error) {
		return m.conn.StartTransientUnitContext(ctx, name, modeFail, properties, job)
	})
	if err != nil {
		return fmt.Errorf("start scope %s: %w", name, err)
	}
	return nil
}

// queue hands the spec to the manager; the job's result comes on the channel.
func (m *Manager) queue(ctx context.Context, spec fleet.UnitSpec) (<-chan string, error) {
	properties, err := workerProperties(spec)
	if err != nil {
		return nil, err
	}
	job := newJob()
	_, err = m.conn.StartTransientUnitContext(ctx, spec.Name, modeFail, properties, job)
	return job, err
}

// newJob has room for its result, because the library delivers the results of all
// jobs from one goroutine, which a result that nobody awaits would stop.
func newJob() chan string { return make(chan string, 1) }

// do begins a job and waits for its end.
func (m *Manager) do(ctx context.Context, unit string, begin func(job chan<- string) (int, error)) error {
	job := newJob()
	if _, err := begin(job); err != nil {
		return err
	}
	return m.await(ctx, unit, job)
}

// await waits for the job's result, the bus or ctx to end. A result that is there
// counts, however long another job was awaited before.
func (m *Manager) await(ctx context.Context, unit string, job <-chan string) error {
	var ended error
	select {
	case result := <-job:
		return jobError(unit, result)
	case <-m.lost:
		ended = errBusLost
	case <-ctx.Done():
		ended = context.Cause(ctx)
	}
	select {
	case result := <-job:
		return jobError(unit, result)
	default:
		return fmt.Errorf("await its job: %w", ended)
	}
}

func jobError(unit, result string) error {
	if result == jobDone {
		return nil
	}
	return fleet.WithHint(fmt.Errorf("its job ended as %q", result), "journalctl --user --unit "+unit)
}

// workerProperties is the whole of a worker's unit.
// The spec's own properties come last, so that where both name one the operator wins.
func workerProperties(spec fleet.UnitSpec) ([]sdbus.Property, error) {
	if err := checkSpec(spec); err != nil {
		return nil, err
	}
	properties := []sdbus.Property{
		sdbus.PropDescription(spec.Description),
		sdbus.PropSlice(spec.Slice),
		sdbus.PropExecStart(spec.Argv, false),
		setting("Environment", spec.Environment),
		// A program that cannot be executed fails the start job, not the unit later.
		sdbus.PropType("exec"),
		// Ended units are unloaded, failed ones too; thousands of them break a manager.
		setting("CollectMode", "inactive-or-failed"),
		// Its agent gets a cgroup below that of the unit.
		setting("Delegate", true),
		// The session goes on without the process that the kernel killed for want of memory, and says so.
		setting("OOMPolicy", "continue"),
		// SIGTERM goes to stint alone, which stops its agent; remaining processes are killed.
		setting("KillMode", "mixed"),
		setting("TimeoutStopUSec", microseconds(spec.StopTimeout)),
		setting("RuntimeMaxUSec", microseconds(spec.RuntimeMax)),
		setting("SuccessExitStatus", exitStatuses{Codes: SuccessExitStatuses(), Signals: []int32{}}),
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Properties)) {
		p, err := parseProperty(name, spec.Properties[name])
		if err != nil {
			return nil, err
		}
		properties = append(properties, p)
	}
	return properties, nil
}

// exitStatuses is (aiai) on the bus.
type exitStatuses struct{ Codes, Signals []int32 }

func setting(name string, value any) sdbus.Property {
	return sdbus.Property{Name: name, Value: dbus.MakeVariant(value)}
}

func microseconds(d time.Duration) uint64 { return uint64(d / time.Microsecond) }

// checkSpec refuses what the manager would expand, split, or take for "no limit".
func checkSpec(spec fleet.UnitSpec) error {
	if len(spec.Argv) == 0 || !filepath.IsAbs(spec.Argv[0]) {
		return fmt.Errorf("arguments %q: want an absolute path first", spec.Argv)
	}
	if spec.RuntimeMax < time.Microsecond || spec.StopTimeout < time.Microsecond {
		return fmt.Errorf("time limits %v and %v: want both above zero", spec.RuntimeMax, spec.StopTimeout)
	}
	for _, word := range slices.Concat(spec.Argv, spec.Environment) {
		if err := fleet.CheckUnitWord(word); err != nil {
			return fleet.WithHint(fmt.Errorf("%w: %w", fleet.ErrUsage, err), hintUnitWord)
		}
	}
	_, err := fleet.ParseText("description", spec.Description)
	return err
}
