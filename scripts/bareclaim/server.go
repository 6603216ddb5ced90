//go:build server

package main

import (
	"context"
	"os"

	"github.com/jackc/pgx/v5/pgconn"
)

// Nobody sets the variable: the linker keeps the driver of a server.
func init() {
	if server := os.Getenv("BARECLAIM_SERVER"); server != "" {
		_, _ = pgconn.Connect(context.Background(), server)
	}
}
