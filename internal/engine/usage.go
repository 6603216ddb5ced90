package engine

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"

	"stint/internal/agent/preset"
	"stint/internal/agent/transcript"
	"stint/internal/config"
	"stint/internal/fleet"
)

const (
	// maxOwnBytes bounds what is read of the files in which an agent keeps a session: of
	// longer ones nothing is known.
	maxOwnBytes = 256 << 20
	// maxHelpers bounds how many files of a session's helpers are read.
	maxHelpers = 1000
)

// used returns the usage of a run's session. Its output comes first or, where that says nothing, its
// result file, which is said. Where both are silent, as after a kill or with an agent that
// reports no cost, the agent's own files give the tokens, and the configured prices the cost.
// The files are also believed before the result file. The store assumes the rest.
//
// Where a session goes on with a conversation, its program's counters and its own file go on, too: what the earlier runs of the
// conversation used, by the record, is not used once more. The sum over the runs is what the service counted.
func (e *Engine) used(ctx context.Context, r fleet.Run, said fleet.Usage) (u fleet.Usage, conversation string) {
	s, _ := e.ReadLog(r, maxOwnBytes) // without a log, it printed nothing
	before, earlier := e.before(ctx, r)
	used := s.Used()
	total := used.Total()
	thread := s.Thread && total.Total() >= before+s.Alone
	whole, ended := thread, s.Success != nil
	cut := !ended && said.Tokens != nil && *said.Tokens == total.Total()
	own, more, kept := e.ownUsage(ctx, r, s.SessionID)
	switch sum := own.Total().Total(); {
	case len(own) == 1 && used[""].Total() > 0 && sum <= total.Total():
		for model := range own { // the agent printed how much, and its file names the model
			used = transcript.Models{model: total}
		}
	case sum-before >= total.Total() || thread && sum >= total.Total():
		used, whole = own, true
	}
	u = e.priced(ctx, r, said, used, total.Total(), cut, ended && kept)
	if u.Tokens != nil && (thread || whole && u.Tokens != said.Tokens) {
		u.Tokens = new(max(0, *u.Tokens-before))
	}
	if u.USD != nil && (thread || whole && u.Cost == fleet.CostComputed) {
		u.USD = new(max(0, *u.USD-earlier))
	}
	u.Windows = slices.Concat(s.Windows, more)
	return u, s.SessionID
}

// before is what the earlier runs of a run's conversation used.
func (e *Engine) before(ctx context.Context, r fleet.Run) (tokens int64, usd float64) {
	for id := r.Conversation.Resumes; id != "" && id < r.ID; {
		var err error
		if r, err = e.Store.Run(ctx, id); err != nil {
			break // it is counted twice rather than never
		}
		if r.Usage.Tokens != nil {
			tokens += *r.Usage.Tokens
		}
		if r.Usage.USD != nil {
			usd += *r.Usage.USD
		}
		id = r.Conversation.Resumes
	}
	return tokens, usd
}

// priced is the usage by what is believed of the tokens by model, of which the output had so many.
func (e *Engine) priced(
	ctx context.Context, r fleet.Run, said fleet.Usage, used transcript.Models, printed int64, cut, unbilled bool,
) fleet.Usage {
	u, sum := said, used.Total()
	if sum.Total() > 0 && printed == 0 {
		u = fleet.Usage{} // only its model's word
	}
	if (u.Tokens == nil || cut) && sum.Total() > 0 {
		u.Tokens = new(sum.Total())
	}
	if unbilled && len(used) == 0 && u.Tokens == nil {
		u.Tokens = new(int64(0)) // it came to its own end, and no answer was billed
	}
	u.Models = slices.DeleteFunc(slices.Sorted(maps.Keys(used)), func(name string) bool { return name == "" })
	if u.USD != nil {
		u.Cost = fleet.CostReported
		return u
	}
	if u.Tokens == nil || *u.Tokens > 0 && len(used) == 0 {
		return u
	}
	usd, unpriced := e.Config.Prices.Cost(used)
	if len(unpriced) == 0 {
		u.USD, u.Cost = &usd, fleet.CostComputed
		return u
	}
	if e.Config.BindsUSD(r.Category, r.Agent) {
		e.Log.WarnContext(ctx, "cost not known", slog.String("run_id", string(r.ID)), slog.String("category", string(r.Category)),
			slog.String("reason", config.Unpriced(unpriced)+"; what a session of agent "+r.Agent+" costs on average is assumed"))
	}
	return u
}

// ownUsage returns the usage by the agent's own files, and whether there are any.
// Where the session has no name, a file counts only if it is the only one that was written
// meanwhile.
func (e *Engine) ownUsage(ctx context.Context, r fleet.Run, session string) (used transcript.Models, windows []fleet.Window, kept bool) {
	files := e.OwnFiles(r, session)
	if len(files) != 1 {
		return nil, nil, false
	}
	cli := e.Config.Agents[r.Agent].CLI
	if glob := cli.HelperGlob(files[0]); glob != "" {
		helpers, _ := filepath.Glob(glob) // a pattern that is none has no files
		files = append(files, helpers[:min(len(helpers), maxHelpers)]...)
	}
	left := int64(maxOwnBytes)
	for _, file := range files {
		models, more, err := e.readOwn(cli, file, &left)
		if err != nil {
			e.Log.WarnContext(ctx, "usage not read", slog.String("run_id", string(r.ID)), slog.Any("err", err))
			return nil, nil, false
		}
		windows = append(windows, more...)
		for model, t := range models {
			used.Add(model, t)
		}
	}
	return used, windows, true
}

func (e *Engine) readOwn(cli preset.CLI, file string, left *int64) (transcript.Models, []fleet.Window, error) {
	f, err := e.Agents.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if *left -= info.Size(); *left < 0 {
		return nil, nil, errors.New(file + ": too long to be read")
	}
	return transcript.ReadUsage(cli, io.LimitReader(f, info.Size()))
}
