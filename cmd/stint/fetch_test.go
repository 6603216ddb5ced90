package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptFetch asks a server, whose address is in the object that it printed into a file,
// for a path, and compares the status. Header and text of the answer are there for stdout.
// {NAME} in the path and in a form stands for the first line of a file. Further arguments are names and values of what the request's header holds, or POST and a form; it brings the token unless they say otherwise.
func scriptFetch(ts *testscript.TestScript, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	var server struct {
		URL       string
		TokenFile string `json:"token_file"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &server))
	filled := func(text string) string {
		return regexp.MustCompile(`{\w+}`).ReplaceAllStringFunc(text, func(name string) string {
			return strings.TrimSpace(ts.ReadFile(strings.Trim(name, "{}")))
		})
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(server.URL, "/")+filled(args[2]), http.NoBody)
	ts.Check(err)
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(ts.ReadFile(server.TokenFile)))
	for i := 3; i+1 < len(args); i += 2 {
		switch args[i] {
		case "Host":
			r.Host = args[i+1]
		case "POST":
			form := filled(args[i+1])
			r.Method, r.Body, r.ContentLength = http.MethodPost, io.NopCloser(strings.NewReader(form)), int64(len(form))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			continue
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
