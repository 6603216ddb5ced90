package doctor

import (
	"context"
	"fmt"
	"strings"

	"stint/internal/agent/session"
	"stint/internal/box"
	"stint/internal/fleet"
)

func (d *Doctor) examineBoxes(ctx context.Context) (list []Finding) {
	layers := session.Layers(ctx)
	for _, name := range d.agents() {
		agent := d.Config.Agents[name]
		held := box.Places{Home: d.Getenv("HOME"), State: d.Config.State, Read: agent.Read, Write: agent.Write}
		if fault := held.Fault(); fault != "" && agent.Box != fleet.BoxOpen {
			list = append(list, Finding{
				Check: "box", State: Problem, What: fmt.Sprintf("%s: %s", name, fault), Why: unbegun,
				Fix: fmt.Sprintf("list in stint.toml, [agent.%s] read and write, what is in it", name),
			})
			continue
		}
		list = append(list, examineBox(name, fleet.Box{Profile: agent.Box, Network: agent.Network, Layers: layers}))
	}
	return list
}

const unbegun = "its sessions end before they take a claim"

// examineBox judges an agent's box by the machine's layers. The files in the box differ by session.
func examineBox(agent string, b fleet.Box) Finding {
	const check = "box"
	bad := Finding{Check: check, State: Warning, Fix: boxFix(b.Layers)}
	if b.Profile == fleet.BoxLandlock {
		b.Layers, bad.Fix = fleet.BoxLayers{Landlock: b.Layers.Landlock}, `write box = "workspace", which takes namespaces`
	}
	refusal, missing := box.Refusal(b), box.Missing(b)
	switch {
	case b.Open():
		bad.What, bad.Why = agent+": open", "its sessions read and write all that you can"
		bad.Fix = fmt.Sprintf(`write in stint.toml, [agent.%s]: box = "workspace"`, agent)
	case refusal != "":
		bad.State, bad.What, bad.Why = Problem, agent+": "+refusal, unbegun
	case len(missing) > 0:
		bad.What = fmt.Sprintf("%s: %s; %s", agent, b, strings.Join(missing, "; "))
		bad.Why = "one layer of the box does without the other"
		if b.Profile == fleet.BoxLandlock {
			bad.Why = "Landlock alone gives no more"
		}
	default:
		return ok(check, "%s: %s", agent, b)
	}
	return bad
}

// boxFix brings back the layers that the machine lacks.
func boxFix(l fleet.BoxLayers) string {
	switch {
	case l.Fix != "":
		return l.Fix
	case l.Landlock == 0:
		return "boot Linux 5.13 or later with landlock in lsm=, see /sys/kernel/security/lsm"
	}
	return "boot a newer kernel: Linux 6.12 has all of Landlock that is used"
}
