package sqlite

import (
	"context"

	"stint/internal/fleet"
	"stint/internal/store/table"
)

func (t tx) runs(ctx context.Context, tail string, args ...any) (list []fleet.Run, err error) {
	err = t.run(ctx, table.Ended(func(r fleet.Run) { list = append(list, r) }, tail, args...)...)
	return list, err
}
