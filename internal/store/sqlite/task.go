package sqlite

import (
	"context"

	"stint/internal/fleet"
	"stint/internal/store/table"
)

func (t tx) tasks(ctx context.Context) (list []fleet.TaskMemory, err error) {
	err = t.run(ctx, table.Tasks().Select(func(m fleet.TaskMemory) { list = append(list, m) }, "order by task"))
	return list, err
}
