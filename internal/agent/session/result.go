package session

import (
	"errors"
	"fmt"
	"io/fs"

	"stint/internal/agent/rundir"
)

// maxResult bounds what is read of a result file: it holds a handful of fields.
const maxResult = 1 << 20

// readResult reads the file an agent may have written, or says why it cannot be
// read. The agent chose what is at that path, so it may be no file at all.
func readResult(path string) (data []byte, spoilt string) {
	data, err := rundir.Read(path, maxResult+1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ""
	case err != nil:
		return nil, err.Error()
	case len(data) > maxResult:
		return nil, fmt.Sprintf("more than %d bytes", maxResult)
	}
	return data, ""
}
