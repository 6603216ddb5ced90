package machine_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"

	"stint/internal/fleet"
	"stint/internal/machine"
	"stint/internal/testkit/must"
)

func local(id string) machine.Local {
	root := fstest.MapFS{"proc/sys/kernel/random/boot_id": {Data: []byte("boot-1\n")}}
	if id != "" {
		root["etc/machine-id"] = &fstest.MapFile{Data: []byte(id + "\n")}
	}
	return machine.This(root)
}

// made is a state folder that got its identity on a machine.
func made(t *testing.T, m machine.Local) string {
	t.Helper()
	state := filepath.Join(t.TempDir(), "state")
	must.Do(t, machine.Check(state, m, true))
	return state
}

// TestCopiedFolder shows where a state folder is refused, and whose the sessions are that begin
// there.
func TestCopiedFolder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, made, now string
		refused         bool
		boot            string
	}{
		{"same machine", "m1", "m1", false, "boot-1"},
		{"another machine", "m1", "m2", true, ""},
		{"made where there is no machine-id", "", "m2", false, ""},
		{"used where there is no machine-id", "m1", "", false, ""},
		{"no machine-id at all", "", "", false, ""},
		{"made on its first boot", "uninitialized", "m2", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			state, now := made(t, local(c.made)), local(c.now)
			before := must.Get(machine.ReadIdentity(state))(t)
			for _, create := range []bool{true, false} {
				err := machine.Check(state, now, create)
				if c.refused != errors.Is(err, fleet.ErrUsage) || c.refused != (fleet.Hint(err) == "stint host adopt") {
					t.Errorf("got %v with hint %q, want it refused: %t", err, fleet.Hint(err), c.refused)
				}
			}
			seat := before.Seat(now)
			if own := seat.Host == before.ID; own == c.refused || seat.Boot != c.boot {
				t.Errorf("sessions are of %+v", seat)
			}
			after, changed, err := machine.Adopt(state, now, "", false)
			if err != nil || changed != c.refused || (after.ID != before.ID) != c.refused {
				t.Fatalf("adopt: %+v after %+v, changed %t, %v", after, before, changed, err)
			}
			if err := machine.Check(state, now, true); err != nil {
				t.Errorf("adopted, and then: %v", err)
			}
		})
	}
}

func TestIdentityThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", `{"schema":"stint/identity@2","id":"a"}`, `{"schema":"stint/identity@1"}`} {
		state := made(t, local("m1"))
		must.Do(t, os.WriteFile(filepath.Join(state, machine.IdentityFile), []byte(text), 0o600))
		if err := machine.Check(state, local("m1"), true); !errors.Is(err, fleet.ErrUsage) || fleet.Hint(err) == "" {
			t.Errorf("%q: got %v, want it refused with a hint", text, err)
		}
		if i, changed, err := machine.Adopt(state, local("m1"), "", true); err != nil || !changed || i.ID == "" {
			t.Errorf("%q: a dry run adopts %+v, %t, %v", text, i, changed, err)
		}
		if _, changed, err := machine.Adopt(state, local("m1"), "", false); err != nil || !changed {
			t.Errorf("%q: adopt: %t, %v", text, changed, err)
		}
		if err := machine.Check(state, local("m1"), true); err != nil {
			t.Errorf("%q: adopted, and then: %v", text, err)
		}
	}
}

// TestFirstOfMany has many processes give a folder its identity: one wins, and no draft stays.
func TestFirstOfMany(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "a", "state")
	if err := machine.Check(state, local("m1"), false); err != nil {
		t.Fatalf("one that only looks: %v", err)
	}
	if _, err := machine.ReadIdentity(state); !errors.Is(err, fleet.ErrNotFound) {
		t.Fatalf("one that only looks made an identity: %v", err)
	}
	// A process that died before the link has left a draft.
	crashed := filepath.Join(state, machine.IdentityFile+".new-crashed")
	must.Do(t, errors.Join(os.MkdirAll(state, 0o700), os.WriteFile(crashed, []byte("{"), 0o600)))
	ids := make([]string, 16)
	var all sync.WaitGroup
	for n := range ids {
		all.Go(func() {
			if err := machine.Check(state, local("m1"), true); err != nil {
				t.Error(err)
			}
			i, err := machine.ReadIdentity(state)
			if err != nil {
				t.Error(err)
			}
			ids[n] = i.ID
		})
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] || len(id) < 16 {
			t.Errorf("identities %s and %s", ids[0], id)
		}
	}
	entries, err := os.ReadDir(state)
	if err != nil || len(entries) != 2 {
		t.Fatalf("in the folder: %v, %v", entries, err)
	}
	info, err := entries[0].Info()
	if err != nil || info.Mode().Perm() != 0o600 || info.Name() != machine.IdentityFile {
		t.Errorf("got %s with mode %v, %v", entries[0].Name(), info.Mode(), err)
	}
}
