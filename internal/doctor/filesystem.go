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
	if name := localFileSystem(magic); name != "" {
		return name, local
	}
	switch magic {
	case 0x01021994:
		return "tmpfs", memory
	case 0x858458f6:
		return "ramfs", memory
	}
	return remoteFileSystem(magic), remote
}

func localFileSystem(magic int64) string {
	switch magic {
	case 0xef53:
		return "ext4" // and those before it
	case 0x58465342:
		return "xfs"
	case 0x9123683e:
		return "btrfs"
	case 0x2fc12fc1:
		return "zfs"
	case 0xf2f52010:
		return "f2fs"
	case 0xca451a4e:
		return "bcachefs"
	case 0x794c7630:
		return "overlay"
	case 0x3153464a:
		return "jfs"
	case 0x52654973:
		return "reiserfs"
	case 0x3434:
		return "nilfs2"
	case 0xf15f:
		return "ecryptfs"
	}
	return ""
}

func remoteFileSystem(magic int64) string {
	switch magic {
	case 0x6969:
		return "nfs"
	case 0x517b, 0xff534d42, 0xfe534d42:
		return "cifs"
	case 0x65735546:
		return "fuse"
	case 0x01021997:
		return "9p"
	case 0x6a656a63:
		return "virtiofs"
	case 0x786f4256:
		return "vboxsf"
	case 0x00c36400:
		return "ceph"
	case 0x5346414f, 0x6b414653:
		return "afs"
	case 0x73757245:
		return "coda"
	case 0x01161970:
		return "gfs2"
	case 0x7461636f:
		return "ocfs2"
	case 0x0bd00bd0:
		return "lustre"
	case 0x47504653:
		return "gpfs"
	}
	return ""
}
