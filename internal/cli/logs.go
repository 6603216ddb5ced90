package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stint/internal/agent/session"
	"stint/internal/agent/transcript"
	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/screen"
	"stint/internal/store"
)

type logsOptions struct {
	follow, raw bool
	lines       int // below 0: all, or with follow the last
}

const (
	// followed is the number of lines before those to come, unless a flag sets another.
	followed = 100
	// logPoll is the interval of looks at a log. A look reads one row of the store and the size of
	// one file.
	logPoll = 250 * time.Millisecond
	// lifePolls is the number of such looks between two at whether the session lives: for
	// that, the service manager may be asked.
	lifePolls = 8
)

func newLogs(a *app) *cobra.Command {
	o := logsOptions{lines: -1}
	cmd := &cobra.Command{
		Use:   "logs RUN|CATEGORY",
		Short: "Print what the agent of a run printed",
		Long: `Print what the agent of a run printed. A category stands for its run under way, or else for
its last one. The JSON of a preset's program becomes text: the model's words stay as they are, "$"
marks a command, ">" another tool, "!" an error, a retry or a rate limit, "~" a thought, and "*" the
beginning and the end with tokens and cost. Control characters are replaced. --raw prints every byte
of the log, into a file or a pipe.

Of a run on another host it is the last 64 KiB, as that host reported at its last
heartbeat. The whole log is on that host: -f and --raw are refused here.

-f continues until the run has ended, and reports its outcome on standard error. For a
category without a run under way it waits for the next one. In a log above its limit, one line
replaces the middle.`,
		Example: `  stint logs -f code
  stint logs -n 50 01jd8wz4v0k3m7qa
  stint logs --raw code | less -R`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runLogs(cmd.Context(), args[0], o)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&o.follow, "follow", "f", false, "go on until the run has ended")
	f.VarP(numberFlag(&o.lines, 0), "number", "n", "begin with the last `N` lines (default all; with -f, 100)")
	f.BoolVar(&o.raw, "raw", false, "every byte of the log as it is; not on a terminal")
	cmd.MarkFlagsMutuallyExclusive("raw", "number")
	return cmd
}

func (a *app) runLogs(ctx context.Context, name string, o logsOptions) error {
	if _, ok := terminal(a.Stdout); ok && o.raw {
		return fleet.WithHint(usage(errors.New("--raw: a terminal would obey escape sequences in the agent's output")),
			fmt.Sprintf("stint logs --raw %s | less -R", name))
	}
	if o.raw && a.json {
		return usage(errors.New("--raw: not with --json"))
	}
	switch {
	case o.lines < 0 && o.follow:
		o.lines = followed
	case o.lines < 0:
		o.lines = math.MaxInt
	}
	err := a.with(ctx, reading, func(f opened) error {
		e := f.Explainer
		r, err := a.runToRead(ctx, e, name, o)
		if err != nil {
			return err
		}
		h, there, err := otherHost(ctx, e, r)
		if err != nil {
			return err
		}
		p := logPrinter{app: a, fleet: e, run: r.ID, options: o, buffer: bufio.NewWriterSize(a.Stdout, 64<<10)}
		if there {
			err = p.printElsewhere(ctx, r, h)
		} else {
			err = p.print(ctx)
		}
		return errors.Join(err, p.close())
	})
	if err != nil && ctx.Err() != nil { // the work that an interrupt broke off needs no words
		return reported{err}
	}
	return err
}

// otherHost is the machine that has the log of a run, if that is another one.
func otherHost(ctx context.Context, e *inspect.Explainer, r fleet.Run) (h fleet.Host, there bool, err error) {
	_, err = os.Lstat(fleet.FilesOf(e.Config.State, r.ID).Log)
	if !e.Here.OnOtherHost(r.Location) || r.Host == "" || !errors.Is(err, fs.ErrNotExist) {
		return h, false, nil
	}
	list, _, err := e.Store.Hosts(ctx)
	h = fleet.Host{ID: r.Host, Name: r.Host} // as it is forgotten
	if i := slices.IndexFunc(list, func(h fleet.Host) bool { return h.ID == r.Host }); i >= 0 {
		h = list[i]
	}
	return h, true, err
}

// printElsewhere prints what the store has of the log of another machine's run. The whole log is on that machine.
func (p *logPrinter) printElsewhere(ctx context.Context, r fleet.Run, h fleet.Host) error {
	there := "on that host: "
	if h.Workspace != "" {
		there += "cd " + fleet.ShellWord(h.Workspace) + " && "
	}
	there += "stint logs " + string(r.ID)
	if p.options.follow || p.options.raw {
		return fleet.WithHint(usage(fmt.Errorf("run %s: the whole log is on host %s, as runs/%s/log in its state folder", r.ID, h.Name, r.ID)), there)
	}
	tail, now, err := p.fleet.Store.Tail(ctx, r.ID)
	switch {
	case errors.Is(err, fleet.ErrNotFound):
		return fleet.WithHint(fmt.Errorf("run %s: its log is on host %s, which reported nothing of it", r.ID, h.Name), there)
	case err != nil:
		return err
	}
	fmt.Fprintf(p.Stderr, "stint: run %s: the last %s of its log, as host %s reported %s\n",
		r.ID, plain.Bytes(int64(len(tail.Text))), plain.Line(h.Name), plain.Ago(tail.At, now))
	p.render(r.Agent)
	_, err = io.WriteString(p.text, tail.Text)
	return err
}

// runToRead finds the run whose log is meant, and may wait until there is one.
func (a *app) runToRead(ctx context.Context, e *inspect.Explainer, name string, o logsOptions) (fleet.Run, error) {
	r, err := resolveRun(ctx, e.Reader, name, "")
	_, category := e.Config.Categories[fleet.Category(name)]
	if !o.follow || !category || !e.Recorded() || err == nil && r.EndedAt.IsZero() {
		return r, err
	}
	if err != nil && !errors.Is(err, fleet.ErrNotFound) {
		return r, err
	}
	why := "it has never run"
	if err == nil {
		why = fmt.Sprintf("the last run, %s, ended %s", r.ID, plain.Ago(r.EndedAt, a.Now()))
	}
	fmt.Fprintf(a.Stderr, "stint: %s: %s; waiting for the next\n", name, why)
	last := r.ID
	for {
		if err := pause(ctx, logPoll); err != nil {
			return fleet.Run{}, err
		}
		list, err := e.Runs(ctx, store.RunQuery{Category: fleet.Category(name), Limit: 1})
		if err != nil {
			return fleet.Run{}, err
		}
		if len(list) > 0 && list[0].ID > last {
			return list[0].Run, nil
		}
	}
}

// pause waits, unless the command is interrupted.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// logPrinter prints the log of one run.
type logPrinter struct {
	*app
	fleet   *inspect.Explainer
	run     fleet.RunID
	options logsOptions

	buffer *bufio.Writer
	log    *session.LogReader // nil: there is none yet
	deaths int                // looks in a row at which nothing of the session lived

	// The renderer of the log on its way into the buffer; nil: raw, or there is no log yet.
	text  *transcript.Readable
	lines *screen.Printed
	last  *lastLines
}

// render has what is written to text become lines for people, or objects, and begin with the last so many. A line of JSON
// becomes any number of lines, so that the last ones are known only at the end.
func (p *logPrinter) render(agent string) {
	p.last = &lastLines{w: p.buffer, most: p.options.lines}
	if p.json {
		p.last.w = lineObjects{p.buffer, p.run}
	}
	p.lines = screen.NewPrinted(p.last)
	p.text = transcript.NewReadable(p.fleet.Config.Agents[agent].CLI, p.lines)
}

// flush prints what has no end, too. An output that fails says so at the end of the
// command.
func (p *logPrinter) flush() {
	if p.lines != nil {
		_ = p.text.Close()
		_ = p.lines.Close()
		_ = p.last.release()
	}
	_ = p.buffer.Flush()
}

func (p *logPrinter) close() error {
	p.flush()
	if p.log == nil {
		return nil
	}
	return p.log.Close()
}

// print prints what there is, and with -f what comes.
func (p *logPrinter) print(ctx context.Context) error {
	for look := 0; ; look++ {
		// Whether the run has ended is asked first: all that it printed is in the log then.
		r, over, err := p.over(ctx, look)
		if err != nil {
			return err
		}
		if err := p.drain(ctx, r.Agent); err != nil {
			return err
		}
		switch {
		case p.outputFailed():
			return nil // the end of the command reports it
		case !p.options.follow && p.log == nil:
			return p.noLog(ctx, r)
		case !p.options.follow:
			return nil
		case over:
			p.flush()
			p.printEnd(r)
			return nil
		}
		if err := pause(ctx, logPoll); err != nil {
			return err
		}
	}
}

// over reads the run, and whether nothing more will come of it: it has ended, or it died
// without an end.
func (p *logPrinter) over(ctx context.Context, look int) (fleet.Run, bool, error) {
	r, err := p.fleet.Run(ctx, p.run)
	if err != nil || !r.EndedAt.IsZero() || !p.options.follow || look%lifePolls != 0 && p.deaths == 0 {
		return r, err == nil && !r.EndedAt.IsZero(), err
	}
	d, err := p.fleet.RunDetail(ctx, p.run)
	if err != nil || d.State != fleet.RunCrashed {
		p.deaths = 0
		return d.Run, err == nil && !d.EndedAt.IsZero(), err
	}
	p.deaths++
	return d.Run, p.deaths > 1, nil // it may have been about to record its end
}

// drain prints what is in the log and was not printed.
func (p *logPrinter) drain(ctx context.Context, agent string) error {
	if err := p.find(agent); err != nil || p.log == nil {
		return err
	}
	var w io.Writer = p.buffer
	if p.text != nil {
		w = p.text
	}
	piece := make([]byte, 64<<10)
	for ctx.Err() == nil {
		n, err := p.log.Read(piece)
		if errors.Is(err, io.EOF) {
			if p.last != nil && p.options.follow {
				_ = p.last.release()
			}
			_ = p.buffer.Flush() // an output that fails says so at the end of the command
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the log of run %s: %w", p.run, err)
		}
		if _, failed := w.Write(piece[:n]); failed != nil {
			break // print sees that nobody reads any more
		}
	}
	return ctx.Err()
}

// find opens the log once it is there.
func (p *logPrinter) find(agent string) error {
	if p.log != nil {
		return nil
	}
	l, err := session.ReadLog(fleet.FilesOf(p.fleet.Config.State, p.run).Log)
	if errors.Is(err, fleet.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	p.log = l
	if !p.options.raw {
		p.render(agent)
	}
	return nil
}

// lastLines holds lines back except for the last so many, until release, and then passes on
// what comes. It is given whole lines, one at a time.
type lastLines struct {
	w     io.Writer
	most  int // [math.MaxInt]: all, and none is held back
	lines [][]byte
}

func (l *lastLines) Write(line []byte) (int, error) {
	if l.most == math.MaxInt {
		return l.w.Write(line)
	}
	l.lines = append(l.lines, bytes.Clone(line))
	if len(l.lines) > l.most {
		l.lines = l.lines[1:]
	}
	return len(line), nil
}

func (l *lastLines) release() error {
	lines := l.lines
	l.lines, l.most = nil, math.MaxInt
	for _, line := range lines {
		if _, err := l.w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// noLog says why a run has none.
func (p *logPrinter) noLog(ctx context.Context, r fleet.Run) error {
	if d, err := p.fleet.RunDetail(ctx, r.ID); err == nil && d.Swept != "" {
		return fleet.WithHint(fmt.Errorf("log of run %s: %w: %s", r.ID, fleet.ErrNotFound, d.Swept), "stint show "+string(r.ID))
	}
	if r.EndedAt.IsZero() {
		why := "its agent has not been started yet, or its files are gone"
		if now := p.Now(); r.Rests(now) {
			why = "it waits until its category has rested, and begins in " + plain.Span(r.RestLeft(now))
		}
		return fleet.WithHint(fmt.Errorf("log of run %s: %w: %s", r.ID, fleet.ErrNotFound, why), "stint logs -f "+string(r.ID))
	}
	return fleet.WithHint(fmt.Errorf("log of run %s: %w: it ended %s", r.ID, fleet.ErrNotFound, verdictText(r.Verdict)),
		"stint show "+string(r.ID))
}

func (p *logPrinter) printEnd(r fleet.Run) {
	text := "died without an end; the next fire closes it, or stint reap"
	if !r.EndedAt.IsZero() {
		text = "ended " + verdictText(r.Verdict)
		if !r.StartedAt.IsZero() {
			text += " after " + plain.Span(r.EndedAt.Sub(r.StartedAt))
		}
	}
	if p.log == nil {
		text += ", and left no log"
	}
	fmt.Fprintf(p.Stderr, "stint: run %s %s\n", r.ID, plain.Line(text))
}

// lineObjects writes every line as an object. It is given whole lines, one at a time.
type lineObjects struct {
	w   io.Writer
	run fleet.RunID
}

func (l lineObjects) Write(line []byte) (int, error) {
	printLine(l.w, lineObject(l.run).JSON(strings.TrimSuffix(string(line), "\n")))
	return len(line), nil
}
