package config_test

import "testing"

// TestFireTime refuses what a fire would wait for until its unit ends it, each time and before it starts anything.
func TestFireTime(t *testing.T) {
	t.Parallel()
	const want = `: want a duration above zero and of at most "2m", not "20m"`
	refuses(t, []unfit{
		{"selector", least + "[selector]\ntimeout = \"20m\"", "7:1: selector.timeout" + want, `write timeout = "20s"`},
		{"outcome", least + "[review]\noutcome_timeout = \"20m\"", "7:1: review.outcome_timeout" + want, `write outcome_timeout = "1m"`},
		{"feedback", least + "[review]\nfeedback_timeout = \"20m\"", "7:1: review.feedback_timeout" + want, `write feedback_timeout = "1m"`},
		{"pushes", least + "[review]\npublish_timeout = \"20m\"", "7:1: review.publish_timeout" + want, `write publish_timeout = "1m"`},
		{"task source", least + "[tasks.source.a]\ncommand = [\"list\"]\ntimeout = \"20m\"", "8:1: tasks.source.a.timeout" + want, `write timeout = "20s"`},
	})
}
