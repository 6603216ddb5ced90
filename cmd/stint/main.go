// Command stint puts a fleet of autonomous agent sessions to work.
package main

import (
	"os"

	"stint/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.Process()))
}
