package systemd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	sdbus "github.com/coreos/go-systemd/v22/dbus"
	"golang.org/x/sys/unix"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// property is one setting of systemd.resource-control(5), systemd.exec(5) or
// systemd.service(5) that a category may give its workers.
type property struct {
	name  string
	parse parser
	onBus string // what D-Bus calls it, where that is not its name in a unit file
}

// properties lists what is known. It is a list and not a pass-through because the
// names and types that D-Bus wants differ from those of unit files, and because a
// mistyped setting is to be found when the configuration is read, not at a fire.
func properties() []property {
	return append([]property{
		// Resources.
		{"MemoryMin", byteCount(0), ""},
		{"MemoryLow", byteCount(0), ""},
		{"MemoryHigh", byteCount(1), ""},
		{"MemoryMax", byteCount(1), ""},
		{"MemorySwapMax", byteCount(0), ""},
		{"CPUQuota", cpuQuota, "CPUQuotaPerSecUSec"},
		{"CPUWeight", weight, ""},
		{"IOWeight", weight, ""},
		{"TasksMax", count(1), ""},
		{"OOMPolicy", word("continue", "stop", "kill"), ""},
		{"OOMScoreAdjust", integer(-1000, 1000), ""},
		// Scheduling.
		{"Nice", integer(-20, 19), ""},
		{"CPUSchedulingPolicy", number(map[string]int32{"other": 0, "batch": 3, "idle": 5}), ""},
		{"IOSchedulingClass", number(map[string]int32{"best-effort": 2, "idle": 3}), ""},
		{"IOSchedulingPriority", integer(0, 7), ""},
		{"RuntimeMaxSec", timeSpan, "RuntimeMaxUSec"},
		// Limits of a process set both the soft and the hard limit: the manager takes one for the
		// other while that has not been given.
		{"LimitAS", byteCount(0), ""},
		{"LimitCORE", byteCount(0), ""},
		{"LimitFSIZE", byteCount(0), ""},
		{"LimitMEMLOCK", byteCount(0), ""},
		{"LimitNOFILE", count(0), ""},
		{"LimitNPROC", count(0), ""},
		{"UMask", fileMode, ""},
		// Restrictions.
		{"LockPersonality", boolean, ""},
		{"MemoryDenyWriteExecute", boolean, ""},
		{"NoNewPrivileges", boolean, ""},
		{"PrivateUsers", boolean, ""},
		{"ProtectClock", boolean, ""},
		{"RestrictAddressFamilies", restriction(`^AF_[A-Z0-9]+$`, "AF_INET AF_UNIX"), ""},
		{"RestrictRealtime", boolean, ""},
		{"RestrictSUIDSGID", boolean, ""},
		{"SystemCallErrorNumber", number(map[string]int32{
			"EPERM": int32(unix.EPERM), "EACCES": int32(unix.EACCES), "EINVAL": int32(unix.EINVAL), "ENOSYS": int32(unix.ENOSYS),
		}), ""},
		{"SystemCallFilter", restriction(`^@?[a-z_][a-z0-9_-]*$`, "@system-service"), ""},
		{"LoadCredential", credentials, ""},
	}, isolation()...)
}

// isolation is what gives a worker its own view of the machine.
func isolation() []property {
	return []property{
		{"BindPaths", binds, ""},
		{"BindReadOnlyPaths", binds, ""},
		{"InaccessiblePaths", paths, ""},
		{"PrivateDevices", boolean, ""},
		{"PrivateNetwork", boolean, ""},
		{"PrivateTmp", boolean, ""},
		{"ProtectControlGroups", boolean, ""},
		{"ProtectHome", word("yes", "no", "read-only", "tmpfs"), ""},
		{"ProtectHostname", boolean, ""},
		{"ProtectKernelLogs", boolean, ""},
		{"ProtectKernelModules", boolean, ""},
		{"ProtectKernelTunables", boolean, ""},
		{"ProtectProc", word("noaccess", "invisible", "ptraceable", "default"), ""},
		{"ProtectSystem", word("yes", "no", "full", "strict"), ""},
		{"ReadOnlyPaths", paths, ""},
		{"ReadWritePaths", paths, ""},
		{"TemporaryFileSystem", fileSystems, ""},
	}
}

// powerless are the properties that a manager without privileges accepts and does not enforce:
// they take programs in the kernel that only root may load.
func powerless() []string {
	return []string{
		"BPFProgram", "DeviceAllow", "DevicePolicy", "IPAddressAllow", "IPAddressDeny", "IPEgressFilterPath", "IPIngressFilterPath",
		"RestrictFileSystems", "RestrictNetworkInterfaces", "SocketBindAllow", "SocketBindDeny",
	}
}

// wantsIsolation reports whether any of it is switched on.
func wantsIsolation(values map[string]any) bool {
	return slices.ContainsFunc(isolation(), func(p property) bool {
		value, given := values[p.name]
		if !given {
			return false
		}
		parsed, err := p.parse(value)
		switch parsed {
		case false, "no", "default":
			return false
		}
		return err == nil
	})
}

// ownProperties are set by this package on every worker. Letting a category change
// them would lose sessions or leave failed units behind.
func ownProperties() []string {
	return []string{
		"CollectMode", "Description", "Environment", "ExecStart", "KillMode",
		"Slice", "SuccessExitStatus", "TimeoutStopSec", "Type",
	}
}

// CheckProperty checks one line of a category's unit table: the name as in unit
// files, the value as TOML decodes it into an any. Its errors wrap [fleet.ErrUsage].
func CheckProperty(name string, value any) error {
	_, err := parseProperty(name, value)
	return err
}

func parseProperty(name string, value any) (sdbus.Property, error) {
	known := properties()
	i := slices.IndexFunc(known, func(p property) bool { return p.name == name })
	if i < 0 {
		return sdbus.Property{}, unknownProperty(name, known)
	}
	parsed, err := known[i].parse(value)
	if err != nil {
		return sdbus.Property{}, fmt.Errorf("%w: unit property %s: %w", fleet.ErrUsage, name, err)
	}
	return setting(cmp.Or(known[i].onBus, name), parsed), nil
}

func unknownProperty(name string, known []property) error {
	if slices.Contains(ownProperties(), name) {
		return fmt.Errorf("%w: unit property %s: stint sets it itself", fleet.ErrUsage, name)
	}
	if slices.Contains(powerless(), name) {
		return fleet.WithHint(fmt.Errorf("%w: unit property %s: it has no effect in a user's service manager, which accepts it in silence", fleet.ErrUsage, name),
			"PrivateNetwork and RestrictAddressFamilies keep a worker from the network, PrivateDevices from devices")
	}
	names := plain.Each(known, func(p property) string { return p.name })
	slices.Sort(names)
	return fleet.WithHint(fmt.Errorf("%w: unit property %q is unknown", fleet.ErrUsage, name),
		fleet.Meant(name, names, "known are "+strings.Join(names, ", ")))
}
