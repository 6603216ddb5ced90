package session

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestEcho(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", echoLine)
	for name, tt := range map[string]struct {
		pieces []string
		want   string
	}{
		"nothing":     {nil, ""},
		"lines":       {[]string{"a\nb\n"}, "| a\n| b\n"},
		"pieces":      {[]string{"a", "b\nc", "", "d"}, "| ab\n| cd\n"},
		"empty lines": {[]string{"\n\n"}, "| \n| \n"},
		"priority":    {[]string{"<0>all\n"}, "| <0>all\n"},
		"control":     {[]string{"\x1b[2J\r\x00\u202e\xff\n"}, "| \ufffd[2J \ufffd\ufffd\ufffd\n"},
		"long":        {[]string{long[:10], long[10:], "end\nnext"}, "| " + long[:echoLine] + "…\n| next\n"},
		"just":        {[]string{long[:echoLine] + "\n"}, "| " + long[:echoLine] + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got bytes.Buffer
			e := newEcho(&got)
			for _, p := range tt.pieces {
				e.add([]byte(p))
			}
			e.finish()
			if got.String() != tt.want {
				t.Errorf("echo %q, want %q", got.String(), tt.want)
			}
		})
	}
}

// TestEchoOfTooMuch shows a burst at once, says what it left out, and goes on at its rate.
func TestEchoOfTooMuch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got bytes.Buffer
		e := newEcho(&got)
		flood := []byte(strings.Repeat("flood\n", echoBurst+echoRate))
		e.add(flood[:2])
		e.add(flood[2:])
		e.add([]byte("half"))
		<-time.After(1500 * time.Millisecond)
		e.add([]byte(" a line\n"))
		e.add(flood)
		e.finish()
		want := strings.Repeat("| flood\n", echoBurst) + skippedLines(echoRate) + "| half a line\n" +
			strings.Repeat("| flood\n", echoRate-2) + skippedLines(echoBurst+2)
		if got.String() != want {
			t.Errorf("echo of %d bytes ends %q, want %d bytes", got.Len(), got.String()[max(0, got.Len()-200):], len(want))
		}
	})
}

// TestEchoThatNobodyReads makes nobody wait but the end, and that not for long.
func TestEchoThatNobodyReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		read, write := io.Pipe()
		e := newEcho(write)
		for i := range 3 * echoBurst {
			e.add(fmt.Appendf(nil, "%d\n", i))
		}
		e.finish()
		select {
		case <-e.done:
			t.Error("the echo ended, want it left behind")
		default:
		}
		_ = read.Close() // it never fails
		<-e.done
	})
}
