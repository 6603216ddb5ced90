package doctor

import (
	"fmt"
	"strings"

	"stint/internal/box"
	"stint/internal/fleet"
)

func examineBoxes(b Boxes) (list []Finding) {
	const check = "box"
	for _, a := range b.Agents {
		bad := Finding{Check: check, State: Warning, Fix: boxFix(b.Layers)}
		a.Box.Layers = b.Layers
		if a.Box.Profile == fleet.BoxLandlock {
			a.Box.Layers, bad.Fix = fleet.BoxLayers{Landlock: b.Layers.Landlock}, `write box = "workspace", which takes namespaces`
		}
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
			if a.Box.Profile == fleet.BoxLandlock {
				bad.Why = "Landlock alone gives no more"
			}
		default:
			bad = ok(check, "%s: %s", a.Agent, a.Box)
		}
		list = append(list, bad)
	}
	return list
}

// boxFix brings the layers back that the machine lacks.
func boxFix(l fleet.BoxLayers) string {
	switch {
	case l.Fix != "":
		return l.Fix
	case l.Landlock == 0:
		return "boot Linux 5.13 or later with landlock in lsm=, see /sys/kernel/security/lsm"
	}
	return "boot a newer kernel: Linux 6.12 has all of Landlock that is used"
}
