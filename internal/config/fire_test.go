package config_test

import "testing"

// TestFireTime refuses what a fire would wait for until its unit ends it, each time and before it starts anything.
func TestFireTime(t *testing.T) {
	t.Parallel()
	const is = "unknown key"
	refuses(t, []unfit{
		{"commands", least + "[commands]\ntimeout = \"20m\"", `7:1: commands.timeout: want a duration above zero and of at most "2m", not "20m"`, `write timeout = "1m"`},
		{"selector", least + "[selector]\ntimeout = \"20m\"", "7:1: selector.timeout: " + is, `write timeout = "1m" under [commands]`},
		{"gate", least + "[category.code.wip]\ntimeout = \"20m\"", "7:1: category.code.wip.timeout: " + is, `write timeout = "1m" under [commands]`},
		{"task source", least + "[tasks.source.a]\ncommand = [\"list\"]\ntimeout = \"20m\"", "8:1: tasks.source.a.timeout: " + is, `write timeout = "1m" under [commands]`},
		{"grader", least + "grader_timeout = \"9m\"", "6:1: category.code.grader_timeout: " + is, "write timeout under [category.NAME]: each check and grader may take as long as a session"},
		{"variables", least + "[review]\npass_environment = []", "7:1: review.pass_environment: " + is, "write pass_environment under [commands]"},
	})
}
