package session

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"stint/internal/box"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// Scripts of peers. stint numbers what it asks from 1. A peer that has begun has read the prompt.
const (
	first = `read -r m; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"bash"}}}'; read -r m; `
	begun = first + `echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1"}}'; read -r m; `
	bye   = "\n" + `echo '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'` + "\n"
	news  = `echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":`

	began = `{"type":"acp","agent":{"name":"bash"}}` + "\n" + `{"type":"acp","session":"s1"}` + "\n"
	ended = `{"type":"acp","calls":0,"last":"","result":{"stopReason":"end_turn"}}` + "\n"
)

func says(update string) string { return news + update + "}}'\n" }

func chunk(text string) string {
	return says(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + text + `"}}`)
}

// TestPeers runs agents of every character that speak the Agent Client Protocol, or say so. A broken one ends its session, and
// costs little memory.
func TestPeers(t *testing.T) {
	t.Parallel()
	exited, overran := told{End: fleet.Exited}, told{End: fleet.Overran}
	broken := func(why string) told { return told{End: fleet.Killed, Detail: why} }
	resumes := func(o *order) { o.Resumes = "s0" }
	resuming := strings.Replace(first, `"agentInfo"`, `"agentCapabilities":{"sessionCapabilities":{"resume":{}}},"agentInfo"`, 1) +
		`[[ $m == *'"method":"session/resume"'*'"sessionId":"s0"'* ]] || exit 4; `
	short := func(o *order) { o.Timeout = 4 * time.Second } // until then a loaded machine has begun it
	const call = `{"toolCallId":"c1","title":"Shell","kind":"execute","rawInput":{"command":"make >log"}}`
	const permission = `echo '{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":` + call + `,"options":[`
	for name, tt := range map[string]struct {
		script string
		change func(*order)
		want   told
		log    string // its end, where it is long
	}{
		"answering": {begun + `echo "$m" | tr -d p >asked` + bye, nil, exited, began + ended},
		"in pieces": {
			begun + chunk("I ") + chunk("see <it>") + says(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}`) + chunk("!") +
				says(`{"sessionUpdate":"available_commands_update","availableCommands":[]}`) + says(`{"sessionUpdate":"plan","entries":[]}`) + bye,
			nil, exited, began + `{"type":"acp","content":{"text":"I see <it>","type":"text"},"sessionUpdate":"agent_message_chunk"}
{"type":"acp","content":{"text":"hm","type":"text"},"sessionUpdate":"agent_thought_chunk"}
{"type":"acp","content":{"text":"!","type":"text"},"sessionUpdate":"agent_message_chunk"}
{"type":"acp","sessionUpdate":"plan","entries":[]}
{"type":"acp","calls":0,"last":"!","result":{"stopReason":"end_turn"}}
`,
		},
		"calling": {
			begun + says(`{"sessionUpdate":"tool_call","toolCallId":"c1","title":"Shell","kind":"execute","status":"pending","rawInput":{}}`) +
				permission + `{"optionId":"ever","kind":"allow_always"},{"optionId":"no","kind":"reject_once"},{"optionId":"yes","kind":"allow_once"}]}}'
				read -r m; [[ $m == *'"id":7,"jsonrpc":"2.0","result":{"outcome":{"optionId":"yes","outcome":"selected"}}'* ]] || exit 4;` +
				says(`{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress"}`) +
				strings.Repeat(says(`{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"ok"}}]}`), 2) + bye,
			nil, exited, began + `{"type":"acp","sessionUpdate":"tool_call","toolCallId":"c1","title":"Shell","kind":"execute","rawInput":{"command":"make >log"}}
{"type":"acp","sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"ok"}}]}
{"type":"acp","calls":1,"last":"","result":{"stopReason":"end_turn"}}
`,
		},
		"asking for ever": {
			begun + permission + `{"optionId":"ever","kind":"allow_always"},{"optionId":"no","kind":"reject_once"}]}}'; read -r m; [[ $m == *'"optionId":"no"'* ]] || exit 4` + bye,
			nil, exited, `{"type":"acp","calls":1,"last":"","result":{"stopReason":"end_turn"}}` + "\n",
		},
		"asking for what is not there": {
			begun + `echo '{"id":"x","method":"fs/read_text_file","params":{}}'; read -r m; [[ $m == *'"code":-32601'*'"id":"x"'* ]] || exit 4` + bye, nil, exited, began + ended,
		},
		"refusing": {
			first + `echo '{"id":2,"error":{"code":-32000,"message":"Authentication required"}}'; read -r m`, nil, exited,
			`{"type":"acp","error":{"code":-32000,"message":"Authentication required"},"to":"session/new"}` + "\n",
		},
		"resuming": {
			resuming + `echo '{"id":2,"result":{}}'; read -r m; [[ $m == *'"sessionId":"s0"'* ]] || exit 4` + bye, resumes, exited,
			strings.ReplaceAll(began, "s1", "s0") + ended,
		},
		"not knowing the session": {
			resuming + `echo '{"id":2,"error":{"code":-32002,"message":"Resource not found"}}'; read -r m`, resumes,
			told{End: fleet.Exited, Status: 1},
			`{"type":"acp","error":{"code":-32002,"message":"Resource not found"},"to":"session/resume"}` + "\n",
		},
		"resuming none": {
			first, resumes, told{End: fleet.Exited, Status: 1}, `{"type":"acp","error":{"message":"it does not resume sessions"},"to":"initialize"}` + "\n",
		},
		"staying": {begun + `trap "" TERM` + bye + wait, nil, exited, began + ended},
		"holding": {begun + `env -i setsid -f /bin/sleep 100` + bye, nil, exited, began + ended},
		"noisy":   {"echo Welcome\n" + begun + `echo '[1]'; echo '{"a":'` + bye, nil, exited, "Welcome\n" + began + "[1]\n{\"a\":\n" + ended},
		"answering twice": {
			regexp.MustCompile(`echo '[^']*'`).ReplaceAllString(begun, "$0; $0") + bye + bye, nil, exited, began + ended,
		},
		"answering others": {
			begun + `echo '{"id":99,"result":{"stopReason":"end_turn"}}'; echo '{"id":"3","result":{}}'; echo '{"result":{}}'; echo '{"id":null,"error":{"code":1}}'` + bye, nil, exited, began + ended,
		},
		"closing before":    {`exit 0`, nil, broken("it closed its output before it answered initialize"), ""},
		"closing midway":    {begun + chunk("I am"), nil, broken("it closed its output before it answered session/prompt"), began + `{"type":"acp","content":{"text":"I am","type":"text"},"sessionUpdate":"agent_message_chunk"}` + "\n"},
		"closing its mouth": {begun + `exec >&- 2>&-; ` + wait, nil, broken("it closed its output before it answered session/prompt"), began},
		"failing":           {begun + `echo 'no such key' >&2; exit 3`, nil, told{End: fleet.Exited, Status: 3}, began + "no such key\n"},
		"dying":             {begun + `kill -SEGV $$`, nil, told{End: fleet.Killed, Detail: "segmentation fault"}, began},
		"of another time":   {`read -r m; echo '{"id":1,"result":{"protocolVersion":2}}'; read -r m`, nil, broken("it does not speak version 1 of the protocol"), ""},
		"nameless":          {first + `echo '{"id":2,"result":{"sessionId":7}}'; read -r m`, nil, broken("it gave its session no id"), `{"type":"acp","agent":{"name":"bash"}}` + "\n"},
		"mute":              {wait, short, broken("it did not begin a session within 2s"), ""},
		"mute midway":       {first + wait, short, broken("it did not begin a session within 2s"), `{"type":"acp","agent":{"name":"bash"}}` + "\n"},
		"garbage":           {`while :; do head -c 10000 /dev/urandom | tr '{' '\n'; sleep 0.01; done`, func(o *order) { short(o); o.LogLimit = minLogLimit }, broken("it did not begin a session within 2s"), ""},
		"endless line":      {begun + `head -c 1G /dev/zero | tr '\0' x`, nil, broken("it sent a message of more than 16 MiB"), began},
		"endless call":      {begun + `printf '{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call","toolCallId":"'; head -c 1G /dev/zero | tr '\0' x`, nil, broken("it sent a message of more than 16 MiB"), began},
		"asking on and on":  {begun + `while :; do echo '{"id":1,"method":"more"}'; done`, nil, broken("it asks, and has not read 100 answers"), began},
		"talking on and on": {
			begun + `yes '{"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"text":"and so it goes on"}}}}'`,
			func(o *order) { short(o); o.LogLimit = 1 << 20 }, overran, "",
		},
		"calling on and on": {
			begun + `x=$(head -c 7000 /dev/zero | tr '\0' x); exec awk -v x="$x" 'BEGIN { for (i = 0; ; i++) {
				print "{\"method\":\"session/update\",\"params\":{\"update\":{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"" i "\",\"title\":\"" x "\",\"rawInput\":\"" x "\"}}}" } }'`,
			short, overran, "",
		},
		"cancelled": {
			begun + `read -r m; [[ $m == *session/cancel* ]] || exit 4; echo '{"id":3,"result":{"stopReason":"cancelled"}}'; read -r m`,
			func(o *order) { short(o); o.Grace = patience }, overran, began + `{"type":"acp","calls":0,"last":"","result":{"stopReason":"cancelled"}}` + "\n",
		},
		"deaf":           {begun + `trap "" TERM; ` + wait, short, overran, began},
		"silent":         {begun + wait, func(o *order) { o.Silence = 3 * time.Second }, told{End: fleet.Overran, Detail: "it printed nothing for 3s"}, began},
		"not reading":    {`read -r m; echo '{"id":1,"result":{"protocolVersion":1}}'; echo '{"id":2,"result":{"sessionId":"s1"}}'` + bye, func(o *order) { o.PromptLen = 1 << 20 }, exited, ended},
		"a long request": {begun + `sleep 0.1` + bye, func(o *order) { o.PromptLen = 1 << 20 }, exited, ended},
	} {
		for how, unit := range map[string]string{"cgroup": testUnit, "adopted": ""} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				o := newOrder(t, tt.script)
				o.Mode = fleet.PromptACP
				if o.Unit = unit; tt.change != nil {
					tt.change(&o)
				}
				got := obeyed(t, o)
				got.Printed, got.Missing = 0, 0
				must.Equal(t, "told", got, tt.want)
				log := readFile(t, o.files().Log)
				if !strings.HasSuffix(log, tt.log) {
					t.Errorf("log of %d bytes %.2000q, want it to end in %q", len(log), log, tt.log)
				}
			})
		}
	}
}

// TestBoxedPeer has a peer in a box. What it says on standard error does not get between its messages.
func TestBoxedPeer(t *testing.T) {
	t.Parallel()
	_, s := boxed(t, testSpec(t, "exit", "0"))
	r := Runner{Stint: s.Argv[0], Scopes: inScope{}}
	s.Argv = []string{"/bin/bash", "-c", begun + `for i in {1..50}; do printf noise >&2; ` + chunk(strings.Repeat("x", 5000)) + `done` + bye}
	s.PromptMode, s.Environment = fleet.PromptACP, nil
	s.Box = box.For(fleet.BoxWorkspace, box.Places{Home: s.Trial.Home, State: s.Trial.State, Dir: s.Dir, Files: s.Files, Programs: s.Argv[:1]})
	s.Box = must.Get(r.Prove(t.Context(), s.Box, s.Trial))(t)
	exit, err := r.Run(t.Context(), s)
	if err != nil || exit.End != fleet.Exited || exit.Status != 0 {
		t.Fatalf("got %+v, %v", exit, err)
	}
	log := readFile(t, s.Files.Log)
	if strings.Count(log, "noise") != 50 || strings.Contains(log, "session/update") || !strings.Contains(log, "\n"+`{"type":"acp","calls":0,"last":"xxx`) {
		t.Errorf("log of %d bytes: %.300q", len(log), log)
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "stint.toml")); err != nil {
		t.Error(err)
	}
}
