package store

// Server identifies the server that answered for a shared store.
type Server struct {
	System      string // identifier, which standbys share
	Timeline    int    // grows by one when a standby becomes the primary; 0: the server is a standby
	Synchronous bool   // a standby confirms each write
}

// Seen describes the last write of this machine that a shared store acknowledged.
type Seen struct {
	System      string
	Timeline    int
	Incarnation int    // see [stint/internal/fleet.Lineage]
	Host        string // this machine's identity at that time; a copy with a new identity has written nothing yet
	Writes      int64  // of this machine, including that one
}

// Deposed reports whether a standby took the server's place.
func (s Seen) Deposed(by Server) bool {
	return by.Timeline > 0 && by.System == s.System && by.Timeline < s.Timeline
}

// Before reports whether other describes a later write.
func (s Seen) Before(other Seen) bool {
	if s.System != other.System || s.Incarnation != other.Incarnation {
		return s.System != other.System || s.Incarnation < other.Incarnation
	}
	return s.Timeline < other.Timeline || s.Timeline == other.Timeline && (s.Host != other.Host || s.Writes < other.Writes)
}

// Memory keeps the last write that a machine saw acknowledged. All of the machine's processes share it.
type Memory interface {
	Seen() Seen // zero: nothing
	// Remember keeps s, unless it keeps something later. If the store loses a write that was not remembered, nobody
	// notices.
	Remember(s Seen)
}
