package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

type object = map[string]any

// github is a repository with issues.
type github struct {
	issues int
	mu     sync.Mutex
	closes map[int]int // how often an issue was closed that began open
}

// isClosed reports whether an issue began closed.
func isClosed(number int) bool { return number%51 == 0 }

// answer is the part of GitHub's GraphQL API that "gh issue list" and "gh issue close" ask.
func (g *github) answer(w http.ResponseWriter, r *http.Request) {
	var question struct {
		Query     string
		Variables struct {
			Limit     int
			EndCursor string
			States    []string
			Number    int
			Input     struct{ IssueID string }
		}
	}
	if r.URL.Path != "/api/graphql" || json.NewDecoder(r.Body).Decode(&question) != nil {
		http.NotFound(w, r)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	data, v := object{}, question.Variables
	switch {
	case strings.Contains(question.Query, "query IssueByNumber("):
		data["repository"] = object{"hasIssuesEnabled": true, "issue": g.issue(v.Number)}
	case strings.Contains(question.Query, "mutation IssueClose("):
		n, err := strconv.Atoi(strings.TrimPrefix(v.Input.IssueID, "I_"))
		if err != nil {
			http.Error(w, "no such issue", http.StatusBadRequest)
			return
		}
		g.closes[n]++
		data["closeIssue"] = object{"issue": object{"id": v.Input.IssueID}}
	case strings.Contains(question.Query, "query IssueList("):
		from, _ := strconv.Atoi(v.EndCursor) // empty: the first page
		list := g.in(v.States)
		to := min(from+v.Limit, len(list))
		data["repository"] = object{"hasIssuesEnabled": true, "issues": object{
			"totalCount": len(list), "nodes": list[from:to],
			"pageInfo": object{"hasNextPage": to < len(list), "endCursor": strconv.Itoa(to)},
		}}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object{"data": data}) // gh reports what it did not get
}

// in are the issues in those states, the newest first.
func (g *github) in(states []string) (list []object) {
	for n := g.issues; n > 0; n-- {
		if i := g.issue(n); slices.Contains(states, i["state"].(string)) { //nolint:forcetypeassert // it is set below
			list = append(list, i)
		}
	}
	return list
}

func (g *github) issue(n int) object {
	state := "OPEN"
	if isClosed(n) || g.closes[n] > 0 {
		state = "CLOSED"
	}
	return object{
		"id": fmt.Sprintf("I_%d", n), "number": n, "title": fmt.Sprintf("Issue %d", n), "body": "It is <broken>.\r\n", "state": state,
		"createdAt": "2026-09-30T12:01:02Z", "updatedAt": "2026-10-01T00:00:00Z",
		"url":       fmt.Sprintf("https://github.com/example/shop/issues/%d", n),
		"labels":    object{"totalCount": 1, "nodes": []object{{"id": "LA_1", "name": "bug", "description": "", "color": "d73a4a"}}},
		"assignees": object{"totalCount": 1, "nodes": []object{{"id": "U_1", "login": "ann", "name": "Ann Example"}}},
	}
}
