package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"stint/internal/fleet"
	"stint/internal/metrics"
)

func newMetrics(a *app) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "metrics",
		Short: "Print the fleet's figures for Prometheus",
		Long: `Print the fleet's figures in the text format of Prometheus: the same as /metrics of
"stint serve", for machines on which nothing listens. --textfile writes them to a file for
node_exporter's textfile collector, atomically, readable by every user. Names that end in
_total are counters since the store was made; those in _last_day are gauges over 24 hours.`,
		Example: `  stint metrics
  stint metrics --textfile /var/lib/prometheus/node-exporter/stint.prom`,
		RunE: a.open(reading, func(ctx context.Context, f opened, _ []string) error {
			c, err := f.Counters(ctx)
			if err != nil {
				return err
			}
			text := metrics.Text(metrics.About{Fleet: f.Config.Fleet, Version: version()}, c)
			if file != "" {
				if err := replaceFile("metrics", file, text); err != nil {
					return err
				}
			}
			if !a.asObject(metricsObject(file).JSON(string(text))) && file == "" {
				_, err = a.Stdout.Write(text)
			}
			return err
		}),
	}
	cmd.Flags().StringVar(&file, "textfile", "", "write to this `FILE`, whose name should end in .prom")
	return cmd
}

// replaceFile puts a file that all users may read in the place of an older one, whole or not at all, and of nothing
// else: a link, /dev/null or /dev/stdout would be gone for the whole machine. The error names the file that was asked for.
//
// If we die in it, the old file is there, and beside it perhaps a temporary one.
func replaceFile(what, path string, text []byte) error {
	failed := func(err error) error {
		return fleet.WithHint(fmt.Errorf("write %s %s: %w", what, path, err), "name a file in a folder that can be written to")
	}
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return usage(failed(errors.New("it is not a regular file")))
	}
	err := renameio.WriteFile(path, text, 0o644, renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(0o644))
	if cause, ok := errors.AsType[syscall.Errno](err); ok {
		err = cause
	}
	if err != nil {
		return failed(err)
	}
	return nil
}
