package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// examineFolder looks at the state folder and its file system.
func examineFolder(path string) []Finding {
	const check = "state_folder"
	at, user := examineFileSystem(path), os.Getuid()
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []Finding{ok(check, "%s: not there yet, the first run makes it", path), at}
	case err != nil:
		return []Finding{unknown(check, err.Error())}
	case !info.IsDir():
		return []Finding{unknown(check, path+" is not a folder")}
	}
	const all = 7 // R_OK, W_OK and X_OK of access(2)
	return []Finding{judgeFolder(path, info.Mode().Perm(), ownerOf(info, user), user, foreign(path, user), syscall.Access(path, all)), at}
}

// ownerOf returns the user who owns a file.
func ownerOf(info fs.FileInfo, otherwise int) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return otherwise
}

// maxForeign bounds the files of other users that are named.
const maxForeign = 10

// foreign lists stint's own files in the state folder that belong to another user. The files of agents and git do not
// matter.
func foreign(state string, user int) (list []string) {
	for _, pattern := range []string{"*", "locks/*", "runs/*", "runs/*/*", "clones/*"} {
		paths, _ := filepath.Glob(plain.GlobIn(state, pattern)) // only a bad pattern is an error
		for _, path := range paths {
			if info, err := os.Lstat(path); err == nil && ownerOf(info, user) != user && len(list) < maxForeign {
				list = append(list, strings.TrimPrefix(path, state+"/"))
			}
		}
	}
	return list
}

// ExistingPath returns the path, or the deepest folder of it that exists.
func ExistingPath(path string) string {
	for {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

// judgeFolder judges whether the user, and nobody else, can use the state folder. Unwritable is the error if nothing can
// be written.
func judgeFolder(path string, mode fs.FileMode, owner, user int, others []string, unwritable error) Finding {
	const check = "state_folder"
	bad := Finding{Check: check, State: Problem, Fix: fmt.Sprintf("sudo chown -R %d %s", user, fleet.ShellWord(path))}
	switch {
	case owner != user:
		bad.What = fmt.Sprintf("%s belongs to user %d, not %d", path, owner, user)
		bad.Why = "the commands of one user cannot change what those of the other have written"
	case len(others) > 0:
		bad.What = fmt.Sprintf("not everything in %s belongs to user %d: %s", path, user, listed(others))
		bad.Why = "no session runs in a lane whose lock cannot be opened, and no command runs without the store"
	case unwritable != nil:
		bad.What, bad.Fix = fmt.Sprintf("%s cannot be written: %v", path, unwritable), "findmnt -T "+fleet.ShellWord(path)
		if mode&0o700 != 0o700 {
			bad.What, bad.Fix = fmt.Sprintf("%s has mode %04o: %v", path, mode, unwritable), "chmod u+rwx "+fleet.ShellWord(path)
		}
		bad.Why = "no run can be recorded, so none is started"
	case mode&0o077 != 0:
		bad.What = fmt.Sprintf("%s has mode %04o", path, mode)
		bad.Why = "others on this machine can take locks and replace the fleet's store"
		if mode&0o022 == 0 {
			bad.State, bad.Why = Warning, "prompts and logs of sessions can be read by others on this machine"
		}
		bad.Fix, bad.Repair = "chmod 700 "+fleet.ShellWord(path), repairMode
	default:
		return ok(check, "%s", path)
	}
	return bad
}

func (d *Doctor) closeFolder(_ context.Context, dryRun bool) (done []string, err error) {
	if !dryRun {
		err = os.Chmod(d.Config.State, 0o700)
	}
	return []string{"chmod 700 " + d.Config.State}, err
}

func examineFileSystem(path string) Finding {
	var at syscall.Statfs_t
	_ = syscall.Statfs(ExistingPath(path), &at)             // on an error the file system is unknown
	return judgeFileSystem(path, int64(at.Type)&0xffffffff) //nolint:unconvert // an int32, signed, on machines of 32 bits
}

func judgeFileSystem(path string, magic int64) Finding {
	const check = "file_system"
	bad := Finding{Check: check, Fix: `give the fleet another "state" folder in stint.toml, on a disk of this machine`}
	name, where := fileSystem(magic)
	switch {
	case name == "":
		return unknown(check, path+" is on a file system that is not known here")
	case where == remote:
		bad.State, bad.What = Problem, fmt.Sprintf("%s is on %s", path, name)
		bad.Why = "locks and SQLite's write-ahead log are only sound on a local file system: a claim could be held twice"
	case where == memory:
		bad.State, bad.What = Warning, fmt.Sprintf("%s is on %s", path, name)
		bad.Why = "the fleet loses what it learnt when the machine goes down"
	default:
		return ok(check, "local: %s", name)
	}
	return bad
}

// place names the kind of storage that a file system uses.
type place string

const (
	local  place = "local"
	remote place = "remote" // on another machine, or behind a program
	memory place = "memory" // lost when the machine goes down
)

// fileSystem names a file system by its number, as in statfs(2) and linux/magic.h. An unknown one has no name.
func fileSystem(magic int64) (name string, where place) {
	known := map[int64]struct {
		name  string
		where place
	}{
		0xef53:     {"ext4", local}, // and ext2, ext3
		0x58465342: {"xfs", local},
		0x9123683e: {"btrfs", local},
		0x2fc12fc1: {"zfs", local},
		0xf2f52010: {"f2fs", local},
		0xca451a4e: {"bcachefs", local},
		0x794c7630: {"overlay", local},
		0x01021994: {"tmpfs", memory},
		0x858458f6: {"ramfs", memory},
		0x6969:     {"nfs", remote},
		0x517b:     {"cifs", remote},
		0xff534d42: {"cifs", remote},
		0xfe534d42: {"cifs", remote},
		0x65735546: {"fuse", remote},
		0x01021997: {"9p", remote},
		0x6a656a63: {"virtiofs", remote},
		0x786f4256: {"vboxsf", remote},
		0x00c36400: {"ceph", remote},
		0x5346414f: {"afs", remote},
		0x01161970: {"gfs2", remote},
		0x7461636f: {"ocfs2", remote},
		0x0bd00bd0: {"lustre", remote},
		0x47504653: {"gpfs", remote},
	}[magic]
	return known.name, known.where
}
