package doctor

// place is where a file system keeps its files.
type place string

const (
	local  place = "local"
	remote place = "remote" // on another machine, or behind another program
	memory place = "memory" // gone when the machine goes down
)

// fileSystem names a file system by its number, as in statfs(2) and linux/magic.h. The
// name of one that is not known is empty.
func fileSystem(magic int64) (name string, where place) {
	known := map[int64]struct {
		name  string
		where place
	}{
		0xef53:     {"ext4", local}, // and those before it
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
