package fleet

// FaultKind is a fault that kept an agent from its work, or the reason of its rest where no usage
// limit was met.
type FaultKind string

const (
	// FaultLogin is a login or a key that the service does not take.
	FaultLogin FaultKind = "login"
	// FaultForbidden is a login that may not do what was asked.
	FaultForbidden FaultKind = "forbidden"
	// FaultModel is a model that the service does not have.
	FaultModel FaultKind = "model"
	// FaultConnection is a service that was not reached.
	FaultConnection FaultKind = "connection"
	// FaultServer is a service that answered with an error of its own, or had no room.
	FaultServer FaultKind = "server"
	// FaultCut is an answer that ended in the middle.
	FaultCut FaultKind = "cut"
	// FaultSilent is a service that never answered while the session had time.
	FaultSilent FaultKind = "silent"
	// FaultContext is a prompt or a conversation that is longer than the model's context.
	FaultContext FaultKind = "context"
	// FaultRefusal is a request that the model, or its service, refused for its content.
	FaultRefusal FaultKind = "refusal"
	// FaultAgent is an agent that failed by itself again and again. No session reports it: the
	// failures in a row show it.
	FaultAgent FaultKind = "agent"
)

// Lasting reports whether the fault stays until a person does something about it.
func (k FaultKind) Lasting() bool {
	return k == FaultLogin || k == FaultForbidden || k == FaultModel
}

// OfMachine reports whether the fault is that of a login, which each machine has for itself.
func (k FaultKind) OfMachine() bool { return k == FaultLogin || k == FaultForbidden }

// OfTask reports whether the fault says something of the task, and nothing of the service.
func (k FaultKind) OfTask() bool {
	return k == FaultContext || k == FaultRefusal
}
