package session

import (
	"errors"
	"os"
	"time"

	"stint/internal/fleet"
)

// drainTime bounds the reading of the output after the process tree is gone. By then it is at
// its end, unless somebody holds it open who got it in another way than by descent.
const drainTime = 2 * time.Second

// output takes what an agent prints, on both streams, through one pipe. It reads as fast
// as it can, whatever becomes of the log and the echo: an agent never waits for them.
//
// If this process is killed, the agent's next word ends it by SIGPIPE, as is right for
// one whose claim nobody renews any more. An agent that is silent or deaf to that is
// left to the reaper of the run.
type output struct {
	read, write *os.File
	log         *cappedLog
	echo        *echo
	heard       func() // called whenever something was printed
	printed     int64
	fault       error
	done        chan struct{}
}

func newOutput(log *cappedLog, s fleet.SessionSpec) (*output, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	o := &output{read: read, write: write, log: log, heard: func() {}, done: make(chan struct{})}
	if s.Echo != nil {
		o.echo = newEcho(s.Echo)
	}
	return o, nil
}

// follow begins to read. The agent must have been started, or not be going to be: only
// processes of its tree hold the pipe open from here on.
func (o *output) follow() {
	o.write.Close()
	go func() {
		defer close(o.done)
		buffer := make([]byte, 64<<10) // what a pipe holds
		for {
			n, err := o.read.Read(buffer)
			if n > 0 {
				o.heard()
				o.printed += int64(n)
				_, _ = o.log.Write(buffer[:n]) // it keeps its faults
				if o.echo != nil {
					o.echo.add(buffer[:n])
				}
			}
			if err != nil {
				if errors.Is(err, os.ErrDeadlineExceeded) {
					o.fault = errors.New("a process that is not of the session holds the agent's output open")
				}
				return
			}
		}
	}()
}

// finish reads what is left, and says what became of it all.
func (o *output) finish() fleet.Output {
	enough := time.AfterFunc(drainTime, func() { _ = o.read.SetReadDeadline(time.Unix(1, 0)) })
	<-o.done
	enough.Stop()
	o.read.Close()
	if o.echo != nil {
		o.echo.finish()
	}
	return fleet.Output{
		Printed: o.printed, Missing: o.log.cut + o.log.dropped, Fault: errors.Join(o.fault, o.log.fault),
	}
}
