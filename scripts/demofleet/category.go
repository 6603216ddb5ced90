package main

// category is a kind of work in the sample workspace: what its agent does, and so how
// its sessions end.
type category struct {
	name    string
	agent   string // what it does, for people
	outcome string
	grade   string // as shown; empty: any, for it is stint's to give
}

func categories() []category {
	return []category{
		{"code", "is slow, commits, and grades itself", "productive", "0.90"},
		{"docs", "commits, and leaves the grade to stint", "productive", ""},
		{"tests", "commits, and grades itself lower", "productive", "0.60"},
		{"triage", "does nothing", "noop", "-"},
		{"flaky", "fails", "failed", "0.00"},
	}
}
