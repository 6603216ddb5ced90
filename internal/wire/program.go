package wire

import "stint/internal/fleet"

// Error is stint/error@1.
type Error struct {
	Schema string `json:"schema"`
	Status int    `json:"status"`
	Error  string `json:"error"`
	Hint   string `json:"hint"`
}

// NewError is why a command failed, as JSON.
func NewError(status int, err error) Error {
	return Error{"stint/error@1", status, err.Error(), fleet.Hint(err)}
}

// Version is stint/version@1.
type Version struct {
	Schema  string `json:"schema"`
	Version string `json:"version"`
}

// NewVersion is a version as JSON.
func NewVersion(version string) Version { return Version{"stint/version@1", version} }

// Metrics is stint/metrics@1.
type Metrics struct {
	Schema   string `json:"schema"`
	Textfile string `json:"textfile"` // written; empty: none was
	Text     string `json:"text"`     // in the text format of Prometheus
}

// NewMetrics is a page of metrics as JSON.
func NewMetrics(file, text string) Metrics { return Metrics{"stint/metrics@1", file, text} }

// Serve is stint/serve@1.
type Serve struct {
	Schema string     `json:"schema"`
	Fleet  fleet.Name `json:"fleet"`
	URL    string     `json:"url"`
}

// NewServe is where the fleet is shown, as JSON.
func NewServe(f fleet.Name, url string) Serve { return Serve{"stint/serve@1", f, url} }

// LogLine is stint/log-line@1.
type LogLine struct {
	Schema string      `json:"schema"`
	Run    fleet.RunID `json:"run"`
	Line   string      `json:"line"`
}

// NewLogLine is a line of a run's log, as JSON.
func NewLogLine(run fleet.RunID, line string) LogLine { return LogLine{"stint/log-line@1", run, line} }

// Host is stint/host@1: which machine a state folder is of.
type Host struct {
	Schema  string `json:"schema"`
	DryRun  bool   `json:"dry_run"`
	Changed bool   `json:"changed"` // it was adopted
	ID      string `json:"id"`      // random
	Name    string `json:"name"`    // of the machine when it got the identity
	Machine string `json:"machine"` // machine-id(5) then; empty: it had none
	Boot    string `json:"boot"`    // which start of this machine this is; empty: nobody knows
	Foreign bool   `json:"foreign"` // that is another machine than this
}

// NewHost is an identity as JSON.
func NewHost(id, name, machine, boot string, foreign bool) Host {
	return Host{Schema: "stint/host@1", ID: id, Name: name, Machine: machine, Boot: boot, Foreign: foreign}
}
