package cli

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"stint/internal/agent/preset"
	"stint/internal/agent/rundir"
	"stint/internal/agent/transcript"
	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	"stint/internal/screen"
	"stint/internal/view"
)

// excerptBytes bounds the part of a prompt and of a log that is searched for the few lines that
// are shown.
const excerptBytes = 16 << 10

func newShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show RUN|CATEGORY",
		Short: "Print everything known of one run",
		Long: `Print everything known of one run: its times, the fire that started it and the reason,
lane, claim, agent and unit, how it ended, the terms of its grade, its branch and folder, what
it used, denied claims, the lessons it got and those that were withheld, whether another run
followed, and its files, with the beginning of the prompt and the end of the log.

For a category it is the run under way, else the last one. A run's id may be cut to a beginning
that no other has, here and in all commands that show, stop or review runs.`,
		Example: `  stint show code
  stint show 01jd8wz4v0k3m7qa --json`,
		RunE: a.open(reading, func(ctx context.Context, f opened, args []string) error {
			r, err := resolveRun(ctx, f.Reader, args[0], "")
			if err != nil {
				return err
			}
			d, err := a.runDetail(ctx, f, r.ID)
			if err != nil {
				return err
			}
			a.say(view.RunDetail().JSON(d), func(s screen.Style) []string {
				return screen.Run(newRunView(d, a, f.Config.Agents[d.Agent].CLI), s)
			})
			return nil
		}),
	}
}

// runDetail is all that is known of a run, with the folder of its own that it still has.
func (a *app) runDetail(ctx context.Context, e opened, run fleet.RunID) (inspect.RunDetail, error) {
	d, err := e.RunDetail(ctx, run)
	dir := filepath.Join(a.places(e.Config).Root, string(d.Home()))
	if _, missing := os.Lstat(dir); err == nil && missing == nil {
		d.Dir = dir
	}
	if err == nil && !d.EndedAt.IsZero() { // one at work may take it up
		var left map[fleet.RunID]string
		left, err = e.Work.Leftovers(ctx)
		d.Leftovers = left[d.Home()]
	}
	return d, err
}

// newRunView reads what stands in the run's files. One that cannot be read says so in its
// place: the record is worth showing without it.
func newRunView(d inspect.RunDetail, a *app, f preset.CLI) screen.RunView {
	v := screen.RunView{RunDetail: d, At: a.Now()}
	var err error
	if v.Prompt, err = rundir.First(d.Files.Prompt, excerptBytes); err != nil {
		v.Prompt = "[" + err.Error() + "]"
	}
	if v.Log, err = rundir.Last(d.Files.Log, excerptBytes); err != nil {
		v.Log = "[" + err.Error() + "]"
	}
	v.Log = transcript.ReadableText(f, v.Log)
	for _, path := range []string{d.Files.Prompt, d.Files.Log, d.Files.Result} {
		if _, err := os.Lstat(path); err == nil {
			v.There = append(v.There, path)
		}
	}
	v.There = append(v.There, d.Own...)
	return v
}
