package session

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"stint/internal/rundir"
)

// maxResult bounds what is read of a result file: it holds a handful of fields.
const maxResult = 1 << 20

// readResult reads the file an agent may have written, or says why it cannot be
// read. The agent chose what is at that path, so it may be no file at all.
func readResult(path string) (data []byte, spoilt string) {
	data, err := readRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ""
	}
	if err != nil {
		return nil, err.Error()
	}
	return data, ""
}

func readRegular(path string) ([]byte, error) {
	f, err := rundir.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxResult+1))
	if err == nil && len(data) > maxResult {
		return nil, fmt.Errorf("more than %d bytes", maxResult)
	}
	return data, err
}
