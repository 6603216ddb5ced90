package fleet

// Landing is a run's work on its way into the target.
type Landing struct {
	Run    RunID
	Branch string // of the run
	Tip    string // of that branch: what is to land
	Target string // the branch that it is to get into
	Merge  bool   // by a merge commit; else its commits are put on the target anew
}

// Stacked is a landing's work on top of the target, in a folder of its own.
type Stacked struct {
	Landing
	Dir       string
	Base      string   // the target's commit that it stands on
	Commit    string   // that the target is to have then; Base: the target has all of it
	Filtered  []string // files that the landing changes and for which git has a filter, such as that of LFS
	Conflicts []string // files for which a person is needed; nothing stands then
	Refused   string   // why git does not put this work there, as with a name that it lets no file have; nothing stands then
}

// LandingEnd is the result of a landing.
type LandingEnd string

const (
	// LandingLanded is work that is in the target.
	LandingLanded LandingEnd = "landed"
	// LandingSetAside is work that conflicts with the target, or whose check failed on it.
	LandingSetAside LandingEnd = "set aside"
	// LandingNotTried is work of which nobody knows whether it could land.
	LandingNotTried LandingEnd = "not tried"
)

// Landed is the result of one landing, and its reason.
type Landed struct {
	Run    RunID
	Task   TaskID
	End    LandingEnd
	Commit string // that the target has for it; empty: none of this landing
	Base   string // that the target had before
	Reason string
	Left   string // to be done of a landing's end; empty: nothing
}
