package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptFetch asks a server, whose address is in the object that it printed into a file,
// for a path, and compares the status. Header and text of the answer are there for stdout.
// Further arguments are names and values of what the request's header holds; it brings the token unless they say otherwise.
func scriptFetch(ts *testscript.TestScript, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	var server struct {
		URL       string
		TokenFile string `json:"token_file"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &server))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(server.URL, "/")+args[2], http.NoBody)
	ts.Check(err)
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(ts.ReadFile(server.TokenFile)))
	for i := 3; i+1 < len(args); i += 2 {
		if args[i] == "Host" {
			r.Host = args[i+1]
		}
		r.Header.Set(args[i], args[i+1])
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(r)
	ts.Check(err)
	defer answer.Body.Close()
	ts.Check(answer.Header.Write(ts.Stdout()))
	_, err = io.Copy(ts.Stdout(), answer.Body)
	ts.Check(err)
	if answer.StatusCode != want {
		ts.Fatalf("%s: status %d, want %d", args[2], answer.StatusCode, want)
	}
}
