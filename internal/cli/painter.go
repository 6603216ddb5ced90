package cli

import (
	"bytes"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/charmbracelet/x/term"
)

// terminalFile is a terminal that can be drawn on.
type terminalFile interface {
	io.Writer
	Fd() uintptr
}

// The sequences are xterm's, which every terminal of today knows.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l" // another screen, no cursor, no wrapping
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	goHome      = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// painter draws screens in one place, on the terminal's other screen. Its first screen comes
// back when the painter is closed.
type painter struct {
	file    terminalFile
	resized chan os.Signal
}

func openPainter(f terminalFile) *painter {
	p := &painter{file: f, resized: make(chan os.Signal, 1)}
	signal.Notify(p.resized, syscall.SIGWINCH)
	_, _ = io.WriteString(f, enterScreen)
	return p
}

func (p *painter) close() {
	signal.Stop(p.resized)
	_, _ = io.WriteString(p.file, leaveScreen)
}

// show draws over what is there, in one write and without clearing it first, so that
// nothing flickers. Lines for which the terminal has no room are left out.
func (p *painter) show(lines []string) {
	_, rows, err := term.GetSize(p.file.Fd())
	if err == nil && rows > 0 {
		lines = lines[:min(len(lines), rows)]
	}
	var b bytes.Buffer
	b.WriteString(goHome)
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(line + clearLine)
	}
	b.WriteString(clearBelow)
	_, _ = p.file.Write(b.Bytes()) // a terminal that went away sends SIGHUP
}
