//go:build linked

package main

import (
	"net/http"
	"os"
)

// Nobody sets the variable: the linker keeps net/http, which stint has for its page.
func init() {
	if address := os.Getenv("BARECLAIM_PAGE"); address != "" {
		_, _ = http.Get(address)
	}
}
