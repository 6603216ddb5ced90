// Package notice notifies an operator of what a fleet cannot solve by itself: it hands a
// notice to a command.
//
// It never says when: whether a notice is due, and that it was sent, is the caller's to
// know, and so is that a notice which fails fails nothing else.
package notice

import (
	"context"
	"encoding/json"
	"fmt"

	"stint/internal/agent/command"
	"stint/internal/fleet"
	"stint/internal/plain"
)

// Schema names the JSON that is sent.
const Schema = "stint/notice@1"

// Sender notifies an operator.
type Sender struct {
	Fleet   fleet.Name
	Host    string          // the name of this machine
	Command command.Command // gets the notice on its input
}

// Send runs the command with n on its input.
func (s Sender) Send(ctx context.Context, n fleet.Notice) error {
	text, err := s.Encode(n)
	if err != nil {
		return err
	}
	c := s.Command
	c.Stdin = text
	if _, err := c.Output(ctx); err != nil {
		return fmt.Errorf("send notice %s of %s: %w", n.Event, n.Subject(), err)
	}
	return nil
}

// Object is the notice as sent. A field that the event is not about is an empty string, so that
// every field is always there.
type Object struct {
	Schema   string         `json:"schema" doc:"stint/notice@1"`
	Event    fleet.Event    `json:"event" doc:"as in events of [notice]"`
	Fleet    fleet.Name     `json:"fleet"`
	Host     string         `json:"host"`
	Category fleet.Category `json:"category"`
	Task     fleet.TaskID   `json:"task"`
	Run      fleet.RunID    `json:"run"`
	Agent    string         `json:"agent"`
	Scope    fleet.Scope    `json:"scope"`
	Source   string         `json:"source"`
	Reason   string         `json:"reason"`
	At       string         `json:"at"`
}

// Encode is n as it is sent, in one line.
func (s Sender) Encode(n fleet.Notice) ([]byte, error) {
	text, err := json.Marshal(Object{
		Schema: Schema, Event: n.Event, Fleet: s.Fleet, Host: s.Host, Category: n.Category, Task: n.Task, Run: n.Run,
		Agent: n.Agent, Scope: n.Scope, Source: n.Source, Reason: n.Reason, At: plain.Stamp(n.At),
	})
	if err != nil {
		return nil, fmt.Errorf("encode notice %s: %w", n.Event, err)
	}
	return append(text, '\n'), nil
}
