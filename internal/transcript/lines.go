package transcript

import (
	"bufio"
	"errors"
	"io"
)

// lines cuts an input into lines, of which [maxLine] is kept; the last need not be ended.
type lines struct {
	r     *bufio.Reader
	text  []byte // of the line that next read, good until the next one
	whole bool   // text is all of it
	err   error  // of reading; the input's end is none
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, 64<<10)} }

// next reads one line, and is false when there is none.
func (l *lines) next() bool {
	l.text, l.whole = l.text[:0], true
	for l.err == nil {
		piece, err := l.r.ReadSlice('\n')
		if room := maxLine - len(l.text); len(piece) > room {
			piece, l.whole = piece[:room], false
		}
		l.text = append(l.text, piece...)
		if err == nil {
			return true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			l.err = err
		}
	}
	if errors.Is(l.err, io.EOF) {
		l.err = nil
		l.r.Reset(eof{})
	}
	return len(l.text) > 0
}

// eof is an input that is at its end.
type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }
