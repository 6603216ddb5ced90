package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// behaviour names the stub's answer to every question.
type behaviour string

const (
	answers   behaviour = "answer"      // says a sentence
	usesTool  behaviour = "tool"        // asks for one command, then says a sentence
	failsTool behaviour = "tool-fails"  // the same with a command that fails
	oversteps behaviour = "tool-denied" // the same with a file where nobody has allowed one
	walled    behaviour = "quota"       // the plan's allowance is used up until a day from the start
	throttled behaviour = "throttled"   // too many requests, for seconds
	crowded   behaviour = "overloaded"  // the service has no room
	refuses   behaviour = "refused"     // the key is no good
	breaks    behaviour = "broken"      // the connection ends in mid-answer
	hangs     behaviour = "hang"        // takes the question and says nothing more
	stalls    behaviour = "stall"       // asks for one command, then says nothing more

	expired     behaviour = "expired"     // the login has ended
	forbidden   behaviour = "forbidden"   // the login may not ask this
	noModel     behaviour = "no-model"    // there is no such model
	fails       behaviour = "failing"     // the service has a fault of its own
	badGateway  behaviour = "bad-gateway" // what stands before the service cannot reach it
	unreachable behaviour = "unreachable" // nobody listens at its address
	resets      behaviour = "reset"       // the connection ends before an answer
	tooLong     behaviour = "too-long"    // the question is longer than the model's context
	declines    behaviour = "declined"    // the model, or the service for it, will not answer
	noCredit    behaviour = "no-credit"   // the account has no money left
)

// nobody is an address on loopback at which nobody listens.
const nobody = "http://127.0.0.1:9"

// address returns the address of a behaviour's model server.
func (s *stub) address(b behaviour) string {
	if b == unreachable {
		return nobody + "/" + string(b)
	}
	return s.URL + "/" + string(b)
}

// The usage that the stub reports for an answer, in either protocol. Anthropic's does not count
// tokens from the cache as input; OpenAI's does.
const (
	sentence     = "There was nothing to do."
	inputTokens  = 1000
	cachedTokens = 200
	outputTokens = 50
)

// retryAfter is the wait that the service asks for when it is asked too often, in seconds. The
// agents do wait so long, once.
const retryAfter = "2"

// stub is a model server on loopback. It speaks the protocols of Anthropic's messages
// and of OpenAI's responses, below a folder named for the behaviour:
// http://127.0.0.1:PORT/quota/v1/messages. It keeps no state: whether a tool was used
// already is in the question.
type stub struct {
	URL     string
	resetAt time.Time // when what is used up comes back
	server  *http.Server
}

func startStub(ctx context.Context, resetAt time.Time) (*stub, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the stub model server: %w", err)
	}
	s := &stub{URL: "http://" + listener.Addr().String(), resetAt: resetAt}
	s.server = &http.Server{Handler: http.HandlerFunc(s.handle), ReadHeaderTimeout: 10 * time.Second}
	go s.server.Serve(listener) //nolint:errcheck // it ends with Close, which is no fault
	return s, nil
}

// Close ends the questions under way as well.
func (s *stub) Close() error {
	return s.server.Close()
}

// question is as much of what an agent asks as the answer depends on.
type question struct {
	behaviour behaviour
	body      []byte
	tools     []string
}

func (s *stub) handle(w http.ResponseWriter, r *http.Request) {
	folder, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the agent went away
	}
	q := question{behaviour: behaviour(folder), body: body, tools: toolNames(body)}
	switch {
	case r.Method != http.MethodPost:
		http.NotFound(w, r)
	case strings.HasSuffix(rest, "/messages/count_tokens"):
		writeJSON(w, http.StatusOK, map[string]any{"input_tokens": inputTokens})
	case strings.HasSuffix(rest, "/messages"):
		s.messages(w, r, q)
	case strings.HasSuffix(rest, "/responses"):
		s.responses(w, r, q)
	case strings.HasSuffix(rest, "/chat/completions"):
		s.chat(w, r, q)
	case strings.Contains(rest, "enerateContent"):
		s.generate(w, r, q, strings.HasSuffix(rest, ":streamGenerateContent"))
	default:
		http.NotFound(w, r)
	}
}

type named struct {
	Name string `json:"name"`
}

// toolNames are the tools that the question offers, in its order.
func toolNames(body []byte) []string {
	var q struct {
		Tools []struct {
			named
			Function     named   `json:"function"`
			Declarations []named `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if json.Unmarshal(body, &q) != nil {
		return nil
	}
	var names []string
	for _, tool := range q.Tools {
		for _, n := range append(tool.Declarations, tool.named, tool.Function) {
			if n.Name != "" {
				names = append(names, n.Name)
			}
		}
	}
	return names
}

// wantsTool says whether the answer is to be a call of a tool: once, as the result
// of it is in the next question.
func (q question) wantsTool(result string) bool {
	if q.works() {
		return q.step(result) != ""
	}
	return !bytes.Contains(q.body, []byte(result))
}

// command returns the command for the tool.
func (q question) command(result string) string {
	if q.works() {
		return q.step(result)
	}
	if q.behaviour == failsTool {
		return "cat no-such-file"
	}
	if q.behaviour == escapes {
		return tryEscapes()
	}
	if q.behaviour == plants {
		return plant()
	}
	return "git commit --allow-empty -q -m done"
}

// interrupted does what a service in trouble does instead of answering. It is false
// where the behaviour is to answer.
func (s *stub) interrupted(w http.ResponseWriter, r *http.Request, q question) bool {
	if q.behaviour == resets {
		reset(w)
		return true
	}
	if q.behaviour != hangs && (q.behaviour != stalls || q.wantsTool(`"tool_result"`) && q.wantsTool(`_call_output"`)) {
		return false
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	http.NewResponseController(w).Flush() //nolint:errcheck // whether it arrived shows in what the agent does
	<-r.Context().Done()
	return true
}

// gatewayError is the page of a proxy, which speaks no protocol of a model.
func gatewayError(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(http.StatusBadGateway)
	io.WriteString(w, "<html><head><title>502 Bad Gateway</title></head></html>\n") //nolint:errcheck // the agent went away
}

// reset ends the connection so that the agent sees it reset.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err) // it is HTTP/1 over TCP
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0) //nolint:errcheck // the agent sees an end in any case
	}
	conn.Close()
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(value) //nolint:errcheck // the agent went away
}

// object is a JSON object of a protocol.
type object = map[string]any

// events writes a stream of server-sent events. Each has the type that it says it
// has, which is what both protocols name it.
func events(w http.ResponseWriter, list ...object) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range list {
		text, err := json.Marshal(event)
		if err != nil {
			panic(err) // it is made of strings and numbers
		}
		if name, ok := event["type"].(string); ok {
			fmt.Fprintf(w, "event: %s\n", name)
		}
		fmt.Fprintf(w, "data: %s\n\n", text)
	}
}
