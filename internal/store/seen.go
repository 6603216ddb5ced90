package store

// Server is the one that answers for a shared store.
type Server struct {
	System      string // identifier, which its standbys have, too
	Timeline    int    // one more with each standby that became the primary; 0: it is a standby now
	Synchronous bool   // a standby has what it acknowledges
}

// Seen describes the last write of a machine that a shared store acknowledged.
type Seen struct {
	System      string
	Timeline    int
	Incarnation int    // see [stint/internal/fleet.Lineage]
	Host        string // this machine's identity then: a copy of it, which got another, has written nothing yet
	Writes      int64  // of this machine, up to that one
}

// Deposed reports whether a server is one from which the fleet has moved on, to a standby of it.
func (s Seen) Deposed(by Server) bool {
	return by.Timeline > 0 && by.System == s.System && by.Timeline < s.Timeline
}

// Before reports whether other is of a later write.
func (s Seen) Before(other Seen) bool {
	if s.System != other.System || s.Incarnation != other.Incarnation {
		return s.System != other.System || s.Incarnation < other.Incarnation
	}
	return s.Timeline < other.Timeline || s.Timeline == other.Timeline && (s.Host != other.Host || s.Writes < other.Writes)
}

// Memory keeps the last write that a machine has seen acknowledged. All of its processes share it.
type Memory interface {
	Seen() Seen // zero: nothing
	// Remember keeps what was seen, unless something later was. A write that is not remembered is not
	// missed if it is lost.
	Remember(s Seen)
}
