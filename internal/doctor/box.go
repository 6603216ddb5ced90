package doctor

import (
	"fmt"
	"strings"

	"stint/internal/box"
)

// Settings of the kernel that keep users from namespaces. Each is of some distributions only.
const (
	knobAppArmor = "kernel.apparmor_restrict_unprivileged_userns"
	knobClone    = "kernel.unprivileged_userns_clone"
	knobMost     = "user.max_user_namespaces"
)

// Knobs are their names.
func Knobs() []string { return []string{knobAppArmor, knobClone, knobMost} }

func examineBoxes(b Boxes) (list []Finding) {
	const check = "box"
	if b.Unseen != "" {
		return []Finding{unknown(check, b.Unseen)}
	}
	for _, a := range b.Agents {
		bad := Finding{Check: check, State: Warning, Fix: boxFix(b)}
		a.Box.Layers = b.Layers
		refusal, missing := box.Refusal(a.Box), box.Missing(a.Box)
		switch {
		case a.Box.Open():
			bad.What, bad.Why = a.Agent+": open", "its sessions read and write all that you can"
			bad.Fix = fmt.Sprintf(`write in stint.toml, [agent.%s]: box = "workspace"`, a.Agent)
		case refusal != "":
			bad.State, bad.What, bad.Why = Problem, a.Agent+": "+refusal, "its sessions end before they take a claim"
		case len(missing) > 0:
			bad.What = fmt.Sprintf("%s: %s; %s", a.Agent, a.Box, strings.Join(missing, "; "))
			bad.Why = "one layer of the box does without the other"
			if b.Layers.Refused != "" {
				bad.Why = b.Layers.Refused
			}
		default:
			bad = ok(check, "%s: %s", a.Agent, a.Box)
		}
		list = append(list, bad)
	}
	return list
}

// boxFix brings the layers back that the machine lacks.
func boxFix(b Boxes) string {
	switch {
	case b.Layers.Namespaces == "" && strings.Contains(b.Layers.Refused, "not installed"):
		return "sudo apt-get install bubblewrap"
	case b.Layers.Namespaces == "" && b.Knobs[knobAppArmor] == "1":
		return "sudo sysctl " + knobAppArmor + "=0, or a profile of AppArmor for bwrap that allows userns"
	case b.Layers.Namespaces == "" && b.Knobs[knobClone] == "0":
		return "sudo sysctl " + knobClone + "=1"
	case b.Layers.Namespaces == "" && b.Knobs[knobMost] == "0":
		return "sudo sysctl " + knobMost + "=15000"
	case b.Layers.Namespaces == "":
		return "have the machine, or the host of this container, allow user namespaces: bwrap --ro-bind / / true"
	case b.Layers.Landlock == 0:
		return "boot Linux 5.13 or later with landlock in lsm=, see /sys/kernel/security/lsm"
	}
	return "boot a newer kernel: Linux 6.12 has all of Landlock that is used"
}
