package transcript

import "bytes"

// lines is a writer that hands on what is written to it by lines: one of at most [maxLine] bytes
// whole, a longer one in pieces.
type lines struct {
	each func(piece []byte, first, last bool) // the piece is good until it returns
	line []byte                               // that has no end yet
	long bool                                 // its beginning was handed on
}

func (l *lines) Write(p []byte) (int, error) {
	for part := range bytes.Lines(p) {
		ended := part[len(part)-1] == '\n'
		l.line = append(l.line, part...)
		if ended || l.long || len(l.line) > maxLine {
			l.hand(ended)
		}
	}
	return len(p), nil
}

func (l *lines) hand(ended bool) {
	l.each(l.line, !l.long, ended && len(l.line) <= maxLine)
	l.line, l.long = l.line[:0], !ended
}

// end hands on the last line, if it was begun.
func (l *lines) end() {
	if len(l.line) > 0 {
		l.hand(true)
	}
}
