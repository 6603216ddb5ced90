package cli

import (
	"context"

	"github.com/spf13/cobra"

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
