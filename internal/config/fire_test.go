package config_test

import "testing"

// TestFireTime refuses what a fire would wait for until its unit ends it, each time and before it starts anything.
func TestFireTime(t *testing.T) {
	t.Parallel()
	refuses(t, []unfit{
		{"commands", least + "[commands]\ntimeout = \"20m\"", `7:1: commands.timeout: want a duration of at most "2m", not "20m"`, `write timeout = "1m"`},
	})
}
