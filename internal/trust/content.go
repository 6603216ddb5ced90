package trust

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"stint/internal/fleet"
)

const (
	maxText    = 16 << 20 // bytes of a file that is shown
	maxProgram = 1 << 30  // bytes of an ELF program, of which only the sum is
	elf        = "\x7fELF"
)

// Content is the content of a file.
type Content struct {
	Sum  string
	Size int64
	Text []byte // nil: a program of more than maxText, or a content that was not kept
}

// Sum returns the checksum of a content.
func Sum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// ContentOf is a text as the content of a file.
func ContentOf(text []byte) Content { return Content{Sum(text), int64(len(text)), text} }

// program reports whether the content is for the kernel to run, and not for a person to read.
func (c Content) program() bool {
	return c.Text == nil && c.Sum != "" || bytes.HasPrefix(c.Text, []byte(elf))
}

// Read is the content of a file that a session may have written: neither a pipe that nobody
// writes nor a sparse file of any size keeps it busy. A link is followed to where it leads now.
func Read(path string) (c Content, err error) {
	at, err := filepath.EvalSymlinks(path)
	if err != nil {
		return c, err
	}
	f, err := os.OpenFile(at, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return c, err
	}
	defer f.Close() // only read: nothing can be lost
	info, err := f.Stat()
	if err != nil {
		return c, err
	}
	const elsewhere = "name another file, or keep this one where no session may write"
	if !info.Mode().IsRegular() {
		return c, fleet.WithHint(fmt.Errorf("%s cannot be trusted: it is not a regular file", path), elsewhere)
	}
	most, magic := int64(maxText), make([]byte, len(elf))
	if _, err := f.ReadAt(magic, 0); err == nil && string(magic) == elf {
		most = maxProgram
	}
	text, sum := bytes.NewBuffer([]byte{}), sha256.New()
	to := io.Writer(sum)
	if info.Size() <= maxText {
		to = io.MultiWriter(sum, text)
	}
	if info.Size() <= most {
		c.Size, err = io.Copy(to, io.LimitReader(f, info.Size()+1))
	}
	switch {
	case err != nil:
		return c, err
	case info.Size() > most:
		return c, fleet.WithHint(fmt.Errorf("%s cannot be trusted: it has more than %d MiB", path, most>>20), elsewhere)
	case c.Size != info.Size():
		return c, fmt.Errorf("%s cannot be trusted: it changes while it is read", path)
	}
	c.Sum = hex.EncodeToString(sum.Sum(nil))
	if info.Size() <= maxText {
		c.Text = text.Bytes()
	}
	return c, nil
}
