package inspect

import (
	"context"
	"time"

	"stint/internal/survey"
)

// AllHosts are the machines of the fleet, by name, and when they were looked at.
func (e *Explainer) AllHosts(ctx context.Context) (at time.Time, list []survey.HostState, err error) {
	v, err := e.Present(ctx)
	if err != nil {
		return at, nil, err
	}
	list = e.Hosts(v)
	for i := range list {
		if !list[i].Here {
			continue
		}
		for _, t := range e.timers(ctx) {
			if next := &list[i].NextFire; !t.Next.IsZero() && (next.IsZero() || t.Next.Before(*next)) {
				*next = t.Next
			}
		}
	}
	return v.Now, list, nil
}
