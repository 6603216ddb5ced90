package cli

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"

	"stint/internal/config"
	"stint/internal/doctor"
	"stint/internal/fleet"
)

// actForOwner has root become the owner of the fleet's state folder, for good: the owner could
// not open the files that root would leave there, a lock above all, and the commands of
// somebody's configuration are not root's to run. So "sudo stint fanout" is what the owner's
// own is, with the owner's home and service manager.
func actForOwner(c *config.Config) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(doctor.ExistingPath(c.State))
	if err != nil {
		return nil //nolint:nilerr // opening the store reports it
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid == 0 {
		return nil
	}
	groups := []int{int(owner.Gid)}
	u, err := user.LookupId(strconv.Itoa(int(owner.Uid)))
	if err == nil {
		groups = groupsOf(u, groups)
		for name, value := range map[string]string{"HOME": u.HomeDir, "USER": u.Username, "LOGNAME": u.Username} {
			if err := os.Setenv(name, value); err != nil {
				return err
			}
		}
	}
	for _, name := range []string{"XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"} { // which are root's
		if err := os.Unsetenv(name); err != nil {
			return err
		}
	}
	for _, become := range []func() error{
		func() error { return syscall.Setgroups(groups) },
		func() error { return syscall.Setgid(groups[0]) },
		func() error { return syscall.Setuid(int(owner.Uid)) },
	} {
		if err := become(); err != nil {
			return fleet.WithHint(fmt.Errorf("the state folder %s belongs to user %d, and this process cannot act as that user: %w", c.State, owner.Uid, err),
				fmt.Sprintf("run it as that user: sudo -u '#%d' stint …", owner.Uid))
		}
	}
	return nil
}

// groupsOf are a user's groups, its own first.
func groupsOf(u *user.User, otherwise []int) (groups []int) {
	list, err := u.GroupIds()
	if err != nil {
		return otherwise
	}
	for _, id := range append([]string{u.Gid}, list...) {
		if n, err := strconv.Atoi(id); err == nil {
			groups = append(groups, n)
		}
	}
	return groups
}
