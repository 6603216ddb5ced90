// Package notice notifies an operator of what a fleet cannot solve by itself: it hands a
// notice to a command, posts it to a webhook, or both.
//
// It never says when: whether a notice is due, and that it was sent, is the caller's to
// know, and so is that a notice which fails fails nothing else. A send ends within the
// time it is given.
//
// A webhook's answer is not trusted: it is not read beyond the status, and never followed
// elsewhere. The address is a secret with many services, so that no error has more of it than
// the host.
package notice

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"stint/internal/command"
	"stint/internal/fleet"
	"stint/internal/plain"
)

// Schema names the JSON that is sent.
const Schema = "stint/notice@1"

// Sender notifies an operator.
type Sender struct {
	Fleet   fleet.Name
	Host    string          // the name of this machine
	Command command.Command // gets the notice on its input; without a program: none
	Webhook string          // is posted the notice; empty: none
	Timeout time.Duration   // of one send; zero: until its context ends
}

// Send sends n by all ways that there are at once. The error names those that failed.
func (s Sender) Send(ctx context.Context, n fleet.Notice) error {
	text, err := s.Encode(n)
	if err != nil {
		return err
	}
	if s.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.Timeout, fmt.Errorf("time-out after %v", s.Timeout))
		defer cancel()
	}
	posted := make(chan error, 1)
	go func() { posted <- s.post(ctx, text) }()
	err = errors.Join(s.run(ctx, text), <-posted)
	if err != nil {
		return fmt.Errorf("send notice %s of %s: %w", n.Event, n.Subject(), err)
	}
	return nil
}

// object is the notice as sent. A field that the event is not about is an empty string, so that
// every field is always there.
type object struct {
	Schema   string         `json:"schema"`
	Event    fleet.Event    `json:"event"`
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
	text, err := json.Marshal(object{
		Schema: Schema, Event: n.Event, Fleet: s.Fleet, Host: s.Host, Category: n.Category, Task: n.Task, Run: n.Run,
		Agent: n.Agent, Scope: n.Scope, Source: n.Source, Reason: n.Reason, At: plain.Stamp(n.At),
	})
	if err != nil {
		return nil, fmt.Errorf("encode notice %s: %w", n.Event, err)
	}
	return append(text, '\n'), nil
}

func (s Sender) run(ctx context.Context, text []byte) error {
	if len(s.Command.Argv) == 0 {
		return nil
	}
	c := s.Command
	c.Stdin = text
	_, err := c.Output(ctx)
	return err
}

func (s Sender) post(ctx context.Context, text []byte) error {
	if s.Webhook == "" {
		return nil
	}
	if err := CheckWebhook(s.Webhook); err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Webhook, bytes.NewReader(text))
	if err != nil {
		return errors.New("post to the webhook: its address cannot be read") // The error would have all of it.
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "stint")
	if err := exchange(ctx, request); err != nil {
		return fmt.Errorf("post to the webhook at %s: %w", request.URL.Host, err)
	}
	return nil
}

// exchange sends the request over a connection of its own.
func exchange(ctx context.Context, request *http.Request) error {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	client := http.Client{
		Transport: transport,
		// A redirect turns most posts into a request for a page, or takes the notice to
		// another host: both lose it where nobody looks.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	var whole *url.Error
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &whole):
		return whole.Err // without the address
	case err != nil:
		return err
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode/100 == 3:
		return fleet.WithHint(fmt.Errorf("it answered %s, and a redirect is not followed", status(response)),
			"set notice.webhook to where the service is")
	case response.StatusCode/100 != 2:
		return fmt.Errorf("it answered %s", status(response))
	}
	return nil
}

// status is what a server calls its answer, which may be anything.
func status(r *http.Response) string {
	const most = 60 // a phrase
	said := []rune(plain.Line(r.Status))
	return string(said[:min(len(said), most)])
}

// CheckWebhook refuses an address to which a notice would travel in the clear.
func CheckWebhook(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return fleet.WithHint(errors.New("the webhook is no address"), `write it as in "https://example.org/hook"`)
	}
	switch u.Scheme {
	case "https":
		return nil
	case "http":
		if ip := net.ParseIP(u.Hostname()); u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
			return nil
		}
		return fleet.WithHint(fmt.Errorf("the webhook at %s is not encrypted, and not on this machine", u.Host), "use https")
	}
	return fleet.WithHint(errors.New("the webhook is neither https nor http"), `write it as in "https://example.org/hook"`)
}
